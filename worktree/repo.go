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

	"cmux/worktree/common"
	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
	"cmux/worktree/prepare"
)

// What errors.Is can tell apart. Each comes wrapped in a *hint.Error that names the
// path and the way out.
var (
	ErrNotRepository = errors.New("not a git repository")
	ErrBare          = errors.New("bare repository")
	ErrNoCommits     = errors.New("repository without commits")

	ErrDirty     = errors.New("uncommitted work in the way")     // Lend, Restore: nothing was changed
	ErrOccupied  = errors.New("path is taken")                   // something else is at the path
	ErrLost      = errors.New("worktree without registration")   // one of the repository's, once
	ErrLinked    = errors.New("a link in place of the worktree") // Tree
	ErrBranchOut = errors.New("branch is checked out elsewhere") // and where
	ErrLocked    = errors.New("worktree is locked")              // by git worktree lock
	ErrInUse     = errors.New("worktree is in use by a process") // Remove
	ErrMounted   = errors.New("something is mounted in the worktree")
	ErrUnsavable = errors.New("a snapshot cannot hold this") // nested repository, large file
)

// Repo is one git repository and the worktrees that are lent of it. Its methods may be
// called concurrently.
type Repo struct {
	git.Repo                // its refs and commits
	merge.Merger            // merges without a checkout
	Shared       common.Dir // what all its worktrees share

	*prepare.Preparer // what lent worktrees need, and what in them is nobody's work

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
	go func() { version <- git.CheckVersion(ctx) }() // beside what is asked here
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
	common, err := git.Run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		var ge *git.Error
		if errors.As(err, &ge) && strings.Contains(ge.Stderr, "not a git repository") {
			return nil, hint.Errorf("cd into a repository, or: git init && git add -A && git commit --allow-empty -m 'first commit'",
				"%w: %s", ErrNotRepository, dir)
		}
		return nil, err // for example git's own "dubious ownership", which says what to do
	}
	r := At("", filepath.Clean(gitfile.Shared(git.Line(common))))
	if r.Root, err = mainRoot(ctx, dir, r.GitDir); err != nil {
		return nil, err
	}
	if _, err := git.Run(ctx, r.Root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); git.ExitCode(err) == 1 {
		return nil, hint.Errorf("git add -A && git commit --allow-empty -m 'first commit'", "%w: %s (a worktree starts at a commit)", ErrNoCommits, r.Root)
	} else if err != nil {
		return nil, err
	}
	return r, nil
}

// FirstFiles returns the files that FirstCommit would commit in the repository of root: all
// that git does not ignore.
func FirstFiles(ctx context.Context, root string) ([]string, error) {
	out, err := git.Run(ctx, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return nil, fmt.Errorf("listing files: %w", err)
	}
	return strings.FieldsFunc(out, func(c rune) bool { return c == 0 }), nil
}

// FirstCommit commits all files of a repository that has no commit, and returns the
// commit. root is its main worktree. Without a file the commit is empty.
func FirstCommit(ctx context.Context, root string) (string, error) {
	if _, err := git.Run(ctx, root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err == nil {
		return "", fmt.Errorf("the repository has a commit already: %s", root)
	} else if git.ExitCode(err) != 1 {
		return "", err
	}
	if _, err := git.Run(ctx, root, "add", "--all"); err != nil {
		return "", fmt.Errorf("adding the files: %w", err)
	}
	if _, err := git.Run(ctx, root, "commit", "--quiet", "--allow-empty", "--message", "first commit"); err != nil {
		var ge *git.Error
		if errors.As(err, &ge) && (strings.Contains(ge.Stderr, "user.email") || strings.Contains(ge.Stderr, "empty ident")) {
			return "", hint.Errorf("git config --global user.name NAME && git config --global user.email EMAIL", "git does not know who commits: %s", root)
		}
		return "", fmt.Errorf("committing: %w", err)
	}
	out, err := git.Run(ctx, root, "rev-parse", "HEAD")
	return git.Line(out), err
}

// At returns the repository of a working tree whose git directory is known.
func At(root, gitDir string) *Repo {
	r := &Repo{Repo: git.Repo{Root: root, GitDir: gitDir}, registry: make(chan struct{}, 1), busy: map[string]bool{}}
	r.Shared, r.Merger, r.Preparer = common.Of(&r.Repo), merge.In(&r.Repo), prepare.Of(&r.Repo)
	return r
}

// plain is the repository of dir where dir is in its main worktree, with its git
// directory in there, and it has a commit: as most are, and found by a single
// call of git. nil: it is to be looked at closely.
func plain(ctx context.Context, dir string) *Repo {
	out, err := git.Run(ctx, dir, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-work-tree", "HEAD^{commit}", "--git-dir", "--git-common-dir")
	facts := strings.SplitN(git.Line(out), "\n", 4)
	if err != nil || len(facts) != 4 || facts[0] != "false" || facts[1] != "true" {
		return nil
	}
	own, common, ok := strings.Cut(facts[3], "\n")
	if !ok || own != common || filepath.Base(common) != ".git" {
		return nil // a path with a line end in it is not one of these either
	}
	root, err := filepath.EvalSymlinks(filepath.Dir(common))
	if err != nil {
		return nil
	}
	return At(root, filepath.Clean(common))
}

// AddTree is the command that gives the bare repository at common, in which the
// caller stands, a worktree of a branch beside it.
func AddTree(common, branch string) string {
	path := git.ShellWord(filepath.Join(filepath.Dir(common), filepath.FromSlash(branch)))
	return "git worktree add " + path + " " + git.ShellWord(branch) + " && cd " + path
}

// mainRoot is the main worktree's root of the repository with the given common
// git directory.
func mainRoot(ctx context.Context, dir, common string) (string, error) {
	bare, err := git.Run(ctx, dir, "--git-dir="+common, "config", "--type=bool", "--default=false", "core.bare")
	if err != nil {
		return "", err
	}
	if git.Line(bare) == "true" {
		top, err := git.Run(ctx, dir, "rev-parse", "--show-toplevel")
		if err != nil {
			branch, herr := git.Run(ctx, dir, "--git-dir="+common, "symbolic-ref", "--short", "HEAD")
			if herr != nil {
				return "", herr
			}
			return "", hint.Errorf(AddTree(common, git.Line(branch)), "%w: %s is in no worktree of %s", ErrBare, dir, common)
		}
		return filepath.EvalSymlinks(git.Line(top))
	}
	root := strings.TrimSuffix(common, "/.git")
	if root == common { // --separate-git-dir, or a submodule: the main worktree itself knows
		own, err := git.Run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir")
		if err != nil {
			return "", err
		}
		if filepath.Clean(git.Line(own)) != common {
			return "", hint.Errorf("start in the main worktree",
				"the main worktree of %s is not known from the linked worktree %s", common, dir)
		}
		top, err := git.Run(ctx, dir, "rev-parse", "--show-toplevel")
		if err != nil {
			return "", err
		}
		root = git.Line(top)
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
	return git.WriteFile(filepath.Join(r.GitDir, rootFile), []byte(r.Root+"\n"))
}

// KeptRoot returns the worktree that a bare repository remembers; "" if it remembers
// none, or one that is gone.
func KeptRoot(common string) string {
	b, err := os.ReadFile(filepath.Join(common, rootFile))
	if err != nil {
		return ""
	}
	root := git.Line(string(b))
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
func (r *Repo) Here(ctx context.Context, dir string) (Dirt, git.Base, error) {
	lines, err := git.StatusLines(ctx, dir, "--branch", "--no-ahead-behind", "--untracked-files=normal", "--ignored=no")
	if err != nil {
		return Dirt{}, git.Base{}, err
	}
	b := git.Base{Ref: "HEAD"}
	for _, l := range lines {
		if commit, ok := strings.CutPrefix(l, "# branch.oid "); ok {
			b.Commit = commit
		} else if branch, ok := strings.CutPrefix(l, "# branch.head "); ok {
			b.Branch = branch
		}
	}
	if b.Commit == "(initial)" {
		at := "git -C " + git.ShellWord(dir)
		return Dirt{}, git.Base{}, hint.Errorf(at+" add -A && "+at+" commit --allow-empty -m 'first commit', or --base BRANCH",
			"%w on its branch %s: %s (a worktree starts at a commit)", ErrNoCommits, b.Branch, dir)
	}
	if b.Branch == detached || strings.HasPrefix(b.Branch, "refs/") || b.Branch == "" || b.Commit == "" {
		if b, err = r.BaseIn(ctx, dir, ""); err != nil {
			return Dirt{}, git.Base{}, err
		}
	}
	entries, err := git.ParseStatus(lines)
	if err != nil {
		return Dirt{}, git.Base{}, err
	}
	d, err := dirtOf(ctx, dir, entries)
	return d, b, err
}

// detached is what git status calls the branch of a HEAD that is on none. A branch
// may have that name.
const detached = "(detached)"

// dirt is what a working tree holds beside its HEAD commit.
func dirt(ctx context.Context, dir string) (Dirt, error) {
	entries, err := unclean(ctx, dir, "normal")
	if err != nil {
		return Dirt{}, err
	}
	return dirtOf(ctx, dir, entries)
}

// unclean are the entries of what a working tree holds beside its HEAD commit. What its
// checkout left modified is not among them.
func unclean(ctx context.Context, dir, untracked string) ([]git.StatusEntry, error) {
	entries, err := git.Status(ctx, dir, "--untracked-files="+untracked, "--ignored=no")
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	p, err := prepare.RecordOf(ctx, dir)
	if err != nil {
		return nil, err
	}
	entries, _, err = prepare.Unwritten(ctx, dir, entries)
	return slices.DeleteFunc(entries, func(e git.StatusEntry) bool {
		b := p.At(e.Path)
		return b != nil && b.By == prepare.ByCheckout && b.Same(filepath.Join(dir, e.Path))
	}), err
}

func dirtOf(ctx context.Context, dir string, entries []git.StatusEntry) (Dirt, error) {
	var d Dirt
	for _, e := range entries {
		switch {
		case e.Kind == 'u':
			d.Unmerged++
		case e.Kind == '?':
			d.Untracked++
		default:
			if e.Index != '.' {
				d.Staged++
			}
			if e.Tree != '.' {
				d.Unstaged++
			}
		}
		if len(d.Paths) < git.PathsShown {
			d.Paths = append(d.Paths, e.Path)
		}
	}
	private, err := git.PrivateDir(ctx, dir)
	if err != nil {
		return Dirt{}, err
	}
	d.Operation = git.Operation(private)
	return d, nil
}
