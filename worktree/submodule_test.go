package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/merge"
	"cmux/worktree/submodule"
)

// withSubmodule adds an initialised submodule "lib/sub" whose origin is then
// taken away, so that nothing but the local objects can serve it.
func withSubmodule(t *testing.T, r *Repo) {
	t.Helper()
	origin := filepath.Join(t.TempDir(), "origin")
	if err := os.Mkdir(origin, 0o777); err != nil {
		t.Fatal(err)
	}
	sh(t, origin, "init", "-q", "-b", "main")
	commit(t, origin, "sub", "sub.txt", "sub\n")
	sh(t, r.Root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", "the sub", origin, "lib/sub")
	// A commit that only the main worktree's submodule has.
	commit(t, filepath.Join(r.Root, "lib/sub"), "local", "local.txt", "local\n")
	commit(t, r.Root, "with submodule")
	if err := os.RemoveAll(origin); err != nil {
		t.Fatal(err)
	}
}

func TestLendChecksSubmodulesOut(t *testing.T) {
	r := newRepo(t)
	withSubmodule(t, r)
	url := sh(t, r.Root, "-C", "lib/sub", "config", "remote.origin.url")
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	if read(t, tree.Path, "lib/sub/local.txt") != "local\n" {
		t.Error("not checked out")
	}
	if got := sh(t, tree.Path, "-C", "lib/sub", "config", "remote.origin.url"); got != url {
		t.Errorf("origin %q, want %q", got, url)
	}
	if got := sh(t, r.Root, "config", "submodule.the sub.url"); got != url {
		t.Errorf("the main worktree's configuration says %q now", got)
	}
	clean(t, tree.Path, tree.Head)

	write(t, tree.Path, "lib/sub/local.txt", "changed\n")
	_, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
	var h *hint.Error
	if !errors.Is(err, ErrUnsavable) || !strings.Contains(err.Error(), "lib/sub") || !errors.As(err, &h) {
		t.Fatalf("changes in the submodule: %v", err)
	}
	literally(t, r, h.Try)
	inside := sh(t, filepath.Join(tree.Path, "lib/sub"), "rev-parse", "HEAD")
	// The snapshot holds where it is, the project's own copy the commit.
	snap, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
	if err != nil || snap == nil {
		t.Fatalf("%v, %v", snap, err)
	}
	if got := sh(t, r.Root, "-C", "lib/sub", "rev-parse", "refs/cmux/kept/"+inside); got != inside {
		t.Errorf("kept %q", got)
	}
	back := must[*Tree](t)(r.Restore(t.Context(), snap, RestoreSpec{}))
	if got := sh(t, back.Path, "-C", "lib/sub", "rev-parse", "HEAD"); got != inside {
		t.Errorf("restored at %q", got)
	}
}

// bumped is a worktree whose agent has committed in the submodule and taken the
// commit in.
func bumped(t *testing.T, r *Repo, name string) (tree *Tree, inside string) {
	t.Helper()
	tree = lend(t, r, LendSpec{Path: beside(r, name), Branch: name, Owner: name})
	inside = commit(t, filepath.Join(tree.Path, "lib/sub"), "by "+name, "by.txt", name+"\n")
	commit(t, tree.Path, "bump by "+name)
	return tree, inside
}

// Wherever cmux checks a commit out, its submodules are what it says, though the
// submodule's commit is only in another worktree.
func TestSubmodulesFollow(t *testing.T) {
	r := newRepo(t)
	withSubmodule(t, r)
	base := head(t, r)
	late := lend(t, r, LendSpec{Path: beside(r, "late"), Branch: "late", Owner: "late"})
	team := lend(t, r, LendSpec{Path: beside(r, "team"), Branch: "team", Owner: "team"})
	_, inside := bumped(t, r, "b")
	at := func(dir, want string) {
		t.Helper()
		if got := sh(t, dir, "-C", "lib/sub", "rev-parse", "HEAD"); got != want {
			t.Errorf("%s: the submodule is at %.8s, want %.8s", dir, got, want)
		}
		if got := sh(t, dir, "status", "--short"); got != "" {
			t.Errorf("%s: %s", dir, got)
		}
	}
	tip := merge.Tip{Name: "b", Commit: sh(t, r.Root, "rev-parse", "b")}

	dependent := lend(t, r, LendSpec{Path: beside(r, "d"), Branch: "d", Start: tip.Commit, Owner: "d"})
	at(dependent.Path, inside)
	at(lend(t, r, LendSpec{Path: late.Path, Branch: "late", Start: base, Owner: "late", Contributions: []merge.Tip{tip}}).Path, inside)
	must[*Snapshot](t)(r.Switch(t.Context(), SwitchSpec{Path: team.Path, Branch: "b2", Start: tip.Commit}))
	at(team.Path, inside)
	must[*Snapshot](t)(r.Switch(t.Context(), SwitchSpec{Path: team.Path, Branch: "old", Start: base}))
	at(team.Path, sh(t, r.Root, "rev-parse", base+":lib/sub"))

	other := branchWith(t, r, "other", base, "o.txt", "o\n")
	var saw []string
	verify := func(_ context.Context, dir, branch string) error {
		saw = append(saw, branch+" "+sh(t, dir, "-C", "lib/sub", "rev-parse", "HEAD"))
		if branch == "bad" {
			return errors.New("no")
		}
		return nil
	}
	bad, _ := bumped(t, r, "bad")
	sh(t, bad.Path, "reset", "-q", "--hard", "b")
	sh(t, filepath.Join(bad.Path, "lib/sub"), "fetch", "-q", filepath.Join(r.GitDir, "worktrees/b/modules/the sub"), inside)
	sh(t, filepath.Join(bad.Path, "lib/sub"), "checkout", "-q", inside)
	commit(t, filepath.Join(bad.Path, "lib/sub"), "worse", "worse", "")
	commit(t, bad.Path, "bump again")
	spec := MergeSpec{Path: beside(r, "m"), Target: "main", StateFile: filepath.Join(t.TempDir(), "s"), Verify: verify, Branches: []merge.Tip{other, tip, {Name: "bad"}}}
	var refused *VerifyError
	if _, err := r.MergeInto(t.Context(), spec); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	at(spec.Path, inside) // taken back
	spec.Branches = spec.Branches[:2]
	if _, err := r.MergeInto(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if want := "b " + inside; !slices.Contains(saw, want) {
		t.Errorf("verified %q", saw)
	}
	at(r.Root, inside)

	// Cleaned up, the commits are there for whoever starts later.
	for _, name := range []string{"b", "bad", "d", "late", "team"} {
		if _, err := r.Remove(t.Context(), beside(r, name), RemoveSpec{}); err != nil {
			t.Error(err)
		}
	}
	at(lend(t, r, LendSpec{Path: beside(r, "again"), Branch: "again", Start: tip.Commit, Owner: "x"}).Path, inside)
}

// Two branches want two commits of one submodule: the merge's tree has both, and who
// merges them there goes on.
func TestSubmoduleOfTwoMinds(t *testing.T) {
	r := newRepo(t)
	withSubmodule(t, r)
	spec := MergeSpec{Path: beside(r, "m"), Target: "main", StateFile: filepath.Join(t.TempDir(), "s")}
	var inside []string
	for _, name := range []string{"a", "b"} {
		tree := lend(t, r, LendSpec{Path: beside(r, name), Branch: name, Owner: name})
		inside = append(inside, commit(t, filepath.Join(tree.Path, "lib/sub"), "by "+name, name, name))
		spec.Branches = append(spec.Branches, merge.Tip{Name: name, Commit: commit(t, tree.Path, "bump by "+name)})
	}
	var conflict *merge.ConflictError
	if _, err := r.MergeInto(t.Context(), spec); !errors.As(err, &conflict) || !slices.Equal(conflict.Submodules, []merge.SubmoduleConflict{{Path: "lib/sub", Commit: inside[1]}}) {
		t.Fatalf("%v, %+v", err, conflict)
	}
	if _, err := (git.Command{Dir: spec.Path, Args: []string{"merge", "-q", "b"}}).Run(t.Context()); err == nil {
		t.Fatal("no conflict")
	}
	sub := filepath.Join(spec.Path, "lib/sub")
	sh(t, sub, "merge", "-q", "-m", "both", inside[1])
	commit(t, spec.Path, "both")
	if _, err := r.MergeInto(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	for _, id := range inside {
		sh(t, filepath.Join(r.Root, "lib/sub"), "merge-base", "--is-ancestor", id, "HEAD")
	}
}

// What an agent left in a submodule is its own: the next attempt goes on there.
func TestSubmodulesInWorkStay(t *testing.T) {
	r := newRepo(t)
	withSubmodule(t, r)
	spec := LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"}
	tree := lend(t, r, spec)
	inside := commit(t, filepath.Join(tree.Path, "lib/sub"), "unfinished", "u", "")
	lend(t, r, spec)
	if got := sh(t, tree.Path, "-C", "lib/sub", "rev-parse", "HEAD"); got != inside {
		t.Error("the agent's commit was left")
	}
	sh(t, tree.Path, "add", "-A")
	id := must[string](t)(r.CommitAll(t.Context(), tree.Path, "bump"))
	if got := sh(t, r.Root, "rev-parse", id+":lib/sub"); got != inside {
		t.Error("the bump was not committed")
	}
	// A person's submodule that is elsewhere stays, too.
	elsewhere := commit(t, filepath.Join(r.Root, "lib/sub"), "mine", "mine", "")
	var notes []string
	ctx := git.WithNotes(t.Context(), func(s string) { notes = append(notes, s) })
	if _, _, err := r.Join(ctx, "main", merge.Tip{Name: "w", Commit: id}); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, r.Root, "-C", "lib/sub", "rev-parse", "HEAD"); got != elsewhere {
		t.Error("the person's commit was left")
	}
}

// A submodule in a submodule follows as well, and one that an agent added is had
// by those after it.
func TestSubmodulesNestedAndNew(t *testing.T) {
	t.Setenv("GIT_ALLOW_PROTOCOL", "file")
	r := newRepo(t)
	inner, outer := beside(r, "inner"), beside(r, "outer")
	for _, dir := range []string{inner, outer} {
		sh(t, filepath.Dir(dir), "init", "-q", "-b", "main", dir)
		commit(t, dir, "first", "f", dir+"\n")
	}
	sh(t, outer, "submodule", "--quiet", "add", inner, "in")
	commit(t, outer, "inner")
	sh(t, r.Root, "submodule", "--quiet", "add", outer, "out")
	sh(t, r.Root, "submodule", "--quiet", "update", "--init", "--recursive")
	commit(t, r.Root, "outer")

	b := lend(t, r, LendSpec{Path: beside(r, "b"), Branch: "b", Owner: "b"})
	deep := commit(t, filepath.Join(b.Path, "out/in"), "deep", "deep", "")
	commit(t, filepath.Join(b.Path, "out"), "deep")
	sh(t, b.Path, "submodule", "--quiet", "add", "--name", "more", inner, "more")
	added := commit(t, filepath.Join(b.Path, "more"), "added", "added", "")
	start := commit(t, b.Path, "all of it")
	for _, name := range []string{"d", "e"} {
		d := lend(t, r, LendSpec{Path: beside(r, name), Branch: name, Start: start, Owner: name})
		for path, want := range map[string]string{"out/in": deep, "more": added} {
			if got := sh(t, d.Path, "-C", path, "rev-parse", "HEAD"); got != want {
				t.Errorf("%s of %s is at %.8s, want %.8s", path, name, got, want)
			}
		}
		clean(t, d.Path, start)
		if _, err := r.Remove(t.Context(), d.Path, RemoveSpec{}); err != nil {
			t.Error(err)
		}
		if name == "d" {
			if _, err := r.Remove(t.Context(), b.Path, RemoveSpec{}); err != nil {
				t.Error(err)
			}
		}
	}
	// The person takes it over as any submodule.
	sh(t, r.Root, "merge", "-q", "--ff-only", "b")
	sh(t, r.Root, "submodule", "--quiet", "update", "--init", "more")
	if got := sh(t, r.Root, "-C", "more", "rev-parse", "HEAD"); got != added {
		t.Errorf("more is at %s", got)
	}
}

// A submodule that a commit takes away, or replaces by a folder, leaves no repository
// behind where the commit is checked out, the person's own checkout among them. What
// somebody changed in it stays.
func TestSubmoduleThatIsNoMore(t *testing.T) {
	for _, c := range []struct{ name, change, left, gone string }{
		{"a folder", "git rm -q lib/sub; mkdir -p lib/sub; echo own > lib/sub/own; echo mine > lib/sub/sub.txt", "lib/sub/own", "lib/sub/local.txt"},
		{"nothing", "git rm -q lib/sub", "", "lib"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepo(t)
			withSubmodule(t, r)
			base := head(t, r)
			a := lend(t, r, LendSpec{Path: beside(r, "a"), Branch: "a", Owner: "a"})
			m := lend(t, r, LendSpec{Path: beside(r, "m"), Branch: "m", Owner: "m"})
			sh(t, a.Path, "-c", "alias.do=!"+c.change+"; git add -A", "do")
			tip := merge.Tip{Name: "a", Commit: commit(t, a.Path, "no more")}

			lend(t, r, LendSpec{Path: m.Path, Branch: "m", Start: base, Owner: "m", Contributions: []merge.Tip{tip}})
			if _, _, err := r.Join(t.Context(), "main", tip); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{m.Path, r.Root} {
				if got := sh(t, dir, "status", "--short"); got != "" || submodule.IsRepository(filepath.Join(dir, "lib/sub")) {
					t.Errorf("%s: %s", dir, got)
				}
				if c.left != "" && read(t, dir, c.left) != "own\n" || git.There(filepath.Join(dir, c.gone)) {
					t.Errorf("%s: not as committed", dir)
				}
			}
			if _, err := r.Remove(t.Context(), m.Path, RemoveSpec{}); err != nil {
				t.Error(err)
			}
		})
	}
	r := newRepo(t)
	withSubmodule(t, r)
	a := lend(t, r, LendSpec{Path: beside(r, "a"), Branch: "a", Owner: "a"})
	sh(t, a.Path, "rm", "-q", "lib/sub")
	gone := merge.Tip{Name: "a", Commit: commit(t, a.Path, "no more")}
	write(t, r.Root, "lib/sub/local.txt", "somebody's\n")
	var notes []string
	ctx := git.WithNotes(t.Context(), func(s string) { notes = append(notes, s) })
	if _, _, err := r.Join(ctx, "main", gone); err != nil {
		t.Fatal(err)
	}
	if read(t, r.Root, "lib/sub/local.txt") != "somebody's\n" || !strings.Contains(strings.Join(notes, "\n"), "its repository stays there, as local.txt was changed in it") {
		t.Errorf("notes %q", notes)
	}
}

// A submodule that the main worktree does not have is empty in a worktree too, which
// is told once, with the command that changes it.
func TestSubmoduleThatIsNotThere(t *testing.T) {
	t.Setenv("GIT_ALLOW_PROTOCOL", "file")
	r := newRepo(t)
	lib := beside(r, "lib")
	sh(t, filepath.Dir(lib), "init", "-q", "-b", "main", lib)
	commit(t, lib, "first", "f", "x")
	sh(t, r.Root, "submodule", "--quiet", "add", lib, "vendor/lib")
	commit(t, r.Root, "with submodule")
	sh(t, r.Root, "submodule", "--quiet", "deinit", "--all")
	if err := os.RemoveAll(filepath.Join(r.GitDir, "modules")); err != nil {
		t.Fatal(err)
	}
	var notes []string
	ctx := git.WithNotes(t.Context(), func(s string) { notes = append(notes, s) })
	spec := LendSpec{Path: beside(r, "w"), Branch: "w", Start: head(t, r), Owner: "o"}
	for range 2 {
		must[*Tree](t)(r.Lend(ctx, spec))
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "vendor/lib") {
		t.Fatalf("notes %q", notes)
	}
	_, way, _ := strings.Cut(notes[0], "to have it: ")
	way, _, _ = strings.Cut(way, ", then retry")
	sh(t, r.Root, "-c", "alias.do=!"+way, "do")
	must[*Tree](t)(r.Lend(ctx, spec))
	if read(t, spec.Path, "vendor/lib/f") != "x" {
		t.Error("not checked out")
	}
}

func TestLendSaysThatASubmoduleFails(t *testing.T) {
	r := newRepo(t)
	withSubmodule(t, r)
	sub := filepath.Join(r.Root, "lib/sub")
	old := sh(t, sub, "rev-parse", "HEAD")
	gone := commit(t, sub, "gone")
	theirs := t.TempDir()
	sh(t, theirs, "clone", "-q", "--no-local", sub, theirs)
	start := commit(t, r.Root, "points to a commit that will be gone")
	sh(t, sub, "reset", "-q", "--hard", old)
	sh(t, sub, "reflog", "expire", "--expire=all", "--all")
	sh(t, sub, "gc", "-q", "--prune=now")
	_, err := r.Lend(t.Context(), LendSpec{Path: beside(r, "w"), Branch: "w", Start: start, Owner: "o"})
	var h *hint.Error
	if !errors.Is(err, submodule.ErrCheckout) || !errors.As(err, &h) || !strings.Contains(h.Try, "push that commit") {
		t.Errorf("%v", err)
	}
	// Every time, and nothing is left that a later attempt would take for work.
	if _, err := os.Lstat(beside(r, "w")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the worktree is there: %v", err)
	}
	if _, err = r.Lend(t.Context(), LendSpec{Path: beside(r, "w"), Branch: "w", Start: start, Owner: "o"}); !errors.Is(err, submodule.ErrCheckout) {
		t.Errorf("%v", err)
	}
	// Whoever has the commit follows the hint: here it is fetched from their clone.
	sh(t, sub, "-c", "protocol.file.allow=always", "fetch", "-q", theirs, "HEAD")
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Start: start, Owner: "o"})
	if got := sh(t, tree.Path, "-C", "lib/sub", "rev-parse", "HEAD"); got != gone {
		t.Errorf("the submodule is at %s", got)
	}
}
