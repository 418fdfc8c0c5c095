package attempt

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/platform/fence"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/gitfile"
)

// putUpFence has the kernel keep what the stage starts from now on: in its worktree, with
// what commits, tools and agent programs need beside it.
func (a *attempt) putUpFence() error {
	f := a.node.Fence
	if !f.On() {
		return nil
	}
	if _, err := fence.Support(); err != nil {
		if f.Mode == dag.FenceRequire {
			return verdict.Failed(dag.ReasonSetup, "fence: require: %v. To run it without: fence: off", err)
		}
		a.note("%v: what its programs write elsewhere is found out afterwards", err)
		return nil
	}
	places, err := a.places()
	if err != nil {
		return verdict.Failed(dag.ReasonSetup, "fence: %v", err)
	}
	a.stage.Confine = (&fence.Fence{Write: places}).Confine
	return nil
}

// places returns what the node's programs may write.
func (a *attempt) places() ([]string, error) {
	env := func(name string) string { return proc.Getenv(a.stage.Env, name) }
	usual := fence.Usual(env)
	for _, place := range a.node.Fence.Write {
		if rest, ok := strings.CutPrefix(place, "~/"); ok {
			place = filepath.Join(env("HOME"), rest)
		}
		if real, err := filepath.EvalSymlinks(place); err == nil {
			place = real
		}
		usual = append(usual, place)
	}
	kept := []string{a.spec.Frame.Root, a.paths.Dir}
	var own []string
	if tree := a.spec.Place.Tree; tree != "" {
		git, err := a.repository(tree)
		if err != nil {
			return nil, err
		}
		own = append(own, git...)
		own = append(own, tree)
		// The worktrees of others lie beside it.
		siblings, err := fence.List(filepath.Dir(tree))
		if err != nil {
			return nil, err
		}
		for _, name := range siblings {
			if _, err := os.Lstat(filepath.Join(filepath.Dir(tree), name, ".git")); err == nil {
				kept = append(kept, filepath.Join(filepath.Dir(tree), name))
			}
		}
	}
	for _, name := range []string{workspace.TraceVar, verdict.OutputVar} {
		if file := env(name); filepath.IsAbs(file) {
			f, err := signals.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			f.Close()
			own = append(own, file)
		}
	}
	for i, place := range kept {
		if real, err := filepath.EvalSymlinks(place); err == nil {
			kept[i] = real
		}
	}
	usual, err := fence.Without(usual, kept, fence.List)
	return slices.Concat(usual, own), err
}

// repository returns what a commit on the node's branch writes in the repository that its
// worktree belongs to. The branches that share a folder with it cannot be kept apart: git
// makes a new file there for each change.
func (a *attempt) repository(tree string) ([]string, error) {
	private, err := gitfile.Private(tree)
	if err != nil {
		return nil, err
	}
	common := gitfile.Common(private)
	places := []string{private}
	for _, name := range []string{"objects", "lfs", "modules", "refs/remotes", "logs/refs/remotes", "reftable"} {
		places = append(places, filepath.Join(common, name))
	}
	if branch := a.spec.Place.Branch; branch != "" {
		for _, of := range []string{"refs/heads", "logs/refs/heads"} {
			dir := filepath.Join(common, of, path.Dir(branch))
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return nil, err
			}
			places = append(places, dir)
		}
	}
	return places, nil
}
