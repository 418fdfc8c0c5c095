package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
)

// configName is the configuration that is read when --config names no other.
const configName = ".cmux-agents.yml"

// root is the project's folder: CMUX_HOME, or the main worktree of the
// repository that the command was called in.
//
// A .cmux that did not come about here is refused: what stands in it would be
// believed and carried out.
func (d *Deps) root(ctx context.Context) (string, error) {
	root, err := d.rootFrom(ctx, d.Dir)
	if err != nil {
		return "", err
	}
	if err := run.Vouch(root); err != nil {
		return "", err
	}
	return root, d.untracked(ctx, root)
}

// trackable is what of .cmux a person may keep in the repository: nothing in it
// is carried out.
var trackable = []string{".cmux/journal/", ".cmux/config.yml", ".cmux/.gitignore", dag.SchemaPath}

// untracked refuses a .cmux of which git tracks more than is trackable: whoever
// can commit to the repository could give orders with it.
func (d *Deps) untracked(ctx context.Context, root string) error {
	if _, err := os.Lstat(run.Folder(root)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	out, err := d.git(ctx, root, "ls-files", "-z", "--", signals.Folder)
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") {
			return nil
		}
		return err
	}
	var tracked []string
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" && !slices.ContainsFunc(trackable, func(t string) bool {
			return name == t || strings.HasSuffix(t, "/") && strings.HasPrefix(name, t)
		}) {
			tracked = append(tracked, name)
		}
	}
	if len(tracked) == 0 {
		return nil
	}
	return &Hint{Err: fmt.Errorf("%s is tracked by git (%s): it came with the repository, and nothing in it is believed or carried out", run.Folder(root), shortList(tracked, 3)),
		Try: "git rm -r -q --cached .cmux, look at what it holds, and commit"}
}

func (d *Deps) rootFrom(ctx context.Context, dir string) (string, error) {
	if home := d.Getenv("CMUX_HOME"); home != "" {
		home = d.abs(home)
		if info, err := os.Stat(home); err != nil || !info.IsDir() {
			return "", &Hint{Err: fmt.Errorf("CMUX_HOME is %s, which is not a folder", home), Try: "unset CMUX_HOME"}
		}
		return filepath.EvalSymlinks(home)
	}
	out, err := d.git(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--is-bare-repository", "--is-inside-work-tree")
	if err != nil {
		var missing *exec.Error
		if errors.As(err, &missing) {
			return "", &Hint{Err: fmt.Errorf("git is not installed: %w", err), Try: "install git 2.38 or newer"}
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if strings.Contains(err.Error(), "not a git repository") {
			return "", &Hint{Err: fmt.Errorf("%s is not in a git repository", d.Dir), Try: "git init"}
		}
		return "", err
	}
	facts := strings.Split(strings.TrimSpace(out), "\n")
	if len(facts) != 4 {
		return "", fmt.Errorf("git rev-parse in %s said %q", d.Dir, out)
	}
	gitDir, common, bare, inside := facts[0], facts[1], facts[2] == "true", facts[3] == "true"
	if gitDir == common && inside {
		top, err := d.git(ctx, dir, "rev-parse", "--path-format=absolute", "--show-toplevel")
		if top = strings.TrimSuffix(top, "\n"); err == nil && isGuard(top) {
			return d.rootFrom(ctx, filepath.Dir(top)) // called from inside .cmux
		}
		return top, err
	}
	if !bare && filepath.Base(common) == ".git" {
		return filepath.Dir(common), nil
	}
	// A submodule's repository lies elsewhere and names its working tree.
	if tree, err := d.git(ctx, common, "config", "core.worktree"); err == nil {
		tree = strings.TrimSuffix(tree, "\n")
		if !filepath.IsAbs(tree) {
			tree = filepath.Join(common, tree)
		}
		return filepath.EvalSymlinks(tree)
	}
	return "", &Hint{Err: fmt.Errorf("%s is a bare repository: there is no main worktree to keep .cmux in", common),
		Try: "git clone " + common + ", or set CMUX_HOME to a worktree of it"}
}

// isGuard reports whether top is no project but the empty repository that
// keeps git clean out of .cmux (see signals.Init).
func isGuard(top string) bool {
	if filepath.Base(top) != signals.Folder && filepath.Base(filepath.Dir(top)) != signals.Folder {
		return false
	}
	head, err := os.ReadFile(filepath.Join(top, ".git", "HEAD"))
	return err == nil && string(head) == "ref: refs/heads/none\n"
}

// abs is the path as seen from where the command was called.
func (d *Deps) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(d.Dir, path)
}

// git runs git in dir and returns its stdout. The error holds what git said.
func (d *Deps) git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := worktree.Git(ctx, dir, d.Env, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(stderr.String()); said != "" {
			return "", fmt.Errorf("git %s: %s: %w", args[0], said, err)
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return stdout.String(), nil
}

// configPath is the configuration's absolute path.
func (d *Deps) configPath(root, flag string) string {
	if flag != "" {
		return d.abs(flag)
	}
	return filepath.Join(root, configName)
}

// readConfig reads and validates the configuration at path. Faults name it
// relative to where the command was called when it lies below.
func (d *Deps) readConfig(root, path string) (*dag.Graph, []dag.Warning, error) {
	src, err := run.ReadConfig(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, d.noConfig(root, path)
	}
	if err != nil {
		return nil, nil, &tagged{err, errUsage}
	}
	return dag.Parse(d.short(path), src, dag.ParseOptions{ReadFile: func(name string) ([]byte, error) {
		return run.ReadTask(root, path, name)
	}})
}

// noConfig says that there is no configuration at path. Only where the project
// has none is a new one the way out: another name was mistyped.
func (d *Deps) noConfig(root, path string) error {
	usual := filepath.Join(root, configName)
	if _, err := os.Stat(usual); path == usual || errors.Is(err, os.ErrNotExist) {
		return usage("cmux agents init", "there is no %s", path)
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".yml" || ext == ".yaml" {
			names = append(names, e.Name())
		}
	}
	if near := dag.Nearest(filepath.Base(path), names); near != "" {
		return usage("the same with --config "+shellWord(d.short(filepath.Join(filepath.Dir(path), near))), "there is no %s (did you mean %q?)", path, near)
	}
	return usage("the same without --config", "there is no %s; without --config, %s is read", path, usual)
}

// short is path relative to where the command was called, when it lies below.
func (d *Deps) short(path string) string {
	if rel, err := filepath.Rel(d.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
