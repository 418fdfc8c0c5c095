package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/runs/run"
)

// lawful names the records that carry out what was not due at that moment.
func lawful(r *run.Run) error {
	var errs []error
	h := run.NewHistory(r.Plan.Graph)
	var offset int64
	b, err := os.ReadFile(r.Records())
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		rec, err := run.ParseRecord([]byte(line))
		if err != nil {
			return err
		}
		if i := h.Graph.Index(rec.Node); i >= 0 {
			h.Tick(rec.At)
			s := h.State
			cause, blocked := s.Blocked(i)
			ok := true
			switch rec.Type {
			case run.Started:
				ok = s.Ready(i) && !h.Stopped
			case run.Blocked:
				ok = blocked && h.Graph.Nodes[cause].Name == rec.Cause
			case run.Unblocked:
				ok = !blocked
			case run.Opened:
				ok = !blocked && !s.Settled(i)
			}
			if !ok {
				errs = append(errs, fmt.Errorf("not due at %d, with the node %s: %s", offset, s.Status(i, rec.At).Label, line))
			}
		}
		h.Apply(rec)
		offset += int64(len(line))
	}
	return errors.Join(errs...)
}

// What a request found at a resume decides counts before anything is carried
// out: nothing that it has made stale is.
func TestRequestsComeBeforeWhatIsDue(t *testing.T) {
	const graph = `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: hold, role: gate}
  - {name: a, task: "exit 1"}
  - {name: b, task: "echo ran >> $CMUX_RUN_DIR/b; while ! test -e $CMUX_RUN_DIR/go; do sleep 0.1; done"}
  - {name: c, task: "true", depends_on: a}
  - {name: d, task: "true", depends_on: [hold, c]}
`
	for _, tt := range []struct {
		name string
		asks []run.Request
		want string
		not  []string // records that must not be there: "type node"
	}{
		{"override of a blocked node", []run.Request{{Op: run.OpOverride, Node: "c"}},
			"hold: needs input\na: failed (exit 1)\nb: running\nc: done (override)\nd: waiting", nil},
		{"override of a lost node", []run.Request{{Op: run.OpOverride, Node: "b"}},
			"hold: needs input\na: failed (exit 1)\nb: done (override)\nc: blocked (a failed)\nd: waiting", []string{"started b"}},
		{"stop of a lost node", []run.Request{{Op: run.OpStop, Node: "b"}},
			"hold: needs input\na: failed (exit 1)\nb: failed (cancelled)\nc: blocked (a failed)\nd: waiting", []string{"started b"}},
		{"override of a waiting gate's cause", []run.Request{{Op: run.OpOverride, Node: "a"}, {Op: run.OpOverride, Node: "b"}},
			"hold: needs input\na: done (override)\nb: done (override)\nc: done\nd: waiting", []string{"blocked c", "started b"}},
		{"override and retry of a blocked node", []run.Request{{Op: run.OpOverride, Node: "c"}, {Op: run.OpRetry, Node: "c"}, {Op: run.OpOverride, Node: "b"}},
			"hold: needs input\na: failed (exit 1)\nb: done (override)\nc: blocked (a failed)\nd: waiting", []string{"started b", "started c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, graph)
			r := p.create()
			c := p.live(r, HowStart)
			p.becomes(r, "hold: needs input\na: failed (exit 1)\nb: running\nc: blocked (a failed)\nd: waiting")
			p.has("c", "99")
			c.interrupt()
			was := len(p.records(r))
			for _, q := range tt.asks {
				p.ask(r, q)
			}
			c = p.live(r, HowResume)
			p.becomes(r, tt.want)
			for node, marker := range map[string]string{"done (override)": "", "failed (cancelled)": "130", "blocked (a failed)": "99"} {
				for line := range strings.Lines(tt.want) {
					if name, label, _ := strings.Cut(strings.TrimSpace(line), ": "); label == node {
						p.has(name, marker)
					}
				}
			}
			c.interrupt()
			if err := lawful(r); err != nil {
				t.Error(err)
			}
			for line := range strings.Lines(p.records(r)[was:]) {
				rec, err := run.ParseRecord([]byte(line))
				if err != nil {
					t.Fatal(err)
				}
				if slices.Contains(tt.not, string(rec.Type)+" "+rec.Node) {
					t.Errorf("carried out, though no longer due: %s", line)
				}
			}
		})
	}
}

// Requests and markers of a person at any moment, with a runner or without:
// whatever is carried out was due at that moment, and runner and records agree.
func TestNothingStaleIsCarriedOut(t *testing.T) {
	p := newProject(t, `
session: s
max_parallel: 3
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "exit 1", retries: 1}
  - {name: b, task: "exec sleep 600"}
  - {name: c, task: "true", depends_on: a}
  - {name: g, role: gate, depends_on: c, when: all_done}
  - {name: d, task: "exit 3", depends_on: [c, b]}
  - {name: e, task: "true", depends_on: [a, d], when: one_success}
  - {name: f, task: "true", depends_on: [d, g], when: all_done}
`)
	rapid.Check(t, func(t *rapid.T) {
		r := p.create(func(o *StartOptions) { o.New = true })
		how := HowStart
		for range rapid.IntRange(1, 2).Draw(t, "lives") {
			ctx, cancel := context.WithCancel(context.Background())
			over := make(chan struct{})
			var left error
			go func(how string) {
				defer close(over)
				_, left = Run(ctx, Options{Run: r, How: how, Kinds: p.options().Kinds})
			}(how)
			how = HowResume
			end := func() { cancel(); <-over }
			defer end()
			ask := func() {
				q := run.Request{
					Op:   rapid.SampledFrom([]run.Op{run.OpRetry, run.OpOverride, run.OpApprove, run.OpStop, run.OpAnswer, run.OpRelease}).Draw(t, "op"),
					Node: rapid.SampledFrom(r.Plan.Graph.Names()).Draw(t, "node"), Text: "x",
				}
				q.Downstream = q.Op == run.OpRetry && rapid.Bool().Draw(t, "downstream")
				if rapid.IntRange(0, 4).Draw(t, "touch") == 0 {
					p.touch(q.Node)
				} else if _, err := r.Ask(q); err != nil {
					t.Fatal(err)
				}
			}
			for range rapid.IntRange(0, 3).Draw(t, "live requests") {
				ask()
			}
			if rapid.Bool().Draw(t, "let it work") {
				deadline := time.Now().Add(patience)
				for { // until it has taken all up, or has left
					pending, err := r.Pending()
					if err != nil {
						t.Fatal(err)
					}
					if len(pending) == 0 || isOver(over) {
						break
					}
					if time.Now().After(deadline) {
						v, _ := r.View(context.Background(), time.Now())
						t.Fatalf("not taken up: %+v, run %s\n%s", pending, v.RunState, p.records(r))
					}
				}
			}
			if end(); left != nil && !errors.Is(left, context.Canceled) {
				t.Fatal(left)
			}
			for range rapid.IntRange(0, 3).Draw(t, "requests") {
				ask()
			}
			if err := r.WriteEnv(os.Environ()); err != nil {
				t.Fatal(err)
			}
		}
		if err := lawful(r); err != nil {
			t.Fatalf("%v\n%s", err, p.records(r))
		}
	})
}

func isOver(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
