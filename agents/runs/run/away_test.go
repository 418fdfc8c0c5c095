package run

import (
	"testing"
	"time"

	"cmux/dag"
)

// An attempt on another machine has no lock here. It is gone only if the records say so,
// with a runner and without.
func TestAwayIsGoneByRecordOnly(t *testing.T) {
	r := newRun(t)
	long := time.Now().Add(-time.Hour)
	r.append(t, Record{Type: RunnerUp, At: long},
		Record{Type: Started, Node: "a", Attempt: 1, At: long, Place: &Place{Far: "ssh://box"}},
		Record{Type: Claimed, Node: "a", Attempt: 1, At: long, Value: "box"},
		Record{Type: Began, Node: "a", Attempt: 1, At: long, PID: 1, PIDStart: 2, Pane: "%3"})
	state := func() (dag.NodeState, *Node) {
		t.Helper()
		v, err := r.View(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return v.Nodes[0].Status.Label.State, v.Nodes[0].Node
	}
	got, n := state()
	if got != dag.NodeRunning || n.Where() != "box" || n.Away() == nil || !n.HeardAt().IsZero() {
		t.Errorf("%s on %q, silent since %v", got, n.Where(), n.HeardAt())
	}
	if a := n.Attempt(); a.PID != 0 || a.PIDStart != 0 || a.Pane != "" {
		t.Errorf("a process or a pane of box is taken for one here: %+v", a)
	}
	lock, err := r.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if got, _ := state(); got != dag.NodeRunning {
		t.Errorf("%s beside a runner", got)
	}
	heard := time.Now().Add(-time.Minute).UTC()
	r.append(t, Record{Type: Silent, Node: "a", Attempt: 1, Value: heard.Format(time.RFC3339Nano)})
	if got, n := state(); got != dag.NodeRunning || !n.HeardAt().Equal(heard) {
		t.Errorf("%s, silent since %v", got, n.HeardAt())
	}
	r.append(t, Record{Type: Vanished, Node: "a", Attempt: 1, How: HowLost})
	if got, n := state(); got == dag.NodeRunning || n.Away() != nil || !n.HeardAt().IsZero() || n.Where() != "box" {
		t.Errorf("%s on %q, silent since %v", got, n.Where(), n.HeardAt())
	}
}

// The same attempt here is gone without its lock.
func TestHereIsGoneWithoutALock(t *testing.T) {
	r := newRun(t)
	long := time.Now().Add(-time.Hour)
	r.append(t, Record{Type: Started, Node: "a", Attempt: 1, At: long, Place: &Place{Tree: "/t"}}, Record{Type: Began, Node: "a", Attempt: 1, At: long})
	v, err := r.View(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	n := v.Nodes[0]
	if n.Fact.Live() || n.Where() != Home || n.Attempt().Place.TreeHere() != "/t" {
		t.Errorf("%s at %q in %q", n.Status.Label, n.Where(), n.Attempt().Place.TreeHere())
	}
}

func TestWhere(t *testing.T) {
	for _, c := range []struct {
		place       Place
		where, tree string
	}{
		{Place{Tree: "/t"}, Home, "/t"},
		{Place{Tree: "/t", Far: "ssh://box"}, "", ""},
		{Place{Tree: "/t", Far: "ssh://box", Machine: "box"}, "box", ""},
	} {
		if where, tree := c.place.Where(), c.place.TreeHere(); where != c.where || tree != c.tree {
			t.Errorf("%+v: at %q in %q", c.place, where, tree)
		}
	}
}
