package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/runs/run"
)

const coded = `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: hold, role: gate}
  - {name: bad, task: "exit 1"}
  - {name: ship, role: gate, approve: code}
  - {name: shut, role: gate, approve: code, depends_on: bad}
  - {name: go, task: "true", depends_on: ship}
`

// incidents is how often it was told that a marker would open a gate.
func (p *project) incidents(r *run.Run, gate string) int {
	return p.count(r, func(rec *run.Record) bool {
		return rec.Type == run.Incident && rec.How == run.IncidentMarker &&
			strings.HasPrefix(rec.Detail, "signals/"+gate+".done would open a gate that asks for a code; it does not count: if it was you, cmux agents approve "+gate+", ")
	})
}

// No marker opens a gate that asks for a code, whatever became of it before;
// one may close it.
func TestMarkerOfAGateThatAsksForACode(t *testing.T) {
	write := func(text string) func(*project, string) {
		return func(p *project, gate string) { p.write(".cmux/signals/"+gate+".done", text) }
	}
	touch := (*project).touch
	for _, tt := range []struct {
		name   string
		before []func(*project, string) // each waits until it counts
		closed string                   // the label then
		does   func(*project, string)
		gate   string
		label  string
		marker string
		told   int
	}{
		{"touch", nil, "", touch, "ship", "needs input", "none", 1},
		{"0", nil, "", write("0\n"), "ship", "needs input", "none", 1},
		{"a code", nil, "", write("5\n"), "ship", "failed (by hand)", "5", 0},
		{"no marker at all", nil, "", write("done"), "ship", "failed (bad marker)", "done", 0},
		{"touch of a code", []func(*project, string){write("5\n")}, "failed (by hand)", touch, "ship", "failed (by hand)", "5", 1},
		{"0 over a code", []func(*project, string){write("5\n")}, "failed (by hand)", write("0\n"), "ship", "failed (by hand)", "5", 1},
		{"0 over no marker", []func(*project, string){write("done")}, "failed (bad marker)", write("0\n"), "ship", "failed (bad marker)", "1", 1},
		{"touch of a blocked one", nil, "", touch, "shut", "blocked (bad failed)", "99", 1},
		{"0 over a blocked one's", nil, "", write("0\n"), "shut", "blocked (bad failed)", "99", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, coded)
			r := p.create()
			p.live(r, HowStart)
			label := func(want string) func() bool {
				return func() bool { return strings.Contains(p.labels(r), tt.gate+": "+want+"\n") }
			}
			p.becomes(r, "hold: needs input\nbad: failed (exit 1)\nship: needs input\nshut: blocked (bad failed)\ngo: waiting")
			p.has("shut", "99")
			is := func(rec *run.Record) bool {
				return rec.Type == run.Overridden && rec.Node == tt.gate || rec.Type == run.Incident
			}
			judged := func(does func(*project, string)) {
				t.Helper()
				was := p.count(r, is)
				does(p, tt.gate)
				p.until("it is judged", func() bool { return p.count(r, is) > was })
			}
			for _, f := range tt.before {
				judged(f)
				p.until(tt.closed, label(tt.closed))
			}
			judged(tt.does)
			p.has(tt.gate, tt.marker)
			p.until(tt.label, label(tt.label))
			if told := p.incidents(r, tt.gate); told != tt.told {
				t.Errorf("told %d times, want %d", told, tt.told)
			}
			// With its code it opens all the same.
			p.ask(r, run.Request{Op: run.OpApprove, Node: tt.gate, Coded: true})
			p.until("done", label("done"))
			p.has(tt.gate, "0")
			// And stays open.
			p.write(".cmux/signals/"+tt.gate+".done", "")
			p.has(tt.gate, "0")
			p.until("done", label("done"))
			if told := p.incidents(r, tt.gate); told != tt.told {
				t.Errorf("told %d times of an open gate, want %d", told, tt.told)
			}
		})
	}
}

// An order without a code opens nothing, whoever signed it; once retried, a gate
// asks again.
func TestOrderWithoutACode(t *testing.T) {
	p := newProject(t, coded)
	r := p.create()
	p.live(r, HowStart)
	p.becomes(r, "hold: needs input\nbad: failed (exit 1)\nship: needs input\nshut: blocked (bad failed)\ngo: waiting")
	answer := func(q run.Request) string {
		q = p.ask(r, q)
		detail := ""
		p.until("an answer", func() bool {
			return p.count(r, func(rec *run.Record) bool {
				if rec.Type == run.Requested && rec.Request == q.ID {
					detail = rec.Detail
					return true
				}
				return false
			}) == 1
		})
		return detail
	}
	for _, gate := range []string{"ship", "shut"} {
		for _, op := range []run.Op{run.OpApprove, run.OpOverride} {
			want := gate + " asks for a code, and this order was given without one: cmux agents " + string(op) + " " + gate + " shows it in your own terminal"
			if got := answer(run.Request{Op: op, Node: gate}); got != want {
				t.Errorf("%s of %s: %q", op, gate, got)
			}
		}
	}
	if got := p.labels(r); !strings.Contains(got, "ship: needs input\nshut: blocked") {
		t.Fatal(got)
	}
	for _, op := range []run.Op{run.OpApprove, run.OpOverride} {
		if got := answer(run.Request{Op: op, Node: "ship", Coded: true}); got != "" {
			t.Fatal(got)
		}
		label := map[run.Op]string{run.OpApprove: "done", run.OpOverride: "done (override)"}[op]
		p.until(label, func() bool { return strings.Contains(p.labels(r), "ship: "+label+"\n") })
		if n := p.count(r, func(rec *run.Record) bool { return rec.Type == run.Overridden && rec.How == string(op) && rec.Coded }); n != 1 {
			t.Errorf("%s: %d records say that a code was given", op, n)
		}
		if got := answer(run.Request{Op: run.OpRetry, Node: "ship"}); got != "" {
			t.Fatal(got)
		}
		p.until("it asks again", func() bool { return strings.Contains(p.labels(r), "ship: needs input\n") })
	}
	if got := answer(run.Request{Op: run.OpStop, Node: "ship"}); got != "" {
		t.Fatal(got)
	}
	p.has("ship", "130")
	if p.incidents(r, "ship") != 0 {
		t.Error("cmux told of its own markers")
	}
}

// What is there when a runner comes, or before a start, opens no such gate
// either.
func TestMarkerOfAGateThatAsksForACodeBeforeARunner(t *testing.T) {
	p := newProject(t, coded)
	if err := os.MkdirAll(filepath.Join(p.root, ".cmux/signals"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.touch("ship")
	p.write(".cmux/signals/shut.done", "7\n")
	l, err := Plan(t.Context(), p.options())
	if err != nil {
		t.Fatal(err)
	}
	if ship, shut := l.Rows[l.Graph.Index("ship")], l.Rows[l.Graph.Index("shut")]; ship.Preset.State != "" || !ship.Closed || shut.Preset.String() != "failed (by hand, 7)" || shut.Closed {
		t.Errorf("rows say %+v, %+v", ship, shut)
	}
	r := p.create()
	const waiting = "hold: needs input\nbad: failed (exit 1)\nship: needs input\nshut: failed (by hand)\ngo: waiting"
	c := p.live(r, HowStart)
	p.becomes(r, waiting)
	p.has("ship", "none")
	p.until("the incident is recorded", func() bool { return p.incidents(r, "ship") == 1 })
	c.interrupt()
	p.touch("ship")
	p.touch("shut")
	p.want(r, waiting)
	c = p.live(r, HowResume)
	p.has("ship", "none")
	p.has("shut", "7")
	p.until("the incident is recorded", func() bool { return p.incidents(r, "shut") == 1 })
	p.becomes(r, waiting)
	c.interrupt()
	// A runner that was killed while it carried an override out has left the
	// marker and not yet its record.
	p.touch("ship")
	before := p.incidents(r, "ship")
	p.ask(r, run.Request{Op: run.OpOverride, Node: "ship", Coded: true})
	p.live(r, HowResume)
	p.becomes(r, "hold: needs input\nbad: failed (exit 1)\nship: done (override)\nshut: failed (by hand)\ngo: done")
	if n := p.incidents(r, "ship"); n != before {
		t.Errorf("%d incidents instead of %d", n, before)
	}
}

// What an update says of a gate holds from then on, also for orders that wait;
// what was open stays so.
func TestUpdateOfAGate(t *testing.T) {
	p := newProject(t, coded)
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, "hold: needs input\nbad: failed (exit 1)\nship: needs input\nshut: blocked (bad failed)\ngo: waiting")
	c.interrupt()
	refreeze := func(old, new string) {
		t.Helper()
		src := strings.Replace(coded, old, new, 1)
		g, _, err := ParseConfig(r, []byte(src), p.options().Kinds, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Refreeze(g, []byte(src)); err != nil {
			t.Fatal(err)
		}
		if r, err = run.Latest(p.root); err != nil {
			t.Fatal(err)
		}
	}
	q := p.ask(r, run.Request{Op: run.OpApprove, Node: "hold"})
	refreeze("{name: hold, role: gate}", "{name: hold, role: gate, approve: code}")
	c = p.live(r, HowResume)
	p.until("it is refused", func() bool {
		return p.count(r, func(rec *run.Record) bool {
			return rec.Request == q.ID && strings.Contains(rec.Detail, "asks for a code")
		}) == 1
	})
	if got := p.labels(r); !strings.Contains(got, "hold: needs input\n") {
		t.Error(got)
	}
	c.interrupt()
	p.touch("ship")
	refreeze("role: gate, approve: code}", "role: gate}")
	c = p.live(r, HowResume)
	p.becomes(r, "hold: needs input\nbad: failed (exit 1)\nship: done (override)\nshut: blocked (bad failed)\ngo: done")
	c.interrupt()
	refreeze("", "")
	p.live(r, HowResume)
	p.becomes(r, "hold: needs input\nbad: failed (exit 1)\nship: done (override)\nshut: blocked (bad failed)\ngo: done")
	if f := p.count(r, func(rec *run.Record) bool { return rec.Type == run.Overridden && rec.Coded }); f != 0 {
		t.Errorf("%d codes were given", f)
	}
}
