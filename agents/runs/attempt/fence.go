package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/fence"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/git"
	"cmux/worktree/gitfile"
)

// A fencing is a fence around the programs of one node, and what it leaves to them of the
// repository.
type fencing struct {
	confine func(*exec.Cmd) error // for the node's programs
	ours    func(*exec.Cmd) error // for cmux's own git, which also takes snapshots
	env     []string
	tmp     string // a temporary folder of its own

	tree, private, common string   // empty: without a worktree
	shared                []string // what the node may write of common, except objects
	keep                  string   // file with the worktree's settings as they were
}

// settingsFile holds settings of one worktree, in its private git directory.
const settingsFile = "config.worktree"

// up makes the kernel restrict the stage's programs, with setup, and returns ctx in which
// it restricts cmux's own git: to the worktree, and to what commits, tools and agent
// programs need. Without a fence it returns ctx.
func (f *fencing) up(ctx context.Context, spec *run.Spec, paths run.Paths, stage *agent.Stage, note func(string, ...any)) (context.Context, error) {
	if !spec.Def.Fence.On() {
		return ctx, nil
	}
	if _, err := fence.Support(); err != nil {
		if spec.Def.Fence.Mode == dag.FenceRequire {
			return nil, verdict.Failed(dag.ReasonSetup, "fence: require: %v. To run it without: fence: off", err)
		}
		note("%v: what its programs write elsewhere is found out afterwards", err)
		return ctx, nil
	}
	built, err := newFencing(spec, paths, stage.Env)
	if err == nil {
		err = built.restore() // after a wrapper that was killed
	}
	if err != nil {
		return nil, verdict.Failed(dag.ReasonSetup, "fence: %v", err)
	}
	*f, stage.Env, stage.Confine = *built, built.env, built.confine
	return git.WithConfine(ctx, built.ours), nil
}

// down ends what the marked programs left running, and makes the worktree's part of the
// repository safe for git outside the fence. It does nothing without a fence. alone: all
// orphans of this process are the attempt's.
func (f *fencing) down(ctx context.Context, s *proc.Spawner, mark proc.Mark, grace time.Duration, alone bool) error {
	if f.tmp == "" {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	_, err := proc.End(ctx, grace, mark)
	if alone {
		_, e := s.EndOrphans(ctx, grace)
		err = errors.Join(err, e)
	}
	err = errors.Join(err, f.restore(), f.drop())
	if f.keep != "" {
		_ = os.Remove(f.keep)
	}
	*f = fencing{}
	return err
}

// drop removes the temporary folder.
func (f *fencing) drop() error { return os.RemoveAll(f.tmp) }

// newFencing builds the fence of a node. env is the environment of its programs.
func newFencing(spec *run.Spec, paths run.Paths, env []string) (*fencing, error) {
	f := &fencing{}
	get := func(name string) string { return proc.Getenv(env, name) }
	var own []string
	kept := []string{spec.Frame.Root, paths.Dir}
	if common, err := commonOf(spec.Frame.Root); err == nil {
		kept = append(kept, common)
		trees, err := registered(common)
		if err != nil {
			return nil, err
		}
		kept = append(kept, trees...)
		if spec.Place.Tree != "" {
			f.tree, f.common = spec.Place.Tree, common
			if err := f.repository(spec.Place.Branch); err != nil {
				return nil, err
			}
			own = append(own, f.tree, f.private, filepath.Join(common, "objects"), filepath.Join(common, "lfs"))
			own = append(own, f.shared...)
			f.keep = filepath.Join(paths.NodeDir(spec.Node), settingsFile)
		}
	} else if spec.Place.Tree != "" {
		return nil, err
	}
	var more []string
	for _, place := range spec.Def.Fence.Write {
		if rest, ok := strings.CutPrefix(place, "~/"); ok {
			place = filepath.Join(get("HOME"), rest)
		}
		more = append(more, place)
	}
	usual, err := fence.Usual(get, kept, more)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{workspace.TraceVar, verdict.OutputVar} {
		if file := get(name); filepath.IsAbs(file) {
			w, err := signals.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			w.Close()
			own = append(own, file)
		}
	}
	// Where the project lies in a temporary folder, nothing new can be made in that.
	if f.tmp, err = os.MkdirTemp("", "cmux-"); err != nil {
		return nil, err
	}
	f.env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "TMPDIR=") || strings.HasPrefix(kv, "TMUX_TMPDIR=")
	})
	f.env = append(f.env, "TMPDIR="+f.tmp, "TMUX_TMPDIR="+f.tmp)
	places := slices.Concat(usual, own, []string{f.tmp})
	f.confine = (&fence.Fence{Write: places}).Confine
	if f.common != "" {
		for _, name := range []string{"refs/cmux", "logs/refs/cmux"} {
			dir := filepath.Join(f.common, name)
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return nil, err
			}
			places = append(places, dir)
		}
	}
	f.ours = (&fence.Fence{Write: places}).Confine
	return f, nil
}

// commonOf returns the git directory that the worktrees of a project share.
func commonOf(root string) (string, error) {
	dir := filepath.Join(root, ".git")
	if private, err := gitfile.Private(root); err == nil {
		dir = gitfile.Common(private)
	}
	return filepath.EvalSymlinks(dir)
}

// registered returns the working trees that are registered in a common git directory.
func registered(common string) (trees []string, err error) {
	files, err := filepath.Glob(filepath.Join(common, "worktrees", "*", "gitdir"))
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil {
			trees = append(trees, filepath.Dir(strings.TrimRight(string(b), "\r\n")))
		}
	}
	return trees, err
}

// repository finds what a commit on the branch writes in the repository. Branches that
// share a folder cannot be kept apart: git makes a new file there for each change.
//
// An earlier program in a fence can have written the worktree's .git and put links among
// branches, so each place must be where git has it.
func (f *fencing) repository(branch string) error {
	private, err := gitfile.Private(f.tree)
	if err != nil {
		return err
	}
	if f.private, err = filepath.EvalSymlinks(private); err != nil {
		return err
	}
	registration, err := os.ReadFile(filepath.Join(f.private, "gitdir"))
	if err != nil {
		return err
	}
	tree := filepath.Dir(strings.TrimRight(string(registration), "\r\n"))
	if !filepath.IsAbs(tree) {
		tree = filepath.Join(f.private, tree)
	}
	tree, err = filepath.EvalSymlinks(tree)
	if err != nil {
		return err
	}
	if own, err := filepath.EvalSymlinks(f.tree); err != nil || tree != own || filepath.Dir(f.private) != filepath.Join(f.common, "worktrees") {
		return fmt.Errorf("the worktree %s is not registered at %s", f.tree, private)
	}
	names := []string{"refs/remotes", "logs/refs/remotes", "reftable"}
	if branch != "" {
		for _, of := range []string{"refs/heads", "logs/refs/heads"} {
			names = append(names, path.Join(of, path.Dir(branch)))
			if err := os.MkdirAll(filepath.Join(f.common, of, path.Dir(branch)), 0o777); err != nil {
				return err
			}
		}
	}
	for _, name := range names {
		dir := filepath.Join(f.common, name)
		to, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || to != dir {
			return fmt.Errorf("%s leads to %q, not to itself (%v)", dir, to, err)
		}
		f.shared = append(f.shared, dir)
	}
	return nil
}

// restore makes what the fence left to the node's programs in the repository consist of
// regular files and folders, and lead to this repository. git writes through links, and
// runs what settings name.
func (f *fencing) restore() error {
	if f.private == "" {
		return nil
	}
	var errs []error
	for _, dir := range append([]string{f.private}, f.shared...) {
		errs = append(errs, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // git goes on beside it
			case err != nil:
				return err
			case d.IsDir() || d.Type().IsRegular():
				return nil
			}
			return os.Remove(name)
		}))
	}
	kept, err := os.ReadFile(f.keep)
	if errors.Is(err, fs.ErrNotExist) { // the first time
		kept, err = os.ReadFile(filepath.Join(f.private, settingsFile))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = signals.WriteFile(f.keep, kept, 0o600)
		}
	}
	errs = append(errs, err)
	if err == nil {
		errs = append(errs, hold(filepath.Join(f.private, settingsFile), kept))
	}
	if gitfile.Common(f.private) != f.common {
		errs = append(errs, hold(filepath.Join(f.private, "commondir"), []byte(f.common+"\n")))
	}
	link := filepath.Join(f.tree, ".git")
	if private, err := gitfile.Private(f.tree); err != nil || private != f.private {
		errs = append(errs, hold(link, []byte("gitdir: "+f.private+"\n")))
	}
	return errors.Join(append(errs, hold(filepath.Join(f.private, "gitdir"), []byte(link+"\n")))...)
}

// hold makes the file hold want; an empty want: no file.
func hold(name string, want []byte) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if len(want) == 0 {
			return nil
		}
	case err != nil:
		return err
	case info.Mode().IsRegular():
		if is, err := os.ReadFile(name); err == nil && bytes.Equal(is, want) && len(want) > 0 {
			return nil
		}
	}
	if len(want) == 0 {
		return os.Remove(name)
	}
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder", name)
	}
	return git.WriteFile(name, want)
}
