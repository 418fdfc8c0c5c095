package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Tip is the commit of a local branch; ErrBadRef when there is none.
func (r *Repo) Tip(ctx context.Context, branch string) (string, error) {
	return r.Resolve(ctx, "refs/heads/"+branch)
}

// UpdateRef moves a full ref name from old to commit in one step. An empty old
// means that the ref must not exist yet; it fails when the ref holds anything
// but old.
func (r *Repo) UpdateRef(ctx context.Context, ref, commit, old string) error {
	if old == "" {
		old = strings.Repeat("0", len(commit))
	}
	r.own(Own{Ref: ref, Old: old, New: commit})
	_, err := git(ctx, r.Root, "update-ref", "--create-reflog", "-m", "cmux", "--", ref, commit, old)
	if err != nil {
		return fmt.Errorf("cannot move %s to %.12s: %w", ref, commit, err)
	}
	return nil
}

// RunRef is the ref under which a run keeps a commit of one of its nodes.
func RunRef(run, node string) string {
	return "refs/cmux/runs/" + refSafe(run) + "/" + refSafe(node)
}

// Commit is one line of a log.
type Commit struct {
	ID      string
	Subject string
	Author  string
	Unix    int64 // committer's time, seconds
}

// Commits lists what tip, a commit or ref, holds beyond since, newest first.
func (r *Repo) Commits(ctx context.Context, since, tip string) ([]Commit, error) {
	return r.log(ctx, since+".."+tip)
}

// log lists the commits of a range, the last of what; before it may stand options.
func (r *Repo) log(ctx context.Context, what ...string) ([]Commit, error) {
	args := append([]string{"log", "-z", "--format=%H%n%ct%n%an%n%s"}, what[:len(what)-1]...)
	out, err := git(ctx, r.Root, append(args, "--end-of-options", what[len(what)-1], "--")...)
	if err != nil {
		return nil, err
	}
	var all []Commit
	for _, l := range fields(out) {
		f := strings.SplitN(l, "\n", 4)
		if len(f) != 4 {
			return nil, fmt.Errorf("git log: unexpected record %q", l)
		}
		unix, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git log: %w", err)
		}
		all = append(all, Commit{ID: f[0], Unix: unix, Author: f[2], Subject: f[3]})
	}
	return all, nil
}

// DiffStat counts changed files and lines; a binary file counts no lines.
type DiffStat struct{ Files, Added, Deleted int }

// DiffStat compares two commits.
func (r *Repo) DiffStat(ctx context.Context, from, to string) (DiffStat, error) {
	files, err := r.FileStats(ctx, from, to)
	d := DiffStat{Files: len(files)}
	for _, f := range files {
		d.Added, d.Deleted = d.Added+f.Added, d.Deleted+f.Deleted
	}
	return d, err
}

// FileStat counts the lines that changed in one file; a binary file counts none.
type FileStat struct {
	Path           string
	Added, Deleted int
	Binary         bool
}

// FileStats compares two commits, file by file; a renamed file is two.
func (r *Repo) FileStats(ctx context.Context, from, to string) ([]FileStat, error) {
	out, err := git(ctx, r.Root, "diff-tree", "-r", "-z", "--no-renames", "--numstat", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	var all []FileStat
	for _, l := range fields(out) { // ADDED\tDELETED\tPATH; - for binary
		f := strings.SplitN(l, "\t", 3)
		if len(f) != 3 {
			return nil, fmt.Errorf("git diff-tree: unexpected line %q", l)
		}
		s := FileStat{Path: f[2], Binary: f[0] == "-"}
		s.Added, _ = strconv.Atoi(f[0])
		s.Deleted, _ = strconv.Atoi(f[1])
		all = append(all, s)
	}
	return all, nil
}

// ChangedFiles lists, sorted, every path in which the worktree differs from
// the commit start: committed, uncommitted or untracked; of a rename both
// sides. A path changed and changed back is not in it, and what a merge of
// start's own descendants brought is: give the merged commit as start.
func (r *Repo) ChangedFiles(ctx context.Context, treePath, start string) ([]string, error) {
	tracked, err := git(ctx, treePath, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=none",
		"--end-of-options", start, "--")
	if err != nil {
		return nil, err
	}
	untracked, err := git(ctx, treePath, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	all := append(fields(tracked), fields(untracked)...)
	slices.Sort(all)
	p, err := preparedIn(ctx, treePath)
	if err != nil {
		return nil, err
	}
	return p.agents(ctx, treePath, start, slices.Compact(all))
}

// Holds reports whether the history of tip, a commit or ref, holds the commit.
func (r *Repo) Holds(ctx context.Context, tip, commit string) (bool, error) {
	_, err := git(ctx, r.Root, "merge-base", "--is-ancestor", commit, tip)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// Common is the newest commit that the histories of both commits hold; empty
// when they have none in common.
func (r *Repo) Common(ctx context.Context, a, b string) (string, error) {
	out, err := git(ctx, r.Root, "merge-base", a, b)
	if exitCode(err) == 1 {
		return "", nil
	}
	return line(out), err
}

// special names a kind of file that is none.
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
	p, err := preparedIn(ctx, treePath)
	if err != nil {
		return Dirt{}, err
	}
	if len(p.Brought) == 0 {
		return dirt(ctx, treePath)
	}
	entries, err := dirty(ctx, treePath)
	if err != nil {
		return Dirt{}, err
	}
	if entries, _, err = p.own(ctx, treePath, entries); err != nil {
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
	return hint("commit it inside its submodule, or put it back", "%w: no commit of %s takes in %s", ErrUnsavable, treePath, shown(d.Paths))
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
	private, err := privateDir(ctx, treePath)
	if err != nil {
		return "", err
	}
	op := operation(private)
	if op != "" && op != "merge" {
		return "", hint("end it in "+treePath, "%w: a %s is in progress in %s", ErrDirty, op, treePath)
	}
	p, err := readPrepared(private)
	if err != nil {
		return "", err
	}
	entries, err := dirty(ctx, treePath)
	if err != nil {
		return "", err
	}
	entries, rest, err := p.own(ctx, treePath, entries)
	if err != nil {
		return "", err
	}
	if err := committable(treePath, entries); err != nil {
		return "", err
	}
	out, err := git(ctx, treePath, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	head := line(out)
	if err != nil && exitCode(err) != 1 || len(entries) == 0 && op == "" {
		return head, err
	}
	tree, err := staged(ctx, treePath, head, entries, rest)
	if err != nil {
		return "", err
	}
	if head != "" && op == "" {
		same, err := git(ctx, treePath, "rev-parse", "--verify", "--quiet", "HEAD^{tree}")
		if err != nil {
			return "", err
		}
		if line(same) == line(tree) {
			return head, r.taken(ctx, treePath)
		}
	}
	args := []string{"commit-tree", line(tree), "-F", "-"}
	if head != "" {
		args = append(args, "-p", head)
	}
	if op == "merge" {
		b, err := os.ReadFile(filepath.Join(private, "MERGE_HEAD"))
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
	out, err = command{dir: treePath, args: args, env: who, stdin: []byte(strings.TrimRight(message, "\n") + "\n")}.run(ctx)
	if err != nil {
		return "", err
	}
	commit := line(out)
	old := head
	if old == "" {
		old = strings.Repeat("0", len(commit))
	}
	r.ownBranch(treePath, commit)
	if _, err := git(ctx, treePath, "update-ref", "-m", "cmux: commit", "--end-of-options", "HEAD", commit, old); err != nil {
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
func committable(treePath string, entries []statusEntry) error {
	for _, e := range entries {
		full := filepath.Join(treePath, e.path)
		switch {
		case e.kind == 'u':
			return hint("resolve it in "+treePath, "%w: %s is unmerged", ErrDirty, full)
		case e.kind == '?' && strings.HasSuffix(e.path, "/") && isRepository(full):
			return nestedRepository(full)
		case e.kind == '1' && e.tree != '.' && len(e.sub) > 0 && e.sub[0] == 'N':
			info, err := os.Lstat(full)
			if err == nil && !info.IsDir() && !savable(info.Mode()) {
				return hint("git -C "+shellWord(treePath)+" restore -- "+shellWord(e.path)+", after rm "+shellWord(full),
					"%w: %s was a file and is a %s, which no commit holds", ErrUnsavable, full, special(info.Mode()))
			}
		}
	}
	return nil
}

// staged is the tree of what is in the worktree but for rest, which the index
// then agrees with.
func staged(ctx context.Context, treePath, head string, entries, rest []statusEntry) (tree string, err error) {
	if err := stage(ctx, treePath, entries, rest); err != nil {
		return "", err
	}
	tree, err = git(ctx, treePath, "write-tree")
	var failed *GitError
	if !errors.As(err, &failed) || !strings.Contains(failed.Stderr, "invalid object") {
		return tree, err
	}
	// The index names what the repository does not hold: it was made beside another
	// one, or the object was damaged. git takes its word for a file that has not
	// changed since, so the files are read anew.
	if head == "" {
		head = "--empty"
	}
	if _, err := git(ctx, treePath, "read-tree", head); err != nil {
		return "", err
	}
	if err := stage(ctx, treePath, entries, rest); err != nil {
		return "", err
	}
	return git(ctx, treePath, "write-tree")
}

// stage brings the index to the worktree, but for rest. A file outside the cone
// of a sparse checkout is taken in; a tracked one that the cone leaves out stays.
func stage(ctx context.Context, treePath string, entries, rest []statusEntry) error {
	if len(rest) == 0 {
		_, err := git(ctx, treePath, "add", "--all", "--sparse", "--", ":/")
		return err
	}
	literal := []string{"GIT_LITERAL_PATHSPECS=1"}
	list := func(entries []statusEntry) []byte {
		var b []byte
		for _, e := range entries {
			b = append(append(b, e.path...), 0)
		}
		return b
	}
	if staged := slices.DeleteFunc(rest, func(e statusEntry) bool { return e.index == '.' }); len(staged) > 0 {
		if _, err := (command{dir: treePath, env: literal, stdin: list(staged),
			args: []string{"reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"}}).run(ctx); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return nil
	}
	_, err := command{dir: treePath, env: literal, stdin: list(entries),
		args: []string{"add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"}}.run(ctx)
	return err
}

// identity is the environment that makes cmux the author where the person has
// not said who they are.
func identity(ctx context.Context, dir string) ([]string, error) {
	var env []string
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		// useConfigOnly keeps git from making up a name from the host's.
		_, err := command{dir: dir, args: []string{"var", "GIT_" + who + "_IDENT"}, config: []string{"user.useConfigOnly=true"}}.run(ctx)
		if exitCode(err) > 0 {
			env = append(env, "GIT_"+who+"_NAME=cmux", "GIT_"+who+"_EMAIL=cmux@localhost")
		} else if err != nil {
			return nil, err
		}
	}
	return env, nil
}
