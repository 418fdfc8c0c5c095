package worktree

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cmux/worktree/git"
)

// A git that is killed while it makes a worktree leaves a registration that
// holds a part of what it should, in the order in which git writes it.
func TestLendOverAHalfMadeWorktree(t *testing.T) {
	for _, c := range []struct {
		name  string
		empty string   // the file that git was about to write
		gone  []string // not there yet
	}{
		{"locked", "", []string{"gitdir", "commondir", "HEAD", ".git"}},
		{"gitdir", "gitdir", []string{"commondir", "HEAD", ".git"}},
		{".git", "", []string{"commondir", "HEAD", ".git"}},
		{"HEAD", "HEAD", []string{"commondir"}},
		{"commondir", "commondir", nil},
		{"commondir gone", "", []string{"commondir"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepo(t)
			path := beside(r, "w")
			sh(t, r.Root, "worktree", "add", "-q", "--no-checkout", "-b", "w", path)
			private, err := r.FindPrivate(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, private, "locked", initializing)
			in := func(name string) string {
				if name == ".git" {
					return filepath.Join(path, name)
				}
				return filepath.Join(private, name)
			}
			if c.empty != "" {
				if err := os.Truncate(in(c.empty), 0); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range c.gone {
				if err := os.Remove(in(name)); err != nil {
					t.Fatal(err)
				}
			}
			old := git.Started.Add(-time.Second)
			if err := os.Chtimes(private, old, old); err != nil {
				t.Fatal(err)
			}
			// Another node's worktree, and then its own.
			lend(t, r, LendSpec{Path: beside(r, "v"), Branch: "v", Owner: "p"})
			tree := lend(t, r, LendSpec{Path: path, Branch: "w", Owner: "o"})
			if out := sh(t, tree.Path, "status", "--porcelain"); out != "" {
				t.Errorf("not clean: %s", out)
			}
			if out := sh(t, r.Root, "worktree", "list"); out == "" {
				t.Error("no worktree is listed")
			}
		})
	}
}

// What may be in the making, or has work in it, stays.
func TestHalfMade(t *testing.T) {
	r := newRepo(t)
	path := beside(r, "w")
	sh(t, r.Root, "worktree", "add", "-q", "-b", "w", path)
	private, err := r.FindPrivate(path)
	if err != nil {
		t.Fatal(err)
	}
	old := git.Started.Add(-time.Second)
	stays := func(why string) {
		t.Helper()
		if r.dropHalfMade(t.Context()) {
			t.Fatalf("%s: removed", why)
		}
	}
	stays("whole")
	write(t, private, "locked", initializing)
	if err := os.Truncate(filepath.Join(private, "commondir"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(private, old, old); err != nil {
		t.Fatal(err)
	}
	stays("it has an index")
	if err := os.Remove(filepath.Join(private, "index")); err != nil {
		t.Fatal(err)
	}
	stays("younger than this process")
	write(t, private, "locked", "on a stick")
	if err := os.Chtimes(private, old, old); err != nil {
		t.Fatal(err)
	}
	stays("locked by a person")
	write(t, private, "locked", initializing)
	if err := os.Chtimes(private, old, old); err != nil {
		t.Fatal(err)
	}
	if !r.dropHalfMade(t.Context()) {
		t.Error("it stays")
	}
	if _, err := os.Stat(filepath.Join(path, ".git")); err != nil {
		t.Errorf("a folder with files in it: %v", err)
	}
}
