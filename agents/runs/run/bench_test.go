package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/dag"
	"cmux/signals"
)

// finished is a run of n nodes, ten in a layer, of which all but the last
// layer have ended, and its book.
func finished(b *testing.B, n int) (*Run, *Book) {
	b.Helper()
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	root := b.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := signals.Init(root); err != nil {
		b.Fatal(err)
	}
	var config strings.Builder
	config.WriteString("session: s\ndefaults: {agent: command, role: review}\nagents:\n")
	for i := range n {
		fmt.Fprintf(&config, "  - {name: n%d, task: x", i)
		if i >= 10 {
			fmt.Fprintf(&config, ", depends_on: [n%d]", i-10)
		}
		config.WriteString("}\n")
	}
	g, _, err := dag.Parse("x.yml", []byte(config.String()), dag.ParseOptions{})
	if err != nil {
		b.Fatal(err)
	}
	r, err := Create(Plan{ID: NewID(time.Now()), Root: root, Config: filepath.Join(root, "x.yml"), Graph: g}, []byte("config"), nil, "/bin/sh")
	if err != nil {
		b.Fatal(err)
	}
	book, err := r.OpenBook()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { book.Close() })
	folder := signals.NewScanner(r.Signals(), nil)
	if _, _, err := folder.Scan(time.Now()); err != nil {
		b.Fatal(err)
	}
	recs := []Record{{Type: RunnerUp, How: "start", Folder: folder.Folder()}}
	for i := range n - 10 {
		name := g.Nodes[i].Name
		recs = append(recs, Record{Type: Started, Node: name, Attempt: 1, Place: &Place{Dir: root, Child: "c"}},
			Record{Type: AttemptEnd, Node: name, Attempt: 1, End: &End{Outcome: dag.Done, Summary: "done what was asked"}})
	}
	if err := book.Commit(context.Background(), recs...); err != nil {
		b.Fatal(err)
	}
	return r, book
}

// BenchmarkView is what one look at a run from outside costs.
func BenchmarkView(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			r, _ := finished(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.View(context.Background(), time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkViewer is what the next look costs who keeps looking, after a record
// that is new.
func BenchmarkViewer(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			r, book := finished(b, n)
			last := r.Plan.Graph.Nodes[n-1].Name
			viewer := r.Viewer()
			if _, err := viewer.View(context.Background(), time.Now()); err != nil {
				b.Fatal(err)
			}
			// A marker that is seconds old is not read again.
			if _, _, err := viewer.scanner.Scan(time.Now().Add(time.Minute)); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := book.Append(context.Background(), Record{Type: Noted, Node: last}); err != nil {
					b.Fatal(err)
				}
				if _, err := viewer.View(context.Background(), time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
