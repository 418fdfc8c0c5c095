package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/worktree/git"
	"cmux/worktree/merge"
)

// clean fails unless the tree is clean at the commit.
func clean(t *testing.T, dir, commit string) {
	t.Helper()
	if got := sh(t, dir, "rev-parse", "HEAD") + sh(t, dir, "status", "--porcelain"); got != commit {
		t.Errorf("%s is at %s, want clean at %s", dir, got, commit)
	}
}

func thereIs(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

func TestMergeQueueInALentTree(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	a := branchWith(t, r, "a", base, "shared.txt", "a\n")
	b := branchWith(t, r, "b", base, "b.txt", "b")
	c := branchWith(t, r, "c", base, "shared.txt", "c\n")
	tree := lend(t, r, LendSpec{Path: beside(r, "m"), Branch: "m", Owner: "o"})
	var verified []string
	broken := errors.New("broken")
	fail := "b"
	s := MergeSpec{Path: tree.Path, Branches: []merge.Tip{a, b, {Name: "c"}}, Verify: func(_ context.Context, dir, branch string) error {
		verified = append(verified, branch)
		write(t, dir, "dropping", "x")
		write(t, dir, "a.txt", "changed by verify")
		if branch == fail {
			return broken
		}
		return nil
	}}
	_, err := r.MergeInto(t.Context(), s)
	var v *VerifyError
	if !errors.As(err, &v) || v.Branch != "b" || !errors.Is(err, broken) {
		t.Fatalf("%v", err)
	}
	clean(t, tree.Path, a.Commit)

	fail = ""
	_, err = r.MergeInto(t.Context(), s)
	var conflict *merge.ConflictError
	if !errors.As(err, &conflict) || strings.Join(conflict.Files, " ") != "shared.txt" || strings.Join(conflict.Tips, " ") != "c a" {
		t.Fatalf("%v", err)
	}
	good := sh(t, tree.Path, "rev-parse", "HEAD")
	clean(t, tree.Path, good)
	if files := sh(t, tree.Path, "ls-tree", "--name-only", "HEAD"); files != ".gitignore\na.txt\nb.txt\ndir\nshared.txt" {
		t.Error(files)
	}

	// The person mends c, and the same call goes on there.
	fix := filepath.Join(t.TempDir(), "fix")
	sh(t, r.Root, "worktree", "add", "-q", fix, "c")
	try(fix, "merge", "-q", good)
	commit(t, fix, "mended", "shared.txt", "both\n")
	res, err := r.MergeInto(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(verified, " ") != "a b b c" || strings.Join(res.Skipped, " ") != "a b" || res.Start != base || strings.Join(res.Merged, " ") != "a b c" {
		t.Errorf("verified %v, %+v", verified, res)
	}
	clean(t, tree.Path, res.Commit)
	if read(t, tree.Path, "shared.txt") != "both\n" {
		t.Error("the mended branch is not in")
	}
	if err := r.AbortMerge(t.Context(), s); !errors.Is(err, ErrNoMerge) {
		t.Errorf("nothing to abort: %v", err)
	}
	_ = c
}

// What needs several branches passes after the last of them. What passed before a
// merge is broken by it.
func TestMergeQueueWithAVerifyThatNeedsAll(t *testing.T) {
	for _, c := range []struct {
		name     string
		passes   string // files that must be there
		never    string // files that must not be there
		broke    string
		verified string
		left     string // files in the tree at the end
	}{
		{"both", "a1 b1", "", "", "a - b c", "a1 b1 c1"},
		{"all three", "a1 b1 c1", "", "", "a - b c", "a1 b1 c1"},
		{"never", "d1", "", "c", "a - b c", "a1 b1"},
		{"the first breaks it", "", "a1", "a", "a -", ""},
		{"the second breaks it", "a1", "b1", "b", "a b", "a1"},
		{"the last breaks what the second mended", "b1", "c1", "c", "a - b c", "a1 b1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepo(t)
			base := head(t, r)
			s := MergeSpec{Path: lend(t, r, LendSpec{Path: beside(r, "m"), Branch: "m", Owner: "o"}).Path}
			for _, name := range []string{"a", "b", "c"} {
				s.Branches = append(s.Branches, branchWith(t, r, name, base, name+"1", name))
			}
			var verified []string
			verify := func(_ context.Context, dir, branch string) error {
				verified = append(verified, cmp.Or(branch, "-"))
				for _, f := range strings.Fields(c.passes) {
					if !thereIs(dir, f) {
						return fmt.Errorf("no %s", f)
					}
				}
				for _, f := range strings.Fields(c.never) {
					if thereIs(dir, f) {
						return fmt.Errorf("%s is there", f)
					}
				}
				return nil
			}
			s.Verify = verify
			_, err := r.MergeInto(t.Context(), s)
			var refused *VerifyError
			if c.broke == "" && err != nil || c.broke != "" && (!errors.As(err, &refused) || refused.Branch != c.broke) {
				t.Errorf("ended with %v", err)
			}
			if got := strings.Join(verified, " "); got != c.verified {
				t.Errorf("verified %s, want %s", got, c.verified)
			}
			if left := strings.Join(strings.Fields(sh(t, s.Path, "ls-files", "*1")), " "); left != c.left {
				t.Errorf("left %q, want %q", left, c.left)
			}
			clean(t, s.Path, sh(t, s.Path, "rev-parse", "HEAD"))
			if c.broke == "" {
				return
			}
			// The same call says the same, also in a later process.
			if _, again := r.MergeInto(t.Context(), s); !errors.As(again, &refused) || refused.Branch != c.broke {
				t.Errorf("again: %v", again)
			}
			if left := strings.Join(strings.Fields(sh(t, s.Path, "ls-files", "*1")), " "); left != c.left {
				t.Errorf("left again %q, want %q", left, c.left)
			}
			if err := r.AbortMerge(t.Context(), s); err != nil {
				t.Error(err)
			}
			clean(t, s.Path, base)
		})
	}
}

// A process that ends behind a merge that was not proven has the next one prove it.
func TestMergeQueueProvesLater(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	s := MergeSpec{Path: lend(t, r, LendSpec{Path: beside(r, "m"), Branch: "m", Owner: "o"}).Path}
	for _, name := range []string{"a", "b"} {
		s.Branches = append(s.Branches, branchWith(t, r, name, base, name+"1", name))
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Verify = func(ctx context.Context, _, branch string) error {
		if branch == "b" {
			cancel() // as a killed process
			return ctx.Err()
		}
		return errors.New("no b1")
	}
	if _, err := r.MergeInto(ctx, s); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.Branches = s.Branches[:1] // b is not asked for any more
	s.Verify = func(context.Context, string, string) error { return errors.New("no b1") }
	var refused *VerifyError
	if _, err := r.MergeInto(t.Context(), s); !errors.As(err, &refused) || refused.Branch != "a" {
		t.Errorf("a merge that was never proven passed: %v", err)
	}
	clean(t, s.Path, base)
}

func TestMergeQueueInterruptedAndAborted(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	a := branchWith(t, r, "a", base, "a1", "a")
	b := branchWith(t, r, "b", base, "b1", "b")
	tree := lend(t, r, LendSpec{Path: beside(r, "m"), Branch: "m", Owner: "o"})
	ctx, cancel := context.WithCancel(t.Context())
	s := MergeSpec{Path: tree.Path, Branches: []merge.Tip{a, b}, Verify: func(ctx context.Context, _, branch string) error {
		if branch == "b" {
			cancel() // as a killed process: no verdict
		}
		return ctx.Err()
	}}
	if _, err := r.MergeInto(ctx, s); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	var verified []string
	s.Verify = func(_ context.Context, _, branch string) error {
		verified = append(verified, branch)
		return errors.New("no")
	}
	if _, err := r.MergeInto(t.Context(), s); err == nil || strings.Join(verified, " ") != "b" {
		t.Errorf("%v, verified %v: an unverified merge is made again", err, verified)
	}
	clean(t, tree.Path, a.Commit)
	if err := r.AbortMerge(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	clean(t, tree.Path, base)
	if snap := must[*Snapshot](t)(r.FindSnapshot(t.Context(), "m")); snap.Head != a.Commit || snap.Branch != "m" {
		t.Errorf("%+v", snap)
	}
	if got := sh(t, tree.Path, "branch", "--show-current"); got != "m" {
		t.Error(got)
	}
}

func TestMergeQueueIntoABranchCheckedOutAtTheRoot(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	a := branchWith(t, r, "a", base, "a1", "a")
	b := branchWith(t, r, "b", base, "b1", "b", "dir/b.txt", "changed\n")
	write(t, r.Root, "dir/b.txt", "the person's\n")
	write(t, r.Root, "a.txt", "the person's, in nobody's way\n")
	fail := true
	s := MergeSpec{Path: beside(r, "scratch"), Target: "main", Branches: []merge.Tip{a, b}, StateFile: filepath.Join(t.TempDir(), "merge.json"),
		Verify: func(_ context.Context, dir, branch string) error {
			if dir != beside(r, "scratch") {
				t.Errorf("verified in %s", dir)
			}
			if branch == "b" && fail {
				return errors.New("no")
			}
			return nil
		}}
	if _, err := r.MergeInto(t.Context(), s); err == nil {
		t.Fatal("verify was ignored")
	}
	if head(t, r) != base {
		t.Error("the target moved before the end")
	}
	fail = false
	verify := s.Verify
	s.Verify = func(_ context.Context, _, branch string) error {
		t.Errorf("%s is verified, though changes are in its way", branch)
		return nil
	}
	if _, err := r.MergeInto(t.Context(), s); !errors.Is(err, ErrDirty) || !strings.Contains(err.Error(), "dir/b.txt") {
		t.Fatalf("%v", err)
	}
	s.Verify = verify
	if head(t, r) != base || read(t, r.Root, "dir/b.txt") != "the person's\n" {
		t.Error("the person's tree was touched")
	}
	sh(t, r.Root, "checkout", "-q", "dir/b.txt")
	own := commit(t, r.Root, "own") // the target moves meanwhile
	write(t, r.Root, "a.txt", "uncommitted, in nobody's way\n")
	st, err := ReadMergeState(s.StateFile)
	if err != nil || st.Start != base || len(st.Merged) != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	again := must[*Repo](t)(Open(t.Context(), r.Root)) // a later process
	res, err := again.MergeInto(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if head(t, r) != res.Commit || read(t, r.Root, "b1") != "b" || read(t, r.Root, "a.txt") != "uncommitted, in nobody's way\n" {
		t.Errorf("%+v", res)
	}
	sh(t, r.Root, "merge-base", "--is-ancestor", own, "HEAD")
	if _, err := os.Lstat(s.Path); err == nil {
		t.Error("the scratch tree is still there")
	}
	if _, err := os.Lstat(s.StateFile); err == nil {
		t.Error("the state is still there")
	}
}

func TestMergeQueueAbortOfATarget(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	sh(t, r.Root, "branch", "release")
	a := branchWith(t, r, "a", base, "a1", "a")
	b := branchWith(t, r, "b", base, "a1", "b")
	s := MergeSpec{Path: beside(r, "scratch"), Target: "release", Branches: []merge.Tip{a, b}, StateFile: filepath.Join(t.TempDir(), "merge.json")}
	var conflict *merge.ConflictError
	if _, err := r.MergeInto(t.Context(), s); !errors.As(err, &conflict) || conflict.Into != "release" {
		t.Fatal(err)
	}
	if err := r.AbortMerge(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if out := sh(t, r.Root, "worktree", "list"); strings.Contains(out, "\n") {
		t.Error(out)
	}
	for _, gone := range []MergeSpec{
		{Path: s.Path, Target: "mian", StateFile: s.StateFile},
		{Path: s.Path, Target: base, StateFile: s.StateFile}, // a commit is no branch
	} {
		if _, err := r.MergeInto(t.Context(), gone); !errors.Is(err, git.ErrBadRef) {
			t.Errorf("merging into %s: %v", gone.Target, err)
		}
		if err := r.AbortMerge(t.Context(), gone); !errors.Is(err, git.ErrBadRef) {
			t.Errorf("aborting a merge into %s: %v", gone.Target, err)
		}
	}
	s.Branches = []merge.Tip{b}
	if res := must[*MergeResult](t)(r.MergeInto(t.Context(), s)); res.Commit != b.Commit || must[string](t)(r.Tip(t.Context(), "release")) != b.Commit {
		t.Errorf("%+v", res)
	}
}

// What Verify runs is an agent's: it leads the worktree to a repository whose settings name
// a program, and git neither runs that nor loses the way back.
func TestMergeQueueWithAVerifyThatLeadsElsewhere(t *testing.T) {
	for name, lead := range map[string]func(dot, evil string) error{
		"file":   func(dot, evil string) error { return os.WriteFile(dot, []byte("gitdir: "+evil+"\n"), 0o666) },
		"folder": func(dot, evil string) error { return errors.Join(os.Remove(dot), os.Rename(evil, dot)) },
		"gone":   func(dot, _ string) error { return os.Remove(dot) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			base := head(t, r)
			a := branchWith(t, r, "a", base, "a1", "a", ".gitattributes", "* filter=x\n")
			b := branchWith(t, r, "b", base, "b1", "b")
			ran := filepath.Join(t.TempDir(), "ran")
			evil, fail := filepath.Join(t.TempDir(), "evil"), true
			s := MergeSpec{Path: beside(r, "scratch"), Target: "main", Branches: []merge.Tip{a, b}, StateFile: filepath.Join(t.TempDir(), "merge.json"),
				Verify: func(_ context.Context, dir, _ string) error {
					if !thereIs(evil, "config") {
						sh(t, r.Root, "clone", "-q", "--bare", r.Root, evil)
						sh(t, evil, "config", "core.bare", "false")
						sh(t, evil, "config", "core.worktree", dir)
						sh(t, evil, "config", "filter.x.clean", "touch "+ran+"; cat")
						sh(t, evil, "config", "filter.x.smudge", "touch "+ran+"; cat")
						sh(t, evil, "read-tree", a.Commit)
					}
					write(t, dir, "a1", "left")
					if err := lead(filepath.Join(dir, ".git"), evil); err != nil {
						t.Error(err)
					}
					if fail {
						return errors.New("no")
					}
					return nil
				}}
			var v *VerifyError
			if _, err := r.MergeInto(t.Context(), s); !errors.As(err, &v) {
				t.Error(err)
			}
			_ = lead(filepath.Join(s.Path, ".git"), evil) // by what lives on
			fail = false
			if name == "file" { // the target moves once
				if res, err := r.MergeInto(t.Context(), s); err != nil || head(t, r) != res.Commit || thereIs(s.Path, "") {
					t.Error(err)
				}
			} else if err := r.AbortMerge(t.Context(), s); err != nil || thereIs(s.Path, "") {
				t.Error(err)
			}
			if thereIs(ran, "") {
				t.Error("a program of the agent's ran")
			}
		})
	}
}
