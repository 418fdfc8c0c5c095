package runner

import (
	"slices"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// An attempt in a pane records its end and publishes its marker while the runner
// looks: whatever the runner saw first, no person did anything.
func TestAttemptEndsWhileMarkersAreLookedAt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		code   int
		before bool // the marker is there when the runner looks; else it comes after
	}{
		{"a failure before the look", 1, true},
		{"a failure after the look", 1, false},
		{"a success before the look", 0, true},
		{"a success after the look", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, "session: s\ndefaults: {agent: command, role: review}\nagents:\n  - {name: api, task: \"true\"}\n")
			r := p.create()
			carried := p.opened(r)
			if err := carried.learn(t.Context(),
				run.Record{Type: run.Started, Node: "api", Attempt: 1},
				run.Record{Type: run.Began, Node: "api", Attempt: 1}); err != nil {
				t.Fatal(err)
			}
			// The marker has been missing for as long as the node is at work.
			long := time.Now().Add(-time.Minute)
			if _, _, err := carried.scanner.Scan(long); err != nil {
				t.Fatal(err)
			}
			end := &run.End{Outcome: dag.Done}
			if tt.code != 0 {
				end = &run.End{Outcome: dag.Failed, Reason: dag.ReasonExit, Exit: tt.code}
			}
			ends := func() {
				book, err := r.OpenBook()
				if err != nil {
					t.Fatal(err)
				}
				defer book.Close()
				if err := book.Commit(t.Context(), run.Record{Type: run.AttemptEnd, Node: "api", Attempt: 1, End: end}); err != nil {
					t.Fatal(err)
				}
			}
			if tt.before {
				ends()
			}
			now := time.Now()
			seen, _, err := carried.scanner.Scan(now)
			if err != nil {
				t.Fatal(err)
			}
			if !tt.before {
				ends()
			}
			// There is something to record, with which the records are read again.
			carried.published = []run.Record{{Type: run.Noted, Node: "api", Attempt: 1, Detail: "x"}}
			if err := carried.judge(t.Context(), now, nil, slices.All(seen)); err != nil {
				t.Fatal(err)
			}
			if n := p.count(r, func(rec *run.Record) bool {
				return rec.Type == run.Overridden || rec.Type == run.Reset || rec.Type == run.Incident
			}); n != 0 {
				t.Errorf("%d records say that a person wrote or removed the marker:\n%s", n, p.records(r))
			}
			o, err := carried.scanner.Look(0, time.Now())
			if want := signals.Exit(tt.code); err != nil || o.Content != want {
				t.Errorf("the marker holds %v, %v; want %v", o.Content, err, want)
			}
		})
	}
}

// opened is a runner of r that does nothing by itself.
func (p *project) opened(r *run.Run) *Runner {
	p.t.Helper()
	o := p.options()
	carried, err := open(p.t.Context(), Options{Run: r, Kinds: o.Kinds})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := carried.close(); err != nil {
			p.t.Error(err)
		}
	})
	return carried
}
