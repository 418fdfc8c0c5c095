package worktree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cmux/worktree/git"
	"cmux/worktree/merge"
)

func TestMergeOfADiamondIsOneCommit(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	a := branchWith(t, r, "a", base, "a1", "a")
	b := branchWith(t, r, "b", a.Commit, "b1", "b")
	c := branchWith(t, r, "c", a.Commit, "c1", "c")
	got := must[string](t)(r.Merge(t.Context(), base, []merge.Tip{a, b, c}))
	if n := sh(t, r.Root, "rev-list", "--count", got, "^"+b.Commit, "^"+c.Commit); n != "1" {
		t.Errorf("%s commits beside the contributions, want 1", n)
	}
	if got := sh(t, r.Root, "log", "-1", "--format=%P|%an <%ae>|%s", got); got != b.Commit+" "+c.Commit+"|cmux <cmux@localhost>|Merge b, c" {
		t.Error(got)
	}
	for _, again := range [][]merge.Tip{{b, c}, {b, a, c}, {b, c, c}, {b, {Name: "alias", Commit: b.Commit}, c, a}} {
		if id := must[string](t)(r.Merge(t.Context(), base, again)); id != got {
			t.Errorf("%v gives %s, want the same commit %s", again, id, got)
		}
	}
	if files := sh(t, r.Root, "ls-tree", "--name-only", got); files != ".gitignore\na.txt\na1\nb1\nc1\ndir" {
		t.Errorf("tree %q", files)
	}
}

func TestMergeFastForwards(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	a := branchWith(t, r, "a", base, "a1", "a")
	b := branchWith(t, r, "b", a.Commit, "b1", "b")
	moved := commit(t, r.Root, "moved", "m", "m")
	for _, c := range []struct {
		name, base, want string
		tips             []merge.Tip
	}{
		{"nothing", base, base, nil},
		{"one on an unmoved base", base, a.Commit, []merge.Tip{a}},
		{"a chain", base, b.Commit, []merge.Tip{a, b}},
		{"contained in base", moved, moved, []merge.Tip{{Name: "old", Commit: base}}},
		{"base itself", base, base, []merge.Tip{{Name: "same", Commit: base}}},
	} {
		if got := must[string](t)(r.Merge(t.Context(), c.base, c.tips)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	m := must[string](t)(r.Merge(t.Context(), moved, []merge.Tip{a}))
	if p := sh(t, r.Root, "log", "-1", "--format=%P", m); p != moved+" "+a.Commit {
		t.Errorf("a moved base is the first parent: %s", p)
	}
}

func TestMergeConflictNamesFilesAndTips(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	var tips []merge.Tip
	for i := range 6 {
		tips = append(tips, branchWith(t, r, fmt.Sprint("n", i), base, fmt.Sprint("f", i), "x"))
	}
	tips[1] = branchWith(t, r, "left", base, "a.txt", "left\n", "new\nline", "l")
	tips[4] = branchWith(t, r, "right", base, "a.txt", "right\n", "new\nline", "r")
	_, err := r.Merge(t.Context(), base, tips)
	var e *merge.ConflictError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if strings.Join(e.Files, "|") != "a.txt|new\nline" || strings.Join(e.Tips, "|") != "left|right" {
		t.Errorf("%+v", e)
	}
}

func TestMergeOctopus(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	tips := manyTips(t, r, 60)
	got := must[string](t)(r.Merge(t.Context(), base, tips))
	if n := len(strings.Fields(sh(t, r.Root, "log", "-1", "--format=%P", got))); n != 60 {
		t.Errorf("%d parents", n)
	}
	if n := len(strings.Fields(sh(t, r.Root, "ls-tree", "--name-only", got+":many"))); n != 60 {
		t.Errorf("%d files", n)
	}
}

// manyTips makes n commits on HEAD, each with a file of its own.
func manyTips(t testing.TB, r *Repo, n int) []merge.Tip {
	t.Helper()
	var in strings.Builder
	base := head(t, r)
	for i := range n {
		fmt.Fprintf(&in, "commit refs/heads/many/%d\ncommitter A <a@b> %d +0000\ndata 1\nx\nfrom %s\nM 100644 inline many/%d\ndata 1\nx\n\n", i, 1700000000+i, base, i)
	}
	if _, err := (git.Command{Dir: r.Root, Args: []string{"fast-import", "--quiet"}, Stdin: []byte(in.String())}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tips []merge.Tip
	for l := range strings.Lines(sh(t, r.Root, "for-each-ref", "--sort=committerdate", "--format=%(refname:short) %(objectname)", "refs/heads/many/") + "\n") {
		f := strings.Fields(l)
		tips = append(tips, merge.Tip{Name: f[0], Commit: f[1]})
	}
	return tips
}

func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{2, 20, 200} {
		b.Run(fmt.Sprintf("tips=%d", n), func(b *testing.B) {
			r := newRepo(b)
			base, tips := head(b, r), manyTips(b, r, n)
			for b.Loop() {
				if _, err := r.Merge(b.Context(), base, tips); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(n), "ms/tip")
		})
	}
}

// A driver that drops a side is told, before the merge and with it; what git
// itself merges, and what union keeps of lines that both added, is not.
func TestMergeDriversThatDropASide(t *testing.T) {
	r := newRepo(t)
	sh(t, r.Root, "config", "merge.ours.driver", "true")
	sh(t, r.Root, "config", "merge.theirs.driver", "cp %B %A")
	base := commit(t, r.Root, "files", ".gitattributes", "*.cat merge=ours\n*.dog merge=theirs\n*.log merge=union\n",
		"t.cat", "1\n", "t.dog", "1\n", "t.log", "1\n", "u.log", "1\n2\n3\n", "v.log", "1\n2\n3\n", "plain", "1\n2\n3\n4\n5\n", "alone.cat", "1\n")
	a := branchWith(t, r, "a", base, "t.cat", "a\n", "t.dog", "a\n", "t.log", "1\na\n", "u.log", "1\n3\n", "v.log", "1\n3\n", "plain", "a\n2\n3\n4\n5\n", "alone.cat", "a\n")
	b := branchWith(t, r, "b", base, "t.cat", "b\n", "t.dog", "b\n", "t.log", "1\nb\n", "u.log", "1\n2 b\n3\n", "v.log", "1\n2\n3\nb\n", "plain", "1\n2\n3\n4\nb\n")
	var notes []string
	ctx := git.WithNotes(t.Context(), func(s string) { notes = append(notes, s) })
	must[string](t)(r.Merge(ctx, base, []merge.Tip{a, b}))
	want := []string{
		"merge=ours in git's attributes drops one side of t.cat: the merge of a and b leaves out what b changed there",
		"merge=theirs in git's attributes drops one side of t.dog: the merge of a and b leaves out what a changed there",
		"merge=union in git's attributes keeps the lines of both sides of u.log: lines that a or b deleted or changed are there again",
	}
	if !slices.Equal(notes, want) {
		t.Errorf("%q", notes)
	}
	clash := must[merge.Clash](t)(r.Clash(t.Context(), merge.Known{Commit: a.Commit}, merge.Known{Commit: b.Commit}, true))
	if len(clash.Conflicts) > 0 || clash.Drops() != "merge=ours in git's attributes drops one side of t.cat, merge=theirs in git's attributes drops one side of t.dog, merge=union in git's attributes keeps the lines of both sides of u.log" {
		t.Errorf("%+v: %s", clash, clash.Drops())
	}
}

// Of several tips the one is named that shares no commit with the branch.
func TestMergeNamesTheUnrelatedTip(t *testing.T) {
	r := newRepo(t)
	base := head(t, r)
	branchWith(t, r, "feature", base, "f.txt", "f")
	fits := branchWith(t, r, "fits", base, "g.txt", "g")
	alone := merge.Tip{Name: "alone", Commit: sh(t, r.Root, "commit-tree", "-m", "alone", base+"^{tree}")}
	want := "feature and alone have no commit in common"
	_, err := r.Lend(t.Context(), LendSpec{Path: beside(r, "w"), Branch: "feature", Start: base, Contributions: []merge.Tip{fits, alone}, Owner: "o"})
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, _, err := r.Join(t.Context(), "feature", alone); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
