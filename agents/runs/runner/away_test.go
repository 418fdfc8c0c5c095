package runner

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/hint"
)

const oneAway = `
session: s
defaults: {agent: command}
agents:
  - {name: api, task: "true"}
  - {name: web, task: "true"}
`

// onBox records that box carries out attempt 1 of a node, and that a runner was there.
func (p *project) onBox(r *run.Run, node string) {
	p.t.Helper()
	p.append(r,
		run.Record{Type: run.Started, Node: node, Attempt: 1, Place: &run.Place{Dir: p.root, Tree: p.root, Branch: "s/" + node, Far: "ssh://box"}},
		run.Record{Type: run.Claimed, Node: node, Attempt: 1, Value: "box"},
		run.Record{Type: run.Began, Node: node, Attempt: 1, PID: os.Getpid(), Pane: "%0"})
}

const cannotEnd = "cmux cannot end api on box: the run has no runner, and only a runner reaches other machines"

// What works on another machine cannot be ended without a runner. What is here ends all
// the same, and nothing here is looked for in place of the other.
func TestStopOfWhatIsAway(t *testing.T) {
	p := newProject(t, oneAway)
	r := p.create()
	p.onBox(r, "api")
	p.append(r, run.Record{Type: run.Started, Node: "web", Attempt: 1, Place: &run.Place{}})
	if err := r.WriteSpec(&run.Spec{Node: "web", Attempt: 1, Def: &r.Plan.Graph.Nodes[1]}); err != nil {
		t.Fatal(err)
	}
	refused := func(err error, try string) {
		t.Helper()
		var away *run.AwayError
		if text, way := hint.Explain(err); !errors.As(err, &away) || text != cannotEnd || way != try {
			t.Errorf("%q, try %q", text, way)
		}
	}
	const resume = "cmux agents resume, then cmux agents stop; or cmux machines stop on that machine"
	ended, err := Cancel(t.Context(), r, "api")
	if refused(err, resume); len(ended) > 0 {
		t.Errorf("ended %q", ended)
	}
	refused(Stop(t.Context(), r), resume)
	if _, err := r.ReadSpec("web", 1); err == nil {
		t.Error("web may still begin")
	}
	if _, err := os.Stat(r.NodeDir("api")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("api was looked for here: %v", err)
	}
	v, err := r.View(t.Context(), time.Now())
	if err != nil || v.RunState != dag.RunStopped || v.Nodes[0].Status.Label.State != dag.NodeRunning {
		t.Errorf("%s, api %s, %v", v.RunState, v.Nodes[0].Status.Label, err)
	}
	p.append(r, run.Record{Type: run.Overridden, Node: "api"}, run.Record{Type: run.Overridden, Node: "web"}, run.Record{Type: run.RunEnded, How: string(dag.RunDone)})
	_, err = Cancel(t.Context(), r, "")
	refused(err, "cmux agents stop api, then cmux agents resume")
}

// A run is not given up while attempts of it work on other machines: nothing is recorded.
func TestStartNewBesideWhatIsAway(t *testing.T) {
	p := newProject(t, oneAway)
	r := p.create()
	p.onBox(r, "api")
	o := p.options()
	o.New = true
	l, err := Plan(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Create(t.Context())
	var away *run.AwayError
	if !errors.As(err, &away) || !slices.Equal(away.Nodes, []run.AwayNode{{Name: "api", Machine: "box"}}) {
		t.Errorf("%v", err)
	}
	if n := p.count(r, func(rec *run.Record) bool { return rec.Type == run.Stopped || rec.Type == run.RunEnded }); n != 0 {
		t.Errorf("%d records give the run up", n)
	}
}

// What is on another machine reaches no marker here, and has no worktree here to watch.
func TestAwayIsNotSuspected(t *testing.T) {
	p := newProject(t, oneAway)
	r := p.create()
	p.onBox(r, "api")
	carried := p.opened(r)
	if err := carried.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at := carried.atWork(); len(at) > 0 {
		t.Errorf("at work here: %v", at)
	}
	if recs := carried.byHand(0, "removed"); recs != nil {
		t.Errorf("a person's marker is suspected: %+v", recs)
	}
	if got := carried.suspects(t.Context(), signals.Touched, signals.Observed{Changed: time.Now()}); got != nil {
		t.Errorf("suspected: %v", got)
	}
	carried.openRadar()
	carried.detect(0)
	if b := carried.radar.blips[0]; b.tree != "" || len(carried.radar.trees) > 0 {
		t.Errorf("watched here: %+v, %v", b, carried.radar.trees)
	}
	if err := carried.radar.close(); err != nil {
		t.Fatal(err)
	}
	carried.radar = nil
}

// An attempt on another machine has no slot here: its end frees none of a node here.
func TestAwayHasNoSlot(t *testing.T) {
	p := newProject(t, oneAway)
	r := p.create()
	p.onBox(r, "api")
	carried := p.opened(r)
	if err := carried.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, _ := carried.shares.Take()
	if err := carried.learn(t.Context(), run.Record{Type: run.Vanished, Node: "api", Attempt: 1, How: run.HowLost}); err != nil {
		t.Fatal(err)
	}
	if second, _ := carried.shares.Take(); first != 0 || second != 1 {
		t.Errorf("slots %d and %d", first, second)
	}
}

// Leftovers of a node are those of its attempts here.
func TestLastHere(t *testing.T) {
	here, away := run.Place{}, run.Place{Far: "ssh://box"}
	for name, c := range map[string]struct {
		places []run.Place
		open   bool
		want   int
	}{
		"none":           {nil, false, 0},
		"here":           {[]run.Place{here, here}, false, 2},
		"here, open":     {[]run.Place{here, here}, true, 0},
		"away":           {[]run.Place{away}, false, 0},
		"here, away":     {[]run.Place{here, away, away}, false, 1},
		"here, away now": {[]run.Place{here, away}, true, 1},
		"away, here":     {[]run.Place{away, here}, false, 2},
	} {
		n := run.Node{Fact: dag.Fact{StillOpen: c.open}}
		for k, place := range c.places {
			n.Attempts = append(n.Attempts, run.Attempt{N: k + 1, Place: place})
		}
		if got := lastHere(&n); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
