package worktree

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cmux/worktree/hint"
	"cmux/worktree/merge"
	"cmux/worktree/prepare"
)

// wayOut is a refusal and the ways out that its hint names.
type wayOut struct {
	name   string
	meet   func(t *testing.T, r *Repo) (again func() error) // makes the obstacle; again meets it
	try    string                                           // what the hint says, PATH for any path
	follow []func(t *testing.T, r *Repo, try string)        // a way each; then again goes on
	other  func(t *testing.T, r *Repo) error                // what is done instead of again, with the last way; may be nil
}

// literally runs the first way that a hint names as it stands.
func literally(t *testing.T, r *Repo, try string) {
	t.Helper()
	try, _, _ = strings.Cut(try, ", or ")
	if _, in, ok := strings.Cut(try, "("); ok {
		try = strings.TrimSuffix(in, ")")
	}
	if !strings.Contains(try, " commit -m ") {
		try = strings.ReplaceAll(try, " commit", " commit -qm mended") // an editor asks a person
	}
	cmd := exec.Command("sh", "-c", try)
	cmd.Dir = r.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", try, err, out)
	}
}

type walk = func(t *testing.T, r *Repo, try string)

// Each refusal is met, its words are followed, and then it goes on.
func TestWaysOut(t *testing.T) {
	owned := func(r *Repo, path, branch, owner string) func() error {
		return func() error {
			_, err := r.Lend(context.Background(), LendSpec{Path: beside(r, path), Branch: branch, Start: r.head(), Owner: owner})
			return err
		}
	}
	moveAway := func(path string) walk {
		return func(t *testing.T, r *Repo, _ string) {
			if err := os.Rename(beside(r, path), beside(r, "away")); err != nil {
				t.Fatal(err)
			}
		}
	}
	elsewhere := func(t *testing.T, r *Repo) error { return owned(r, "another", "n", "o")() }
	standing := func(r *Repo, branch string) func() error {
		return func() error {
			_, err := r.Lend(context.Background(), LendSpec{Path: beside(r, "the w"), Branch: branch, Start: r.head(), Owner: "o", NoFresh: true})
			return err
		}
	}
	kept := func(t *testing.T, r *Repo, try string) { // on a branch, all of it
		literally(t, r, try)
		if out := sh(t, r.Root, "log", "--all", "--format=%s", "--", "new.txt"); !strings.Contains(out, "what was left") {
			t.Errorf("what was left is not committed: %q", out)
		}
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []wayOut{
		{"a folder in the way", func(t *testing.T, r *Repo) func() error {
			write(t, beside(r, "the w"), "x", "x")
			return owned(r, "the w", "n", "o")
		}, "move it away, or set worktree_base to another folder", []walk{moveAway("the w"), nil}, elsewhere},
		{"the root", func(t *testing.T, r *Repo) func() error {
			return owned(r, filepath.Base(r.Root), "n", "o")
		}, "set worktree_base to another folder", []walk{nil}, elsewhere},
		{"another repository's", func(t *testing.T, r *Repo) func() error {
			sh(t, newRepo(t).Root, "worktree", "add", "-q", "-b", "theirs", beside(r, "the w"))
			return owned(r, "the w", "n", "o")
		}, "set another session name or worktree_base", []walk{nil}, elsewhere},
		{"moved by hand", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the old"), Branch: "n", Owner: "o"})
			must(t, os.Rename(tree.Path, beside(r, "the w")))
			return owned(r, "the w", "n", "o")
		}, "git worktree repair -- PATH", []walk{literally}, nil},
		{"locked and missing", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			sh(t, r.Root, "worktree", "lock", tree.Path)
			must(t, os.RemoveAll(tree.Path))
			return owned(r, "the w", "n", "o")
		}, "git worktree unlock -- PATH", []walk{literally}, nil},
		{"locked and begun again", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			sh(t, r.Root, "worktree", "lock", tree.Path)
			return func() error {
				_, err := r.Lend(context.Background(), LendSpec{Path: tree.Path, Branch: "n", Start: r.head(), Owner: "o", Fresh: true})
				return err
			}
		}, "git worktree unlock -- PATH", []walk{literally}, nil},
		{"locked and removed", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			sh(t, r.Root, "worktree", "lock", tree.Path)
			return func() error { _, err := r.Remove(context.Background(), tree.Path, RemoveSpec{}); return err }
		}, "git worktree unlock -- PATH", []walk{literally}, nil},
		{"checked out elsewhere", func(t *testing.T, r *Repo) func() error {
			sh(t, r.Root, "worktree", "add", "-q", "-b", "n", beside(r, "the mine"))
			return owned(r, "the w", "n", "o")
		}, "git -C PATH switch --detach, or give the node another branch", []walk{literally, nil},
			func(t *testing.T, r *Repo) error { return owned(r, "the w", "m", "o")() }},
		{"on another branch", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			sh(t, tree.Path, "switch", "-q", "-c", "mine")
			return owned(r, "the w", "n", "o")
		}, "git -C PATH switch n, or --fresh, which saves what is there first", []walk{literally, nil}, func(t *testing.T, r *Repo) error {
			_, err := r.Lend(t.Context(), LendSpec{Path: beside(r, "the w"), Branch: "n", Start: r.head(), Owner: "o", Fresh: true})
			return err
		}},
		{"on another branch, without --fresh", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			sh(t, tree.Path, "switch", "-q", "-c", "mine")
			return standing(r, "n")
		}, "git -C PATH switch n", []walk{literally}, nil},
		{"on another branch and dirty", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			commit(t, tree.Path, "n", "a.txt", "of n")
			sh(t, tree.Path, "switch", "-q", "-c", "mine", "main")
			write(t, tree.Path, "a.txt", "changed")
			write(t, tree.Path, "new.txt", "new")
			return standing(r, "n")
		}, "git -C PATH add -A && git -C PATH commit -m 'what was left' && git -C PATH switch n", []walk{kept}, nil},
		{"on another branch, and its own is gone", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			sh(t, tree.Path, "switch", "-q", "-c", "mine")
			sh(t, tree.Path, "branch", "-q", "-D", "n")
			return standing(r, "n")
		}, "git -C PATH switch -c n PATH", []walk{literally}, nil},
		{"on no branch and dirty", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			sh(t, tree.Path, "switch", "-q", "--detach")
			commit(t, tree.Path, "mine", "a.txt", "mine")
			write(t, tree.Path, "new.txt", "new")
			return standing(r, "n")
		}, "git -C PATH switch -c NAME && git -C PATH add -A && git -C PATH commit -m 'what was left' && git -C PATH switch n", []walk{kept}, nil},
		{"on another branch, in a merge", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			sh(t, tree.Path, "switch", "-q", "-c", "mine")
			other := branchWith(t, r, "other", head(t, r), "f.txt", "other")
			commit(t, tree.Path, "mine", "f.txt", "mine")
			try(tree.Path, "merge", other.Commit)
			return standing(r, "n")
		}, "end the merge there, then git -C PATH add -A && git -C PATH commit -m 'what was left' && git -C PATH switch n", []walk{func(t *testing.T, r *Repo, _ string) {
			sh(t, beside(r, "the w"), "merge", "--abort")
			sh(t, beside(r, "the w"), "switch", "-q", "n")
		}}, nil},
		{"left dirty by another, without --fresh", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "other"})
			write(t, tree.Path, "new.txt", "new")
			return standing(r, "n")
		}, "git -C PATH add -A && git -C PATH commit -m 'what was left'", []walk{literally}, nil},
		{"not detached", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "other"})
			_ = tree
			return owned(r, "the w", "", "o")
		}, "git -C PATH switch --detach, or --fresh, which saves what is there first", []walk{literally}, nil},
		{"left dirty by another", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "other"})
			write(t, tree.Path, "new.txt", "new")
			write(t, tree.Path, "a.txt", "changed")
			return owned(r, "the w", "n", "o")
		}, "commit it (git -C PATH add -A && git -C PATH commit), or remove the worktree with cmux agents cleanup, or --fresh; both save it first",
			[]walk{literally, func(t *testing.T, r *Repo, _ string) {
				if saved, err := r.Remove(t.Context(), beside(r, "the w"), RemoveSpec{}); err != nil || saved == nil { // as cleanup does
					t.Fatal(saved, err)
				}
			}, nil}, func(t *testing.T, r *Repo) error {
				_, err := r.Lend(t.Context(), LendSpec{Path: beside(r, "the w"), Branch: "n", Start: r.head(), Owner: "o", Fresh: true})
				return err
			}},
		{"on a commit of nobody's", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Owner: "other", Start: head(t, r)})
			commit(t, tree.Path, "mine", "mine.txt", "x")
			return owned(r, "the w", "", "o")
		}, "git -C PATH branch NAME, or --fresh, which saves it first", []walk{literally}, nil},
		{"in the middle of a merge", func(t *testing.T, r *Repo) func() error {
			base := head(t, r)
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			commit(t, tree.Path, "mine", "f.txt", "mine")
			try(tree.Path, "merge", branchWith(t, r, "other", base, "f.txt", "other").Commit)
			dep := branchWith(t, r, "dep", base, "dep.txt", "dep")
			return func() error {
				_, err := r.Lend(context.Background(), LendSpec{Path: tree.Path, Branch: "n", Start: base, Contributions: []merge.Tip{dep}, Owner: "o"})
				return err
			}
		}, "end it (git -C PATH merge --continue) and commit", []walk{func(t *testing.T, r *Repo, _ string) {
			write(t, beside(r, "the w"), "f.txt", "both")
			sh(t, beside(r, "the w"), "add", "-A")
			sh(t, beside(r, "the w"), "-c", "core.editor=true", "merge", "--continue")
		}}, nil},
		{"a large file", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			f, err := os.Create(filepath.Join(tree.Path, "large"))
			must(t, err)
			must(t, errors.Join(f.Truncate(51<<20), f.Close()))
			return func() error { _, err := r.Remove(context.Background(), tree.Path, RemoveSpec{}); return err }
		}, "move it out of the worktree, or commit it", []walk{moveAway("the w/large"), func(t *testing.T, r *Repo, _ string) { commit(t, beside(r, "the w"), "large") }}, nil},
		{"a nested repository", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			must(t, os.Rename(newRepo(t).Root, filepath.Join(tree.Path, "nested")))
			return func() error { _, err := r.Remove(context.Background(), tree.Path, RemoveSpec{}); return err }
		}, "move it out of the worktree", []walk{moveAway("the w/nested")}, nil},
		{"another's folder", func(t *testing.T, r *Repo) func() error {
			write(t, beside(r, "the w"), "x", "x")
			return func() error { _, err := r.Remove(context.Background(), beside(r, "the w"), RemoveSpec{}); return err }
		}, "git worktree list", []walk{literally}, func(*testing.T, *Repo) error { return nil }},
		{"no such snapshot", func(t *testing.T, r *Repo) func() error {
			return func() error { _, err := r.FindSnapshot(context.Background(), "none"); return err }
		}, "cmux snapshots list", []walk{nil}, func(t *testing.T, r *Repo) error { _, err := r.Snapshots(t.Context()); return err }},
		{"no such base", func(t *testing.T, r *Repo) func() error {
			return func() error { _, err := r.Base(context.Background(), "nowhere"); return err }
		}, "git branch --all, git tag", []walk{func(t *testing.T, r *Repo, try string) {
			for cmd := range strings.SplitSeq(try, ", ") {
				literally(t, r, cmd)
			}
		}}, func(t *testing.T, r *Repo) error { _, err := r.Base(t.Context(), "main"); return err }},
		{"no repository", func(t *testing.T, r *Repo) func() error {
			must(t, os.RemoveAll(filepath.Join(r.Root, ".git")))
			return func() error { _, err := Open(context.Background(), r.Root); return err }
		}, "cd into a repository, or: git init && git add -A && git commit --allow-empty -m 'first commit'", []walk{func(t *testing.T, r *Repo, try string) {
			_, try, _ = strings.Cut(try, "or: ")
			literally(t, r, try)
		}}, nil},
		{"no commit", func(t *testing.T, r *Repo) func() error {
			must(t, os.RemoveAll(filepath.Join(r.Root, ".git")))
			sh(t, r.Root, "init", "-q")
			return func() error { _, err := Open(context.Background(), r.Root); return err }
		}, "git add -A && git commit --allow-empty -m 'first commit'", []walk{literally}, nil},
		{"nothing to commit", func(t *testing.T, r *Repo) func() error {
			must(t, os.RemoveAll(r.Root))
			must(t, os.Mkdir(r.Root, 0o777))
			sh(t, r.Root, "init", "-q")
			return func() error { _, err := Open(context.Background(), r.Root); return err }
		}, "git add -A && git commit --allow-empty -m 'first commit'", []walk{literally}, nil},
		{"a branch without commits", func(t *testing.T, r *Repo) func() error {
			sh(t, r.Root, "worktree", "add", "-q", "--detach", beside(r, "the w"))
			sh(t, beside(r, "the w"), "switch", "-q", "--orphan", "fresh")
			return func() error { _, _, err := r.Here(context.Background(), beside(r, "the w")); return err }
		}, "git -C PATH add -A && git -C PATH commit --allow-empty -m 'first commit', or --base BRANCH", []walk{literally, nil},
			func(t *testing.T, r *Repo) error {
				_, err := r.BaseIn(t.Context(), beside(r, "the w"), "main")
				return err
			}},
		{"bare", func(t *testing.T, r *Repo) func() error {
			sh(t, r.Root, "clone", "-q", "--bare", ".", beside(r, "bare.git"))
			return func() error { _, err := Open(context.Background(), beside(r, "bare.git")); return err }
		}, "git worktree add PATH main && cd PATH", []walk{func(t *testing.T, r *Repo, try string) {
			literally(t, r, "cd "+beside(r, "bare.git")+" && "+try)
		}}, func(t *testing.T, r *Repo) error { _, err := Open(t.Context(), beside(r, "main")); return err }},
		{"a setup that fails", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			return func() error {
				return r.Prepare(context.Background(), tree.Path, tree.GitDir, prepare.Spec{Setup: []string{"test -e mended"}, Env: os.Environ()})
			}
		}, "run it there by hand, fix it, and retry the node", []walk{func(t *testing.T, r *Repo, _ string) { write(t, beside(r, "the w"), "mended", "") }}, nil},
		{"a pattern that leads out", func(t *testing.T, r *Repo) func() error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			return func() error {
				return r.Prepare(context.Background(), tree.Path, tree.GitDir, prepare.Spec{Copy: []string{"../*"}, Env: os.Environ()})
			}
		}, "a pattern below PATH répo", []walk{nil}, func(t *testing.T, r *Repo) error {
			tree := lend(t, r, LendSpec{Path: beside(r, "the w"), Branch: "n", Owner: "o"})
			return r.Prepare(t.Context(), tree.Path, tree.GitDir, prepare.Spec{Copy: []string{"*.txt"}, Env: os.Environ()})
		}},
	} {
		for k := range w.follow {
			name := w.name
			if len(w.follow) > 1 {
				name += " " + string(rune('1'+k))
			}
			t.Run(name, func(t *testing.T) {
				r := newRepo(t)
				again := w.meet(t, r)
				err := again()
				var h *hint.Error
				if !errors.As(err, &h) {
					t.Fatalf("met: %v, want a hint", err)
				}
				want := "^" + strings.ReplaceAll(regexp.QuoteMeta(w.try), "PATH", `('[^']+'|\S+)`) + "$"
				if !regexp.MustCompile(want).MatchString(h.Try) {
					t.Fatalf("the way out is %q, want %q", h.Try, w.try)
				}
				if f := w.follow[k]; f != nil {
					f(t, r, h.Try)
				}
				if k == len(w.follow)-1 && w.other != nil {
					again = func() error { return w.other(t, r) }
				}
				if err := again(); err != nil {
					t.Errorf("%q was followed, and then: %v", h.Try, err)
				}
			})
		}
	}
}

// head is the commit of the main worktree.
func (r *Repo) head() string {
	commit, _ := r.Resolve(context.Background(), "HEAD")
	return commit
}
