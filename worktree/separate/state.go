package separate

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"cmux/worktree/git"
)

// state gives the worktree's private directory what is staged and in the middle, and the
// same HEAD.
func (t *taking) state(ctx context.Context, log []byte) error {
	var errs []error
	for _, name := range files {
		errs = append(errs, copyFile(filepath.Join(t.Dir(), name), filepath.Join(t.Private, name)))
	}
	for _, name := range folders {
		errs = append(errs, copyFolder(filepath.Join(t.Dir(), name), filepath.Join(t.Private, name)))
	}
	errs = append(errs, disarm(t.Private))
	errs = append(errs, copyMatching(t.Dir(), t.Private, "sharedindex.*"), t.moveHead(ctx))
	if len(log) > 0 {
		errs = append(errs, git.WriteFile(filepath.Join(t.Private, "logs/HEAD"), log))
	}
	if err := errors.Join(errs...); err != nil || git.There(filepath.Join(t.Private, "index")) {
		return err
	}
	// It was lost: what is in the working tree and not in HEAD is not staged then.
	c := git.Command{Dir: t.Tree, Env: []string{"GIT_DIR=" + t.Private, "GIT_WORK_TREE=" + t.Tree}, Args: []string{"read-tree", "HEAD"}}
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	c.Args = []string{"config", "--type=bool", "--default=false", "core.sparseCheckout"}
	if sparse, err := c.Run(ctx); err != nil || git.Line(sparse) != "true" {
		return err
	}
	c.Args = []string{"sparse-checkout", "reapply"} // or what is not checked out were deleted
	_, err := c.Run(ctx)
	return err
}

// moveHead gives the worktree the HEAD of the separate directory: the same branch, where
// the shared repository has it there too and no other worktree is on it, or its commit.
func (t *taking) moveHead(ctx context.Context) error {
	own, err := t.own(ctx)
	if err != nil {
		return err
	}
	c := git.Command{Dir: t.Private, Env: []string{"GIT_DIR=" + t.Private}}
	branch, on := strings.CutPrefix(t.head, "ref: ")
	if on && branch == own {
		return nil
	}
	id := t.head
	if on {
		id = t.is[branch]
		now, err := t.shared(ctx)
		if err != nil {
			return err
		}
		taken, err := (&git.Repo{GitDir: t.Common}).CheckedOut()
		if err != nil {
			return err
		}
		main, err := read(filepath.Join(t.Common, "HEAD")) // the branch of the main worktree
		if err != nil {
			return err
		}
		busy := taken[branch] != "" || strings.TrimSpace(string(main)) == t.head
		if !busy && id != "" && now[branch] == id && strings.HasPrefix(branch, "refs/heads/") {
			c.Args = []string{"symbolic-ref", "-m", "cmux: from " + filepath.Base(t.Tree), "HEAD", branch}
			_, err := c.Run(ctx)
			return err
		}
	}
	there, err := t.existing(ctx, []string{id})
	if err != nil || there[id] != "commit" {
		return err // it names no commit: the worktree keeps its own HEAD
	}
	c.Args = []string{"update-ref", "--no-deref", "-m", "cmux: from " + filepath.Base(t.Tree), "HEAD", id}
	_, err = c.Run(ctx)
	return err
}
