package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/dag"
	"cmux/signals"
)

// world does to a run what runners, wrappers and people do, in any order.
type world struct {
	*rapid.T
	run  *Run
	book *Book
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) act() {
	marker := filepath.Join(w.run.Signals(), rapid.SampledFrom([]string{"a.done", "b.done", "c.done", "x.done"}).Draw(w.T, "marker"))
	switch rapid.IntRange(0, 9).Draw(w.T, "what") {
	case 0, 1, 2, 3:
		rec := anyRecord(w.T)
		if rec.check() == nil {
			w.must(w.book.Append(context.Background(), rec))
		}
	case 4: // with its marker
		rec := anyRecord(w.T)
		if rec.check() == nil && w.run.Plan.Graph.Index(rec.Node) >= 0 {
			if err := w.book.Commit(context.Background(), rec); !errors.Is(err, ErrMarker) { // the folder may be gone
				w.must(err)
			}
		}
	case 5: // a person's
		if os.MkdirAll(w.run.Signals(), 0o755) == nil {
			w.must(os.WriteFile(marker, []byte(rapid.SampledFrom([]string{"", "0\n", "7\n", "99\n", "no"}).Draw(w.T, "content")), 0o644))
		}
	case 6:
		now := time.Now()
		os.Chtimes(marker, now, now)
	case 7:
		os.Remove(marker)
	case 8:
		w.must(os.RemoveAll(w.run.Signals()))
		if rapid.Bool().Draw(w.T, "made again") {
			w.must(signals.Init(w.run.Plan.Root))
		}
	case 9: // somebody's
		f, err := os.OpenFile(w.run.Records(), os.O_APPEND|os.O_WRONLY, 0)
		w.must(err)
		_, err = f.WriteString(rapid.SampledFrom([]string{"{}\n", "torn", "\n", `{"t":"opened","node":"c"}` + "\n"}).Draw(w.T, "line"))
		w.must(err)
		w.must(f.Close())
	}
}

// Whatever happens to a run, a Viewer that has followed it shows what one shows
// that has just come.
func TestViewerFollows(t *testing.T) {
	r := newRun(t)
	r.Plan.Graph = three(t)
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, run: r}
		w.must(os.Truncate(r.Records(), 0))
		w.must(os.RemoveAll(r.Signals()))
		w.must(signals.Init(r.Plan.Root))
		book, err := r.OpenBook()
		w.must(err)
		defer book.Close()
		w.book = book
		viewer := r.Viewer()
		for range rapid.IntRange(1, 25).Draw(t, "acts") {
			w.act()
			if rapid.IntRange(0, 2).Draw(t, "look") > 0 {
				continue
			}
			now := time.Unix(1_800_000_000, 0)
			kept, err := viewer.View(context.Background(), now)
			w.must(err)
			folded, err := r.View(context.Background(), now)
			w.must(err)
			if k, a := seen(t, kept), seen(t, folded); k != a {
				t.Fatalf("kept:\n%s\nfrom nothing:\n%s", k, a)
			}
		}
	})
}

// Records that somebody cut short are read from the beginning again.
func TestViewerOfRecordsCutShort(t *testing.T) {
	r := newRun(t)
	r.append(t, Record{Type: RunnerUp}, Record{Type: Started, Node: "a", Attempt: 1, Place: &Place{}})
	viewer := r.Viewer()
	for _, want := range []int{1, 0} {
		v, err := viewer.View(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := len(v.Nodes[0].Attempts); got != want {
			t.Errorf("%d attempts, want %d", got, want)
		}
		write(t, r.Records(), nil)
	}
}

// Who follows a run sees it with its new graph as soon as that is on record: a gate
// that an update adds crashed the monitor, and with it the runner.
func TestViewerOfAnUpdatedRun(t *testing.T) {
	r := newRun(t)
	viewer := r.Viewer()
	if _, err := viewer.View(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	grown, _, err := dag.Parse("x.yml", []byte(`
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "true", retries: 1}
  - {name: b, task: "true", depends_on: a}
  - {name: more, role: gate}
`), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	updated, err := OpenDir(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := updated.Refreeze(grown, nil); err != nil {
		t.Fatal(err)
	}
	r.append(t, Record{Type: Updated}, Record{Type: Opened, Node: "more"})
	v, err := viewer.View(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if n, of := len(v.Nodes), v.Run.Plan.Graph.Len(); n != of || n != r.Plan.Graph.Len()+1 {
		t.Errorf("%d nodes of a graph with %d", n, of)
	}
}
