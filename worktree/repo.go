package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cmux/worktree/gitfile"
)

// What errors.Is can tell apart. Each comes wrapped in a *Hint that names the
// path and the way out.
var (
	ErrGit           = errors.New("unusable git")
	ErrNotRepository = errors.New("not a git repository")
	ErrBare          = errors.New("bare repository")
	ErrNoCommits     = errors.New("repository without commits")
	ErrBadRef        = errors.New("not a commit")

	ErrDirty     = errors.New("uncommitted work in the way")     // Lend, Restore: nothing was changed
	ErrOccupied  = errors.New("path is taken")                   // something else is at the path
	ErrLost      = errors.New("worktree without registration")   // one of the repository's, once
	ErrLinked    = errors.New("a link in place of the worktree") // Tree
	ErrBranchOut = errors.New("branch is checked out elsewhere") // and where
	ErrLocked    = errors.New("worktree is locked")              // by git worktree lock
	ErrInUse     = errors.New("worktree is in use by a process") // Remove
	ErrMounted   = errors.New("something is mounted in the worktree")
	ErrUnsavable = errors.New("a snapshot cannot hold this")        // nested repository, large file
	ErrSubmodule = errors.New("submodule could not be checked out") // Lend
)

// Repo is one git repository. Its methods may be called concurrently.
type Repo struct {
	Root   string // the main worktree, or of a bare repository the one that keeps .cmux; absolute, links resolved
	GitDir string // the common git directory, absolute

	registry chan struct{} // held while worktrees are added or removed

	mu   sync.Mutex
	busy map[string]bool // paths being lent or removed
}

// Open finds the repository of dir, which may be any directory of its main or
// of a linked worktree. The errors are ErrGit, ErrNotRepository, ErrBare and
// ErrNoCommits.
func Open(ctx context.Context, dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	version := make(chan error, 1)
	go func() { version <- checkVersion(ctx) }() // beside what is asked here
	r, err := find(ctx, dir)
	if err := <-version; err != nil {
		return nil, err
	}
	return r, err
}

// find is Open with any git.
func find(ctx context.Context, dir string) (*Repo, error) {
	if r := plain(ctx, dir); r != nil {
		return r, nil
	}
	common, err := git(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		var ge *GitError
		if errors.As(err, &ge) && strings.Contains(ge.Stderr, "not a git repository") {
			return nil, hint("cd into a repository, or: git init && git add -A && git commit --allow-empty -m 'first commit'",
				"%w: %s", ErrNotRepository, dir)
		}
		return nil, err // for example git's own "dubious ownership", which says what to do
	}
	r := repoAt("", filepath.Clean(line(common)))
	if r.Root, err = mainRoot(ctx, dir, r.GitDir); err != nil {
		return nil, err
	}
	if _, err := git(ctx, r.Root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); exitCode(err) == 1 {
		return nil, hint("git add -A && git commit --allow-empty -m 'first commit'", "%w: %s (a worktree starts at a commit)", ErrNoCommits, r.Root)
	} else if err != nil {
		return nil, err
	}
	return r, nil
}

func repoAt(root, gitDir string) *Repo {
	return &Repo{Root: root, GitDir: gitDir, registry: make(chan struct{}, 1), busy: map[string]bool{}}
}

// plain is the repository of dir where dir is in its main worktree, with its git
// directory in there, and it has a commit: as most are, and found by a single
// call of git. nil: it is to be looked at closely.
func plain(ctx context.Context, dir string) *Repo {
	out, err := git(ctx, dir, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-work-tree", "HEAD^{commit}", "--git-dir", "--git-common-dir")
	facts := strings.SplitN(line(out), "\n", 4)
	if err != nil || len(facts) != 4 || facts[0] != "false" || facts[1] != "true" {
		return nil
	}
	own, common, ok := strings.Cut(facts[3], "\n")
	if !ok || own != common || filepath.Base(common) != ".git" {
		return nil // a path with a line end in it is none of these either
	}
	root, err := filepath.EvalSymlinks(filepath.Dir(common))
	if err != nil {
		return nil
	}
	return repoAt(root, filepath.Clean(common))
}

// AddTree is the command that gives the bare repository at common, in which the
// caller stands, a worktree of a branch beside it.
func AddTree(common, branch string) string {
	path := shellWord(filepath.Join(filepath.Dir(common), filepath.FromSlash(branch)))
	return "git worktree add " + path + " " + shellWord(branch) + " && cd " + path
}

// mainRoot is the main worktree's root of the repository with the given common
// git directory.
func mainRoot(ctx context.Context, dir, common string) (string, error) {
	bare, err := git(ctx, dir, "--git-dir="+common, "config", "--type=bool", "--default=false", "core.bare")
	if err != nil {
		return "", err
	}
	if line(bare) == "true" {
		top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
		if err != nil {
			branch, herr := git(ctx, dir, "--git-dir="+common, "symbolic-ref", "--short", "HEAD")
			if herr != nil {
				return "", herr
			}
			return "", hint(AddTree(common, line(branch)), "%w: %s is in no worktree of %s", ErrBare, dir, common)
		}
		return filepath.EvalSymlinks(line(top))
	}
	root := strings.TrimSuffix(common, "/.git")
	if root == common { // --separate-git-dir, or a submodule: the main worktree itself knows
		own, err := git(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir")
		if err != nil {
			return "", err
		}
		if filepath.Clean(line(own)) != common {
			return "", hint("start in the main worktree",
				"the main worktree of %s is not known from the linked worktree %s", common, dir)
		}
		top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
		if err != nil {
			return "", err
		}
		root = line(top)
	}
	return filepath.EvalSymlinks(root)
}

// rootFile is where a bare repository names the worktree that keeps its .cmux.
const rootFile = "cmux-root"

// KeepRoot has a bare repository remember Root, so that every worktree of it finds
// the same project. A repository with a main worktree needs no such file.
func (r *Repo) KeepRoot() error {
	private, err := gitfile.Private(r.Root)
	if err != nil || filepath.Clean(gitfile.Common(private)) == filepath.Clean(private) || KeptRoot(r.GitDir) == r.Root {
		return nil // a main worktree, a submodule, or known
	}
	return writeFile(filepath.Join(r.GitDir, rootFile), []byte(r.Root+"\n"))
}

// KeptRoot returns the worktree that a bare repository remembers; "" if it remembers
// none, or one that is gone.
func KeptRoot(common string) string {
	b, err := os.ReadFile(filepath.Join(common, rootFile))
	if err != nil {
		return ""
	}
	root := line(string(b))
	private, err := gitfile.Private(root)
	if err != nil {
		return ""
	}
	is, err := os.Stat(gitfile.Common(private))
	want, err2 := os.Stat(common)
	if err != nil || err2 != nil || !os.SameFile(is, want) {
		return ""
	}
	return root
}

// privateOf returns the private git directory of a worktree of r.
func (r *Repo) privateOf(path string) string {
	if private, err := gitfile.Private(path); err == nil {
		return private
	}
	return r.GitDir
}

// lock takes the registry: git worktree add and remove look at every
// registration and are not made to meet each other.
func (r *Repo) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case r.registry <- struct{}{}:
		return func() { <-r.registry }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// claim keeps two operations of this process off one path.
func (r *Repo) claim(path string) (release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy[path] {
		return nil, fmt.Errorf("%w: %s is being lent or removed at this moment", ErrOccupied, path)
	}
	r.busy[path] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.busy, path)
	}, nil
}

// Resolve is the full id of the commit that ref names; ErrBadRef when none.
func (r *Repo) Resolve(ctx context.Context, ref string) (string, error) {
	return resolve(ctx, r.Root, ref)
}

func resolve(ctx context.Context, dir, ref string) (string, error) {
	out, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if exitCode(err) > 0 {
		return "", hint("git branch --all, git tag", "%w: %q in %s", ErrBadRef, ref, dir)
	}
	return line(out), err
}

// LacksFolder reports whether a checkout of commit has no folder dir, as far as the
// commit tells: what a submodule holds it does not.
func (r *Repo) LacksFolder(ctx context.Context, commit, dir string) (bool, error) {
	ask := commit + ":.gitmodules\n" + commit + ":" + dir + "\n"
	out, err := command{dir: r.Root, args: []string{"cat-file", "--batch-check=%(objecttype)", "--follow-symlinks"}, stdin: []byte(ask)}.run(ctx)
	modules, rest, _ := strings.Cut(out, "\n")
	return err == nil && modules != "blob" && line(rest) != "tree", err
}

// Base is what a run starts from.
type Base struct {
	Ref    string // as asked for; HEAD by default
	Commit string
	Branch string // short name; empty when Ref is no local branch (tag, id, detached HEAD)
}

// Base resolves ref at the main worktree's root; see BaseIn.
func (r *Repo) Base(ctx context.Context, ref string) (Base, error) {
	return r.BaseIn(ctx, r.Root, ref)
}

// BaseIn resolves ref, by default HEAD, as git does in the worktree at dir. HEAD may
// be detached.
func (r *Repo) BaseIn(ctx context.Context, dir, ref string) (Base, error) {
	if ref == "" {
		ref = "HEAD"
	}
	if ref == "HEAD" { // both at once, and as they are at one moment
		out, err := git(ctx, dir, "rev-parse", "--quiet", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
		if commit, full, ok := strings.Cut(line(out), "\n"); err == nil && ok {
			return Base{Ref: ref, Commit: commit, Branch: localBranch(full)}, nil
		}
	}
	commit, err := resolve(ctx, dir, ref)
	if err != nil {
		return Base{}, err
	}
	b := Base{Ref: ref, Commit: commit}
	full, err := git(ctx, dir, "rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", ref)
	if err == nil {
		b.Branch = localBranch(line(full))
	}
	return b, ctx.Err()
}

// localBranch is the short name of a local branch; empty for every other ref.
func localBranch(full string) string {
	if branch, ok := strings.CutPrefix(full, "refs/heads/"); ok {
		return branch
	}
	return ""
}

// Dirt is what a working tree holds beside its HEAD commit.
type Dirt struct {
	Staged, Unstaged, Untracked, Unmerged int      // numbers of paths
	Operation                             string   // merge, rebase, cherry-pick, revert, am or bisect in progress
	Paths                                 []string // the first few, relative to the root
}

// Clean tells whether there is nothing.
func (d Dirt) Clean() bool {
	return d.Staged+d.Unstaged+d.Untracked+d.Unmerged == 0 && d.Operation == ""
}

func (d Dirt) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(d.Staged, "staged")
	add(d.Unstaged, "modified")
	add(d.Untracked, "untracked")
	add(d.Unmerged, "unmerged")
	if d.Operation != "" {
		parts = append(parts, d.Operation+" in progress")
	}
	if len(parts) == 0 {
		return "clean"
	}
	return strings.Join(parts, ", ")
}

// Here returns what is uncommitted and untracked in the worktree at dir, and its
// HEAD, both as they are at one moment. dir is the main worktree's root or that of
// a linked one. An untracked directory counts once.
func (r *Repo) Here(ctx context.Context, dir string) (Dirt, Base, error) {
	lines, err := statusLines(ctx, dir, "--branch", "--no-ahead-behind", "--untracked-files=normal", "--ignored=no")
	if err != nil {
		return Dirt{}, Base{}, err
	}
	b := Base{Ref: "HEAD"}
	for _, l := range lines {
		if commit, ok := strings.CutPrefix(l, "# branch.oid "); ok {
			b.Commit = commit
		} else if branch, ok := strings.CutPrefix(l, "# branch.head "); ok {
			b.Branch = branch
		}
	}
	if b.Commit == "(initial)" {
		at := "git -C " + shellWord(dir)
		return Dirt{}, Base{}, hint(at+" add -A && "+at+" commit --allow-empty -m 'first commit', or --base BRANCH",
			"%w on its branch %s: %s (a worktree starts at a commit)", ErrNoCommits, b.Branch, dir)
	}
	if b.Branch == detached || strings.HasPrefix(b.Branch, "refs/") || b.Branch == "" || b.Commit == "" {
		if b, err = r.BaseIn(ctx, dir, ""); err != nil {
			return Dirt{}, Base{}, err
		}
	}
	entries, err := parseStatus(lines)
	if err != nil {
		return Dirt{}, Base{}, err
	}
	d, err := dirtOf(ctx, dir, entries)
	return d, b, err
}

// detached is what git status calls the branch of a HEAD that is on none. A branch
// may have that name.
const detached = "(detached)"

// pathsShown bounds Dirt.Paths and the lists in messages.
const pathsShown = 5

// dirt is what a working tree holds beside its HEAD commit. What its checkout
// left modified is not in it.
func dirt(ctx context.Context, dir string) (Dirt, error) {
	entries, err := status(ctx, dir, "--untracked-files=normal", "--ignored=no")
	if err != nil {
		return Dirt{}, err
	}
	if len(entries) > 0 {
		p, err := preparedIn(ctx, dir)
		if err != nil {
			return Dirt{}, err
		}
		if entries, _, err = unwritten(ctx, dir, entries); err != nil {
			return Dirt{}, err
		}
		entries = slices.DeleteFunc(entries, func(e statusEntry) bool {
			b := p.brought[e.path]
			return b != nil && b.By == ByCheckout && b.same(filepath.Join(dir, e.path))
		})
	}
	return dirtOf(ctx, dir, entries)
}

func dirtOf(ctx context.Context, dir string, entries []statusEntry) (Dirt, error) {
	var d Dirt
	for _, e := range entries {
		switch {
		case e.kind == 'u':
			d.Unmerged++
		case e.kind == '?':
			d.Untracked++
		default:
			if e.index != '.' {
				d.Staged++
			}
			if e.tree != '.' {
				d.Unstaged++
			}
		}
		if len(d.Paths) < pathsShown {
			d.Paths = append(d.Paths, e.path)
		}
	}
	private, err := privateDir(ctx, dir)
	if err != nil {
		return Dirt{}, err
	}
	d.Operation = operation(private)
	return d, nil
}

// operation is the git operation that was begun and not ended in the worktree
// with this private git directory.
func operation(private string) string {
	for _, o := range []struct{ file, name string }{
		{"rebase-merge", "rebase"}, {"rebase-apply/applying", "am"}, {"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(private, o.file)); err == nil {
			return o.name
		}
	}
	return ""
}

// statusEntry is one line of git status --porcelain=v2.
type statusEntry struct {
	kind        byte   // 1 changed, 2 renamed, u unmerged, ? untracked, ! ignored
	index, tree byte   // XY: '.' unchanged, M T A D R C
	sub         string // N... or S<c><m><u>
	path, orig  string // orig only of kind 2
}

func status(ctx context.Context, dir string, args ...string) ([]statusEntry, error) {
	lines, err := statusLines(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	return parseStatus(lines)
}

func statusLines(ctx context.Context, dir string, args ...string) ([]string, error) {
	out, err := git(ctx, dir, append([]string{"status", "--porcelain=v2", "-z", "--ignore-submodules=none", "--no-renames"}, args...)...)
	return fields(out), err
}

// statusColumns are the space-separated columns before the path.
var statusColumns = map[byte]int{'1': 8, '2': 9, 'u': 10}

func parseStatus(lines []string) ([]statusEntry, error) {
	var entries []statusEntry
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if len(l) < 3 {
			return nil, fmt.Errorf("git status: unexpected line %q", l)
		}
		e := statusEntry{kind: l[0], index: '.', tree: '.'}
		switch n := statusColumns[l[0]]; {
		case n > 0:
			cols := strings.SplitN(l, " ", n+1)
			if len(cols) != n+1 || len(cols[1]) != 2 {
				return nil, fmt.Errorf("git status: unexpected line %q", l)
			}
			e.index, e.tree, e.sub, e.path = cols[1][0], cols[1][1], cols[2], cols[n]
			if l[0] == '2' {
				if i++; i == len(lines) {
					return nil, fmt.Errorf("git status: rename without origin: %q", l)
				}
				e.orig = lines[i]
			}
		case l[0] == '?' || l[0] == '!':
			e.path = l[2:]
		default:
			continue // a header
		}
		entries = append(entries, e)
	}
	return entries, nil
}
