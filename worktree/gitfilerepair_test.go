package worktree

import (
	"cmux/worktree/hint"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A tree that has lost its .git file is saved and removed, or continued;
// what another repository may need is left and named, with a way out that works.
func TestBrokenWorktree(t *testing.T) {
	for _, c := range []struct {
		name  string
		wreck func(t *testing.T, r *Repo, tree *Tree)
		err   error // nil: dealt with
		out   func(t *testing.T, r *Repo, tree *Tree)
	}{
		{name: "no .git", wreck: func(t *testing.T, r *Repo, tree *Tree) { os.Remove(filepath.Join(tree.Path, ".git")) }},
		{name: "leads nowhere", wreck: func(t *testing.T, r *Repo, tree *Tree) { write(t, tree.Path, ".git", "gitdir: /nowhere\n") }},
		{name: "empty", wreck: func(t *testing.T, r *Repo, tree *Tree) { write(t, tree.Path, ".git", "") }},
		{name: "another repository's", wreck: func(t *testing.T, r *Repo, tree *Tree) {
			write(t, tree.Path, ".git", "gitdir: "+newRepo(t).GitDir+"\n")
		}, err: ErrOccupied},
		{name: "a repository of its own", wreck: func(t *testing.T, r *Repo, tree *Tree) {
			os.Remove(filepath.Join(tree.Path, ".git"))
			sh(t, tree.Path, "init", "-q")
		}, err: ErrUnsavable, out: func(t *testing.T, r *Repo, tree *Tree) {
			if err := os.Rename(filepath.Join(tree.Path, ".git"), tree.Path+".git"); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a link", wreck: func(t *testing.T, r *Repo, tree *Tree) {
			os.Remove(filepath.Join(tree.Path, ".git"))
			os.Symlink("/nowhere", filepath.Join(tree.Path, ".git"))
		}, err: ErrOccupied, out: func(t *testing.T, r *Repo, tree *Tree) { os.Remove(filepath.Join(tree.Path, ".git")) }},
		{name: "a file in its place", wreck: func(t *testing.T, r *Repo, tree *Tree) {
			os.RemoveAll(tree.Path)
			write(t, filepath.Dir(tree.Path), filepath.Base(tree.Path), "x")
		}, err: ErrOccupied, out: func(t *testing.T, r *Repo, tree *Tree) { os.Rename(tree.Path, tree.Path+".found") }},
		{name: "registration gone", wreck: func(t *testing.T, r *Repo, tree *Tree) { os.RemoveAll(tree.GitDir) },
			err: ErrLost, out: func(t *testing.T, r *Repo, tree *Tree) { os.Rename(tree.Path, tree.Path+".found") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepo(t)
			tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "b", Owner: "s/a"})
			write(t, tree.Path, "new", "work\n")
			c.wreck(t, r, tree)
			s, err := r.Remove(t.Context(), tree.Path, RemoveSpec{Name: "n"})
			if c.err != nil {
				var h *hint.Error
				if !errors.Is(err, c.err) || !errors.As(err, &h) || !strings.Contains(err.Error(), tree.Path) {
					t.Fatalf("removed: %v, want %v with a way out", err, c.err)
				}
				if c.out == nil {
					return
				}
				c.out(t, r, tree)
				if s, err = r.Remove(t.Context(), tree.Path, RemoveSpec{Name: "n"}); err != nil {
					t.Fatalf("the way out of it: %v", err)
				}
				if s == nil { // it was moved away
					return
				}
			} else if err != nil || s == nil {
				t.Fatalf("%v, %v", s, err)
			}
			back := must[*Tree](t)(r.Restore(t.Context(), s, RestoreSpec{}))
			if read(t, back.Path, "new") != "work\n" {
				t.Error("the work is not what it was")
			}
		})
	}
}

func TestLendGoesOnWithoutGitFile(t *testing.T) {
	r := newRepo(t)
	spec := LendSpec{Path: beside(r, "w"), Branch: "b", Owner: "s/a", Start: head(t, r)}
	tree := lend(t, r, spec)
	write(t, tree.Path, "new", "work\n")
	os.Remove(filepath.Join(tree.Path, ".git"))
	var notes []string
	if _, err := r.Lend(noting(t.Context(), &notes), spec); err != nil || len(notes) != 1 {
		t.Errorf("%v, notes %q", err, notes)
	}
	if sh(t, tree.Path, "status", "--porcelain") != "?? new" {
		t.Error("the tree is not as it was")
	}
}

// Pipes, sockets and devices hang nothing, and what is not saved is listed.
func TestSpecialFiles(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "b"})
	if err := errors.Join(
		syscall.Mkfifo(filepath.Join(tree.Path, "pipe"), 0o644),
		os.Remove(filepath.Join(tree.Path, "a.txt")),
		syscall.Mkfifo(filepath.Join(tree.Path, "a.txt"), 0o644),
		os.Mkdir(filepath.Join(tree.Path, "ignored"), 0o755),
		syscall.Mkfifo(filepath.Join(tree.Path, "ignored", "pipe"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(tree.Path, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	if _, err := r.Uncommitted(t.Context(), tree.Path); err != nil {
		t.Error(err)
	}
	if _, err := r.CommitAll(t.Context(), tree.Path, "x"); !errors.Is(err, ErrUnsavable) || !strings.Contains(err.Error(), "a.txt") {
		t.Errorf("committed: %v", err)
	}
	s := must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{Name: "n"}))
	want := []string{"a.txt", "ignored/pipe", "pipe", "s"}
	got := slices.Sorted(slices.Values(s.Omitted))
	if !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	message := sh(t, r.Root, "log", "-1", "--format=%B", s.Commit)
	for _, name := range want {
		if !strings.Contains(message, `not saved: "`+name+`"`) {
			t.Errorf("%s is not in the message:\n%s", name, message)
		}
	}
	must[*Tree](t)(r.Restore(t.Context(), s, RestoreSpec{}))
}

// A pipe alone is listed as well.
func TestOnlyAPipe(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "b"})
	if err := syscall.Mkfifo(filepath.Join(tree.Path, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{})); s == nil || !slices.Equal(s.Omitted, []string{"pipe"}) {
		t.Errorf("%+v", s)
	}
}

// What cannot be read is not lost, but named.
func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "b"})
	write(t, tree.Path, "closed/file", "x")
	closed := filepath.Join(tree.Path, "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(closed, 0o755) })
	if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); !errors.Is(err, ErrUnsavable) || !strings.Contains(err.Error(), closed) {
		t.Errorf("removed: %v", err)
	}
	os.Chmod(closed, 0o755)
	must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{}))
}
