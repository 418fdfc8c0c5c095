package attempt

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/dag/scopes"
	"cmux/worktree/git"
)

// outputs are names that tools make at the top of a worktree: where git ignores one, it is
// made beforehand, because nothing can be made there from within a scope.
var outputs = strings.Fields("node_modules dist build target out coverage .next .turbo .cache .pytest_cache .mypy_cache .ruff_cache __pycache__ .gradle tmp logs")

// scoped returns what the node's agent may write of its worktree, if its scope is made of
// folders; false: all of it, and its changes are looked at when it reports. git runs in the
// worktree with ctx.
func scoped(ctx context.Context, spec *run.Spec) (places []string, is bool) {
	tree := spec.Place.Tree
	if to, err := filepath.EvalSymlinks(tree); err == nil {
		tree = to
	}
	if tree == "" || spec.Terms.Stays || spec.Def.Role == dag.RoleMerge || len(spec.Def.Scope) == 0 {
		return nil, false
	}
	at := func(dir string) string { return filepath.Join(tree, filepath.FromSlash(dir)) }
	isDir := func(dir string) bool { st, err := os.Lstat(at(dir)); return err == nil && st.IsDir() }
	dirs, all := scopes.Folders(workspace.ScopesOf(spec.Def, tree).Write, isDir)
	if !all {
		return nil, false
	}
	root, err := os.OpenRoot(tree) // no link leads out of it
	if err != nil {
		return nil, false
	}
	defer root.Close()
	for _, dir := range dirs {
		if root.MkdirAll(dir, 0o777) == nil && inTree(tree, at(dir)) { // else nothing there may be written
			places = append(places, at(dir))
		}
	}
	if spec.Def.Fence.Ignored == dag.IgnoredDeny {
		return places, true
	}
	return append(places, ignored(ctx, tree, root)...), true
}

// inTree reports whether no link leads out of tree on the way to path, as far as that is
// there.
func inTree(tree, path string) bool {
	tree, err := filepath.EvalSymlinks(tree)
	if err != nil {
		return false
	}
	for {
		to, err := filepath.EvalSymlinks(path)
		if err == nil {
			return to == tree || strings.HasPrefix(to, tree+"/")
		}
		if _, err := os.Lstat(path); err == nil || path == "/" {
			return false // a link that leads nowhere
		}
		path = filepath.Dir(path)
	}
}

// ignored returns what git ignores in a worktree, and makes the usual outputs of tools.
func ignored(ctx context.Context, tree string, root *os.Root) (places []string) {
	out, err := git.Run(ctx, tree, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z", "--")
	if err == nil {
		for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			if name != "" && inTree(tree, filepath.Join(tree, name)) {
				places = append(places, filepath.Join(tree, name))
			}
		}
	}
	named := strings.Join(outputs, "/\x00") + "/\x00"
	out, err = git.Command{Dir: tree, Args: []string{"check-ignore", "-z", "--stdin"}, Stdin: []byte(named)}.Run(ctx)
	if err != nil {
		return places // none
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if dir := filepath.Join(tree, name); name != "" && root.Mkdir(filepath.Clean(name), 0o777) == nil {
			places = append(places, dir)
		}
	}
	return places
}

// inScope returns the node's scope if path is in its worktree.
func (a *assignment) inScope(path string) []string {
	if tree := a.spec.Place.Tree; tree != "" && strings.HasPrefix(path, tree+"/") {
		return a.node.Scope
	}
	return nil
}
