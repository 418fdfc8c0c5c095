package runner

import (
	"testing"

	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// distantly has all nodes carried out elsewhere.
type distantly struct{ host.Host }

func (distantly) Far(*dag.Node) string { return "ssh://box" }
func (distantly) Collected(host.Ref)   {}

// An agent on another machine takes no seat of this one.
func TestNoSeatElsewhere(t *testing.T) {
	g, _, err := dag.Parse("test.yml", []byte("session: s\nagents:\n  - {name: a, task: x}\n"), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := run.NewHistory(g)
	for _, rec := range []run.Record{
		{Type: run.Started, Node: "a", Attempt: 1, Place: &run.Place{}},
		{Type: run.Began, Node: "a", Attempt: 1},
		{Type: run.Active, Node: "a", Attempt: 1},
	} {
		h.Apply(&rec)
	}
	r := &Runner{g: g, hist: h}
	if !r.sits("a") {
		t.Error("an agent that works here takes no seat")
	}
	if r.host = (distantly{}); r.sits("a") {
		t.Error("an agent that works elsewhere takes a seat here")
	}
}
