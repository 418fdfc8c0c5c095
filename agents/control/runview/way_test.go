package runview_test

import (
	"testing"

	"cmux/agents/control/runview"
	"cmux/agents/kinds/question"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// A dialog that only keys in the pane answer has no answer by a command.
func TestWayToAnswer(t *testing.T) {
	for _, c := range []struct {
		asks question.Question
		want string
	}{
		{question.New("which?", "a", "b"), "cmux agents attach api; cmux agents answer api TEXT"},
		{question.InPane("a dialog"), "cmux agents attach api"},
	} {
		n := run.NodeView{Node: &run.Node{Attempts: []run.Attempt{{Asks: &c.asks}}}, Spec: &dag.Node{Name: "api"}, Status: dag.Status{Label: dag.Label{State: dag.NodeNeedsInput}}}
		v := &run.View{Run: &run.Run{Plan: run.Plan{}}, Nodes: []run.NodeView{n}}
		if got := runview.WayOut(v, 0); got != c.want {
			t.Errorf("%v: %q, want %q", c.asks, got, c.want)
		}
	}
}

// What needs a terminal of another machine is not offered here.
func TestWayToWhatIsAway(t *testing.T) {
	asked, dialog := question.New("which?", "a", "b"), question.InPane("a dialog")
	for _, c := range []struct {
		asks *question.Question
		left *run.Left
		want string
	}{
		{&asked, nil, "cmux agents answer api TEXT"},
		{&dialog, nil, "answer it in its terminal on box"},
		{nil, &run.Left{}, "cmux agents override api; cmux agents retry api"},
	} {
		n := run.NodeView{
			Node: &run.Node{Fact: dag.Fact{Phase: dag.Running}, Left: c.left, Attempts: []run.Attempt{{Asks: c.asks, Place: run.Place{Far: "ssh://box", Machine: "box"}}}},
			Spec: &dag.Node{Name: "api"}, Status: dag.Status{Label: dag.Label{State: dag.NodeNeedsInput}},
		}
		v := &run.View{Run: &run.Run{Plan: run.Plan{}}, Nodes: []run.NodeView{n}}
		if got := runview.WayOut(v, 0); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
