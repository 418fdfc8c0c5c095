// Package workspace handles the place where a node works: its worktree, and what that
// shares with all others of the repository.
//
// A Tree asks git about the node's own branch and files. A Shared watches the refs,
// settings and hooks that all worktrees share, and finds which changes there are the
// node's, by the trace of its git commands. Both only look and record; the attempt decides
// what follows.
package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/dag/scopes"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/prepare"
	"cmux/worktree/separate"
)

// setupTimeout bounds each setup step.
const setupTimeout = 30 * time.Minute

// A Tree is the worktree that the runner lent to a node.
type Tree struct {
	Repo   *worktree.Repo // of a worktree with a git directory of its own: that
	Lent   *worktree.Tree
	Shared *Shared // nil: not watched

	shared *worktree.Repo
	spec   *run.Spec
	paths  run.Paths
	home   Home
}

// Open opens the worktree of an attempt. It skips the registry of worktrees, which grows
// with the graph, because the runner has just lent the worktree. nil repo: open the
// repository.
func Open(ctx context.Context, repo *worktree.Repo, spec *run.Spec, paths run.Paths, home Home) (*Tree, error) {
	if repo == nil {
		var err error
		if repo, err = worktree.Open(ctx, spec.Frame.Root); err != nil {
			return nil, err
		}
	}
	p := spec.Place
	private, err := gitfile.Private(p.Tree)
	if err != nil {
		return nil, fmt.Errorf("worktree %s: %w", p.Tree, err)
	}
	lent := &worktree.Tree{Path: p.Tree, Branch: p.Branch, GitDir: private}
	t := &Tree{Repo: repo, Lent: lent, spec: spec, paths: paths, home: home, shared: repo}
	if separate.Is(repo.GitDir, private) {
		t.Repo = worktree.At(p.Tree, private)
	}
	return t, nil
}

// Rejoined returns the tree as one of the shared repository, after it had a git directory
// of its own. What was in that is shared with nobody.
func (t *Tree) Rejoined() *Tree {
	if t == nil || t.Repo == t.shared {
		return t
	}
	back := *t
	lent := *t.Lent
	lent.GitDir = filepath.Dir(lent.GitDir)
	back.Repo, back.Lent, back.Shared = t.shared, &lent, nil
	return &back
}

// Prepare copies, links and sets up the files that the node needs in its worktree.
func (t *Tree) Prepare(ctx context.Context, env []string, out io.Writer) error {
	with := t.spec.Frame
	return t.shared.Prepare(ctx, t.Lent.Path, t.Lent.GitDir, prepare.Spec{
		Copy: with.Copy, Link: with.Link, Setup: with.Setup, SetupTimeout: setupTimeout,
		Env: env, Output: out,
	})
}

// Config makes git ignore the settings that hide the node's files from it.
func (t *Tree) Config(ctx context.Context) context.Context {
	if t == nil || t.Shared == nil {
		return ctx
	}
	return git.WithConfig(ctx, t.Shared.undone...)
}

// Branch returns the current branch; empty if HEAD is detached.
func (t *Tree) Branch() (string, error) {
	b, err := gitfile.Read(filepath.Join(t.Lent.GitDir, "HEAD"), 1<<16)
	if err != nil {
		return "", err
	}
	name, _ := strings.CutPrefix(strings.TrimSuffix(string(b), "\n"), "ref: refs/heads/")
	if name == strings.TrimSuffix(string(b), "\n") {
		return "", nil
	}
	return name, nil
}

// Commits counts the commits since from.
func (t *Tree) Commits(ctx context.Context, from string) (int, error) {
	if from == "" {
		return 0, nil
	}
	all, err := t.Repo.Commits(ctx, from, "refs/heads/"+t.Lent.Branch)
	return len(all), err
}

// DiffStat returns the changes since from as one line, such as "3 files, +10 -2".
func (t *Tree) DiffStat(ctx context.Context, from, to string) (string, error) {
	d, err := t.Repo.DiffStat(ctx, from, to)
	if err != nil {
		return "", err
	}
	return StatLine(d), nil
}

// StatLine formats a DiffStat as one line.
func StatLine(d git.DiffStat) string {
	files := "files"
	if d.Files == 1 {
		files = "file"
	}
	return fmt.Sprintf("%d %s, +%d -%d", d.Files, files, d.Added, d.Deleted)
}

// Snapshot saves uncommitted work and returns its id; empty: there was none.
func (t *Tree) Snapshot(ctx context.Context, reason string) (string, error) {
	name := t.Lent.Branch
	if name == "" {
		name = t.spec.Def.Name
	}
	s, err := t.Repo.Snapshot(ctx, t.Lent.Path, worktree.SnapshotSpec{Name: name, Reason: reason})
	if err != nil || s == nil {
		return "", err
	}
	return s.ID, nil
}

// Ancestry checks that the branch still contains the commit at which it was lent.
func (t *Tree) Ancestry(ctx context.Context) (*conversation.Fault, error) {
	from := t.spec.Place.Lent
	if from == "" {
		from = t.spec.Place.Commit
	}
	if from == "" || !t.spec.Def.HasBranch() {
		return nil, nil
	}
	tip, err := t.Repo.Tip(ctx, t.spec.Place.Branch)
	if errors.Is(err, git.ErrBadRef) {
		return &conversation.Fault{
			Reason: dag.ReasonScope,
			Detail: fmt.Sprintf("its branch %s is gone; bring it back (git branch %s COMMIT) and retry", t.spec.Place.Branch, t.spec.Place.Branch),
			Tell:   prompt.BranchGone(t.spec.Place.Branch),
		}, nil
	} else if err != nil {
		return nil, err
	}
	holds, err := t.Repo.Holds(ctx, tip, from)
	if err != nil || holds {
		return nil, err
	}
	return &conversation.Fault{
		Reason: dag.ReasonScope,
		Detail: fmt.Sprintf("%s (at %.12s) no longer holds the commit that it began at, %.12s: that was amended, rebased or reset. Put the work on it again (in %s: git reset --soft %.12s, then git commit) and retry",
			t.spec.Place.Branch, tip, from, t.Lent.Path, from),
		Tell: prompt.BaseLost(t.spec.Place.Branch, from),
	}, nil
}

// maxHashed is the size up to which the content of a changed file is compared; for larger
// files, size and modification time are.
const maxHashed = 16 << 20

// Fingerprint is equal for equal content of the working tree, committed or not. Ignored
// files do not count.
func (t *Tree) Fingerprint(ctx context.Context) (string, error) {
	if t.spec.Place.Commit == "" {
		return "", nil
	}
	changed, err := t.Repo.ChangedFiles(ctx, t.Lent.Path, t.spec.Place.Commit)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range changed {
		path := filepath.Join(t.Lent.Path, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(h, "%q gone\n", name)
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %v %d\n", name, info.Mode(), info.Size())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%q\n", target)
		case info.Mode().IsRegular() && info.Size() <= maxHashed:
			f, err := os.Open(path)
			if err != nil {
				return "", err
			}
			_, err = io.Copy(h, f)
			if err = errors.Join(err, f.Close()); err != nil {
				return "", err
			}
		default:
			fmt.Fprintln(h, info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Newest finds a file below dir that changed after the given time and returns when; git's
// own files do not count. It stops at the first.
func Newest(ctx context.Context, dir string, after time.Time) time.Time {
	var found time.Time
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			return nil // it may be gone by now
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(after) {
			found = info.ModTime()
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// Scopes are a node's patterns for the verdict and the guard: files that exist when the
// attempt begins are taken by their names.
type Scopes struct{ Write, Read []string }

// ScopesOf returns the node's Scopes in a tree.
func ScopesOf(n *dag.Node, tree string) Scopes {
	exists := worktree.Exists(tree)
	return Scopes{scopes.Literal(n.Scope, exists), scopes.Literal(n.Context, exists)}
}

// MayChange reports whether the node may write a path. A path of context is read-only
// unless scope names it too.
func (s Scopes) MayChange(path string) bool {
	if len(s.Write) > 0 {
		return scopes.In(s.Write, path)
	}
	return !scopes.In(s.Read, path)
}

// Shown lists the first few paths and the number of the others.
func Shown(paths []string) string {
	const most = 20
	names := make([]string, 0, most)
	for _, p := range paths[:min(len(paths), most)] {
		names = append(names, name(p))
	}
	for i, n := range names {
		names[i] = prompt.Cut(n, 200)
	}
	if len(paths) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(paths)-most)
}

// name returns a path for display: quoted if a terminal would execute it, or if its end is
// ambiguous.
func name(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) ||
		strings.ContainsAny(path, "\"',") || strings.TrimSpace(path) != path {
		return strconv.Quote(path)
	}
	return path
}
