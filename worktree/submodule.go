package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// lendSubmodules checks out, in a lent tree, the submodules that the main
// worktree has checked out.
func (r *Repo) lendSubmodules(ctx context.Context, t *Tree) error {
	if err := updateSubmodules(ctx, r.Root, t.Path); err != nil {
		return &Hint{Err: fmt.Errorf("%w: %w", ErrSubmodule, err),
			Try: "git -C " + shellWord(t.Path) + " submodule update --init --recursive"}
	}
	return nil
}

// updateSubmodules clones from the main worktree's objects, so that it takes
// neither network nor credentials; only a commit that those lack is fetched
// from where the submodule says.
func updateSubmodules(ctx context.Context, from, to string) error {
	subs, err := submodules(ctx, to)
	if err != nil {
		return err
	}
	for name, path := range subs {
		if _, err := os.Lstat(filepath.Join(to, path, ".git")); err == nil {
			continue
		}
		source := filepath.Join(from, path)
		if _, err := os.Lstat(filepath.Join(source, ".git")); err != nil {
			continue // the main worktree does without it
		}
		objects, err := git(ctx, source, "rev-parse", "--path-format=absolute", "--git-common-dir")
		if err != nil {
			return err
		}
		url, urlErr := git(ctx, source, "config", "--get", "remote.origin.url")
		_, err = command{dir: to, config: []string{"protocol.file.allow=always", "submodule." + name + ".url=" + line(objects)},
			args: []string{"submodule", "--quiet", "update", "--init", "--", path}}.run(ctx)
		if err != nil && ctx.Err() == nil {
			_, err = git(ctx, to, "submodule", "--quiet", "update", "--init", "--", path)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(to, path), err)
		}
		if urlErr == nil {
			if _, err := git(ctx, filepath.Join(to, path), "config", "remote.origin.url", line(url)); err != nil {
				return err
			}
		}
		if err := updateSubmodules(ctx, source, filepath.Join(to, path)); err != nil {
			return err
		}
	}
	return nil
}

// submodules maps the names in .gitmodules to their paths.
func submodules(ctx context.Context, root string) (map[string]string, error) {
	file := filepath.Join(root, ".gitmodules")
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	out, err := git(ctx, root, "config", "-z", "--file", file, "--get-regexp", `^submodule\..*\.path$`)
	if err != nil && exitCode(err) != 1 { // 1: no such key
		return nil, err
	}
	subs := map[string]string{}
	for _, f := range fields(out) {
		key, path, ok := strings.Cut(f, "\n")
		if ok && filepath.IsLocal(path) {
			subs[strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")] = path
		}
	}
	return subs, nil
}

func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}
