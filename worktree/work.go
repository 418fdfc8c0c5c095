package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
	"cmux/worktree/prepare"
	"cmux/worktree/submodule"
)

// ChangedFiles lists, sorted, every path in which the worktree differs from
// the commit start: committed, uncommitted or untracked; of a rename both
// sides. A path changed and changed back is not in it, and what a merge of
// start's own descendants brought is: give the merged commit as start.
func (r *Repo) ChangedFiles(ctx context.Context, treePath, start string) ([]string, error) {
	tracked, err := git.Run(ctx, treePath, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=none",
		"--end-of-options", start, "--")
	if err != nil {
		return nil, err
	}
	untracked, err := git.Run(ctx, treePath, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	all := append(git.Fields(tracked), git.Fields(untracked)...)
	slices.Sort(all)
	p, err := prepare.RecordOf(ctx, treePath)
	if err != nil {
		return nil, err
	}
	return p.Agents(ctx, treePath, start, slices.Compact(all))
}

// special names what is neither a file nor a folder.
func special(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// Uncommitted says what the worktree holds beside its commit, without what cmux
// put there and nobody has changed since.
func (r *Repo) Uncommitted(ctx context.Context, treePath string) (Dirt, error) {
	p, err := prepare.RecordOf(ctx, treePath)
	if err != nil {
		return Dirt{}, err
	}
	if len(p.Brought) == 0 {
		return dirt(ctx, treePath)
	}
	entries, err := prepare.Dirty(ctx, treePath)
	if err != nil {
		return Dirt{}, err
	}
	if entries, _, err = p.Own(ctx, treePath, entries); err != nil {
		return Dirt{}, err
	}
	return dirtOf(ctx, treePath, entries)
}

// taken reports what status still tells of when there is nothing to commit, such
// as work inside a submodule.
func (r *Repo) taken(ctx context.Context, treePath string) error {
	d, err := r.Uncommitted(ctx, treePath)
	if err != nil || d.Clean() {
		return err
	}
	return hint.Errorf("commit it inside its submodule, or put it back", "%w: no commit of %s takes in %s", ErrUnsavable, treePath, git.Shown(d.Paths))
}

// CommitAll commits everything that is uncommitted and untracked in the
// worktree, without the repository's hooks or signing, under the person's
// identity or as cmux. The index agrees with the new commit afterwards. With
// nothing to commit it returns HEAD. What cmux put there and nobody has changed
// since stays out. An unended merge is concluded when no
// path is unmerged in the working tree's content; a rebase, cherry-pick or the
// like is refused (ErrDirty), and so are a repository inside and work that no
// commit takes in (ErrUnsavable).
func (r *Repo) CommitAll(ctx context.Context, treePath, message string) (string, error) {
	private, err := git.PrivateDir(ctx, treePath)
	if err != nil {
		return "", err
	}
	op := git.Operation(private)
	if op != "" && op != "merge" {
		return "", hint.Errorf("end it in "+treePath, "%w: a %s is in progress in %s", ErrDirty, op, treePath)
	}
	p, err := prepare.ReadRecord(private)
	if err != nil {
		return "", err
	}
	entries, err := prepare.Dirty(ctx, treePath)
	if err != nil {
		return "", err
	}
	entries, rest, err := p.Own(ctx, treePath, entries)
	if err != nil {
		return "", err
	}
	if err := committable(treePath, entries); err != nil {
		return "", err
	}
	out, err := git.Run(ctx, treePath, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	head := git.Line(out)
	if err != nil && git.ExitCode(err) != 1 || len(entries) == 0 && op == "" {
		return head, err
	}
	tree, err := staged(ctx, treePath, head, entries, rest)
	if err != nil {
		return "", err
	}
	if head != "" && op == "" {
		same, err := git.Run(ctx, treePath, "rev-parse", "--verify", "--quiet", "HEAD^{tree}")
		if err != nil {
			return "", err
		}
		if git.Line(same) == git.Line(tree) {
			return head, r.taken(ctx, treePath)
		}
	}
	args := []string{"commit-tree", git.Line(tree), "-F", "-"}
	if head != "" {
		args = append(args, "-p", head)
	}
	if op == "merge" {
		b, err := gitfile.Read(filepath.Join(private, "MERGE_HEAD"), 1<<20)
		if err != nil {
			return "", err
		}
		for _, id := range strings.Fields(string(b)) {
			args = append(args, "-p", id)
		}
	}
	who, err := identity(ctx, treePath)
	if err != nil {
		return "", err
	}
	out, err = git.Command{Dir: treePath, Args: args, Env: who, Stdin: []byte(strings.TrimRight(message, "\n") + "\n")}.Run(ctx)
	if err != nil {
		return "", err
	}
	commit := git.Line(out)
	old := head
	if old == "" {
		old = strings.Repeat("0", len(commit))
	}
	r.RecordOwnBranch(treePath, commit)
	if _, err := git.Run(ctx, treePath, "update-ref", "-m", "cmux: commit", "--end-of-options", "HEAD", commit, old); err != nil {
		return "", err
	}
	if op == "merge" {
		for _, name := range []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE"} {
			if err := os.Remove(filepath.Join(private, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return commit, err
			}
		}
	}
	return commit, nil
}

// committable refuses what no commit takes in.
func committable(treePath string, entries []git.StatusEntry) error {
	for _, e := range entries {
		full := filepath.Join(treePath, e.Path)
		switch {
		case e.Kind == 'u':
			return hint.Errorf("resolve it in "+treePath, "%w: %s is unmerged", ErrDirty, full)
		case e.Kind == '?' && strings.HasSuffix(e.Path, "/") && submodule.IsRepository(full):
			return nestedRepository(full)
		case e.Kind == '1' && e.Tree != '.' && len(e.Sub) > 0 && e.Sub[0] == 'N':
			info, err := os.Lstat(full)
			if err == nil && !info.IsDir() && !savable(info.Mode()) {
				return hint.Errorf("git -C "+git.ShellWord(treePath)+" restore -- "+git.ShellWord(e.Path)+", after rm "+git.ShellWord(full),
					"%w: %s was a file and is a %s, which no commit holds", ErrUnsavable, full, special(info.Mode()))
			}
		}
	}
	return nil
}

// staged is the tree of what is in the worktree but for rest, which the index
// then agrees with.
func staged(ctx context.Context, treePath, head string, entries, rest []git.StatusEntry) (tree string, err error) {
	if err := stage(ctx, treePath, entries, rest); err != nil {
		return "", err
	}
	tree, err = git.Run(ctx, treePath, "write-tree")
	var failed *git.Error
	if !errors.As(err, &failed) || !strings.Contains(failed.Stderr, "invalid object") {
		return tree, err
	}
	// The index names what the repository does not hold: it was made beside another
	// one, or the object was damaged. git takes its word for a file that has not
	// changed since, so the files are read again.
	if head == "" {
		head = "--empty"
	}
	if _, err := git.Run(ctx, treePath, "read-tree", head); err != nil {
		return "", err
	}
	if err := stage(ctx, treePath, entries, rest); err != nil {
		return "", err
	}
	return git.Run(ctx, treePath, "write-tree")
}

// stage brings the index to the worktree, but for rest. A file outside the cone
// of a sparse checkout is taken in; a tracked one that the cone leaves out stays.
func stage(ctx context.Context, treePath string, entries, rest []git.StatusEntry) error {
	if len(rest) == 0 {
		_, err := git.Run(ctx, treePath, "add", "--all", "--sparse", "--", ":/")
		return err
	}
	literal := []string{"GIT_LITERAL_PATHSPECS=1"}
	list := func(entries []git.StatusEntry) []byte {
		var b []byte
		for _, e := range entries {
			b = append(append(b, e.Path...), 0)
		}
		return b
	}
	if staged := slices.DeleteFunc(rest, func(e git.StatusEntry) bool { return e.Index == '.' }); len(staged) > 0 {
		if _, err := (git.Command{Dir: treePath, Env: literal, Stdin: list(staged),
			Args: []string{"reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"}}).Run(ctx); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return nil
	}
	_, err := git.Command{Dir: treePath, Env: literal, Stdin: list(entries),
		Args: []string{"add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"}}.Run(ctx)
	return err
}

// identity is the environment that makes cmux the author where the person has
// not said who they are.
func identity(ctx context.Context, dir string) ([]string, error) {
	var env []string
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		// useConfigOnly keeps git from making up a name from the host's.
		_, err := git.Command{Dir: dir, Args: []string{"var", "GIT_" + who + "_IDENT"}, Config: []string{"user.useConfigOnly=true"}}.Run(ctx)
		if git.ExitCode(err) > 0 {
			env = append(env, "GIT_"+who+"_NAME=cmux", "GIT_"+who+"_EMAIL=cmux@localhost")
		} else if err != nil {
			return nil, err
		}
	}
	return env, nil
}
