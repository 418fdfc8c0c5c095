package worktree

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/worktree/git"
)

// bigRepo is a repository of n small files in folders of a hundred.
func bigRepo(t testing.TB, n int) *Repo {
	t.Helper()
	r := newRepo(t)
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 1\nx\nfrom refs/heads/main^0\n")
	for i := range n {
		content := fmt.Sprintf("file %d\n", i)
		fmt.Fprintf(&in, "M 100644 inline d%d/f%d.txt\ndata %d\n%s\n", i/100, i, len(content), content)
	}
	if _, err := (git.Command{Dir: r.Root, Args: []string{"fast-import", "--quiet"}, Stdin: []byte(in.String())}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	sh(t, r.Root, "reset", "-q", "--hard")
	return r
}

func TestLargeRepository(t *testing.T) {
	if testing.Short() {
		t.Skip("50,000 files")
	}
	r := bigRepo(t, 50_000)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	write(t, tree.Path, "d7/f700.txt", "changed\n")
	write(t, tree.Path, "d7/new", "new\n")
	if got := must[[]string](t)(r.ChangedFiles(t.Context(), tree.Path, tree.Head)); strings.Join(got, " ") != "d7/f700.txt d7/new" {
		t.Error(got)
	}
	snap := must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{}))
	if got := sh(t, r.Root, "diff", "--name-only", snap.Commit+"^1", snap.Commit+"^3"); got != "d7/f700.txt\nd7/new" {
		t.Error(got)
	}
}

// BenchmarkLend measures Lend beside the bare git worktree add it replaces, in
// turns, and reports the ratio.
func BenchmarkLend(b *testing.B) {
	for _, files := range []int{10, 1000, 50_000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			r := bigRepo(b, files)
			start := head(b, r)
			var ours, floor time.Duration
			i := 0
			for b.Loop() {
				i++
				began := time.Now()
				sh(b, r.Root, "-c", "core.hooksPath=/dev/null", "worktree", "add", "-q", "-b", fmt.Sprint("git", i), beside(r, "git"), start)
				mid := time.Now()
				t := lend(b, r, LendSpec{Path: beside(r, "cmux"), Branch: fmt.Sprint("cmux", i), Start: start, Owner: "o"})
				floor, ours = floor+mid.Sub(began), ours+time.Since(mid)
				b.StopTimer()
				for _, path := range []string{t.Path, beside(r, "git")} {
					if err := r.deregister(b.Context(), path); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(ours.Microseconds())/float64(i)/1000, "lend-ms")
			b.ReportMetric(float64(floor.Microseconds())/float64(i)/1000, "git-ms")
			b.ReportMetric(float64(ours)/float64(floor), "ratio")
		})
	}
}

// BenchmarkLendAtOnce lends many worktrees of one repository concurrently.
func BenchmarkLendAtOnce(b *testing.B) {
	for _, n := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("trees=%d", n), func(b *testing.B) {
			r := bigRepo(b, 1000)
			start := head(b, r)
			round := 0
			for b.Loop() {
				round++
				errs := make([]error, n)
				var wg sync.WaitGroup
				for i := range n {
					name := fmt.Sprintf("r%d-%d", round, i)
					wg.Go(func() {
						_, errs[i] = r.Lend(b.Context(), LendSpec{Path: beside(r, name), Branch: name, Start: start, Owner: "o"})
					})
				}
				wg.Wait()
				b.StopTimer()
				for i, err := range errs {
					if err != nil {
						b.Fatal(err)
					}
					if err := r.deregister(b.Context(), beside(r, fmt.Sprintf("r%d-%d", round, i))); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n)/1000, "ms/tree")
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for _, files := range []int{10, 1000} {
		b.Run(fmt.Sprintf("untracked=%d", files), func(b *testing.B) {
			r := newRepo(b)
			tree := lend(b, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
			for i := range files {
				write(b, tree.Path, fmt.Sprintf("u/%d", i), strings.Repeat("x", i))
			}
			for b.Loop() {
				if _, err := r.Snapshot(b.Context(), tree.Path, SnapshotSpec{Name: "w"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
