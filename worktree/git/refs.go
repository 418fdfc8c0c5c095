package git

import (
	"cmux/worktree/hint"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Resolve is the full id of the commit that ref names; ErrBadRef when none.
func (r *Repo) Resolve(ctx context.Context, ref string) (string, error) {
	return Resolve(ctx, r.Root, ref)
}

// Resolve returns the full id of the commit that ref names in the repository of dir, or
// ErrBadRef.
func Resolve(ctx context.Context, dir, ref string) (string, error) {
	out, err := Run(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if ExitCode(err) > 0 {
		return "", hint.Errorf("git branch --all, git tag", "%w: %q in %s", ErrBadRef, ref, dir)
	}
	return Line(out), err
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
		out, err := Run(ctx, dir, "rev-parse", "--quiet", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
		if commit, full, ok := strings.Cut(Line(out), "\n"); err == nil && ok {
			return Base{Ref: ref, Commit: commit, Branch: LocalBranch(full)}, nil
		}
	}
	commit, err := Resolve(ctx, dir, ref)
	if err != nil {
		return Base{}, err
	}
	b := Base{Ref: ref, Commit: commit}
	full, err := Run(ctx, dir, "rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", ref)
	if err == nil {
		b.Branch = LocalBranch(Line(full))
	}
	return b, ctx.Err()
}

// LocalBranch is the short name of a local branch; empty for every other ref.
func LocalBranch(full string) string {
	if branch, ok := strings.CutPrefix(full, "refs/heads/"); ok {
		return branch
	}
	return ""
}

// Tip is the commit of a local branch; ErrBadRef when there is none.
func (r *Repo) Tip(ctx context.Context, branch string) (string, error) {
	return r.Resolve(ctx, "refs/heads/"+branch)
}

// TipNow is Tip, without a process where the branch has a file of its own.
func (r *Repo) TipNow(ctx context.Context, branch string) (string, error) {
	f, err := os.OpenFile(filepath.Join(r.GitDir, "refs", "heads", branch), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return r.Tip(ctx, branch)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return r.Tip(ctx, branch)
	}
	b, err := io.ReadAll(io.LimitReader(f, 100))
	if err != nil && !errors.Is(err, io.EOF) || !isID().Match(b) {
		return r.Tip(ctx, branch)
	}
	return Line(string(b)), nil
}

var isID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})\n$`) })

// UpdateRef moves a full ref name from old to commit in one step. An empty old
// means that the ref must not exist yet; it fails when the ref holds anything
// but old.
func (r *Repo) UpdateRef(ctx context.Context, ref, commit, old string) error {
	if old == "" {
		old = strings.Repeat("0", len(commit))
	}
	r.RecordOwn(Own{Ref: ref, Old: old, New: commit})
	_, err := Run(ctx, r.Root, "update-ref", "--create-reflog", "-m", "cmux", "--", ref, commit, old)
	if err != nil {
		return fmt.Errorf("cannot move %s to %.12s: %w", ref, commit, err)
	}
	return nil
}

// DeleteRef removes a ref that is at a commit, and at no other.
func (r *Repo) DeleteRef(ctx context.Context, ref, commit string) error {
	r.RecordOwn(Own{Ref: ref, Old: commit})
	_, err := Run(ctx, r.Root, "update-ref", "-d", "--", ref, commit)
	return err
}

// DropBranch removes a branch that is at a commit, and at no other.
func (r *Repo) DropBranch(ctx context.Context, branch, commit string) error {
	if err := r.DeleteRef(ctx, "refs/heads/"+branch, commit); err != nil {
		return fmt.Errorf("cannot remove the branch %s: %w", branch, err)
	}
	return nil
}

// RemoveBranch is DropBranch for a branch that somebody may be on: git refuses one
// that is checked out or being rebased in any worktree.
func (r *Repo) RemoveBranch(ctx context.Context, branch, commit string) error {
	tip, err := r.Tip(ctx, branch)
	if err == nil && tip != commit {
		err = fmt.Errorf("it has moved to %.12s", tip)
	}
	if err == nil {
		var out string
		r.RecordOwn(Own{Ref: "refs/heads/" + branch, Old: commit})
		out, err = Run(ctx, r.Root, "branch", "-D", "--", branch)
		if m := removed().FindStringSubmatch(out); err == nil && m != nil && !strings.HasPrefix(commit, m[1]) { // it moved in between
			_, err = Run(ctx, r.Root, "branch", "--no-track", "--", branch, m[1])
			err = errors.Join(errors.New("it has moved"), err)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot remove the branch %s: %w", branch, err)
	}
	return nil
}

// Branches are the names of the local branches, in order.
func (r *Repo) Branches(ctx context.Context) ([]string, error) {
	out, err := Run(ctx, r.Root, "for-each-ref", "--format=%(refname)", "refs/heads/")
	if err != nil {
		return nil, fmt.Errorf("listing branches: %w", err)
	}
	var all []string
	for ref := range strings.Lines(out) {
		all = append(all, strings.TrimPrefix(strings.TrimSuffix(ref, "\n"), "refs/heads/"))
	}
	return all, nil
}

// Takes are the branches that stand in the way of new ones: all there are, and in a
// repository without any the one that its first commit makes.
func (r *Repo) Takes(ctx context.Context) ([]string, error) {
	all, err := r.Branches(ctx)
	if err != nil || len(all) > 0 {
		return all, err
	}
	out, err := Run(ctx, r.Root, "symbolic-ref", "--quiet", "--short", "HEAD")
	if ExitCode(err) == 1 {
		return nil, nil // HEAD is a commit
	} else if err != nil {
		return nil, fmt.Errorf("reading HEAD: %w", err)
	}
	return []string{Line(out)}, nil
}

// Ahead says of each of the branches, which exist, how many commits it has that
// base has not.
func (r *Repo) Ahead(ctx context.Context, base string, branches []string) (map[string]int, error) {
	ahead := make(map[string]int, len(branches))
	for _, b := range branches {
		ref := "refs/heads/" + b
		out, err := Run(ctx, r.Root, "rev-list", "--count", ref, "^"+base, "--")
		if err != nil {
			return nil, fmt.Errorf("comparing %s with the base: %w", ref, err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(out))
		if err != nil {
			return nil, fmt.Errorf("comparing %s with the base: %w", ref, err)
		}
		ahead[b] = n
	}
	return ahead, nil
}

// InTheWay is the first of the branches because of which git cannot make one of that
// name: each of the two names would be a folder in which the other is; empty: none.
func InTheWay(branch string, branches []string) string {
	for _, b := range branches {
		if strings.HasPrefix(b, branch+"/") || strings.HasPrefix(branch, b+"/") {
			return b
		}
	}
	return ""
}

// RunRef is the ref under which a run keeps a commit of one of its nodes.
func RunRef(run, node string) string {
	return "refs/cmux/runs/" + RefSafe(run) + "/" + RefSafe(node)
}

// RefSafe makes a name fit to be part of a ref, and to be pasted into a shell
// as part of the command that restores it: git takes $(...) in a branch's name.
func RefSafe(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		part = strings.Map(func(c rune) rune {
			if c <= ' ' || c == 0x7f || strings.ContainsRune("~^:?*[\\@{}$`'\"()<>;&|#!", c) {
				return '-'
			}
			return c
		}, part)
		part = strings.ReplaceAll(part, "..", "--")
		part = strings.Trim(part, ".")
		if strings.HasSuffix(part, ".lock") {
			part += "-"
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "tree"
	}
	return strings.Join(parts, "/")
}

// Holds reports whether the history of tip, a commit or ref, holds the commit.
func (r *Repo) Holds(ctx context.Context, tip, commit string) (bool, error) {
	_, err := Run(ctx, r.Root, "merge-base", "--is-ancestor", commit, tip)
	if ExitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// Common is the newest commit that the histories of both commits hold; empty
// when they have none in common.
func (r *Repo) Common(ctx context.Context, a, b string) (string, error) {
	out, err := Run(ctx, r.Root, "merge-base", a, b)
	if ExitCode(err) == 1 {
		return "", nil
	}
	return Line(out), err
}

var removed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(was ([0-9a-f]{4,64})\)`) })
