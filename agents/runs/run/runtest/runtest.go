// Package runtest makes views of runs for tests of those that show them.
package runtest

import (
	"strings"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// Noon is when the views are looked at.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// View makes the view of a run of config in which records happened.
func View(t testing.TB, config string, records ...run.Record) *run.View {
	t.Helper()
	g, _, err := dag.Parse("test.yml", []byte(config), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := run.NewHistory(g)
	for i := range records {
		h.Apply(&records[i])
	}
	h.Tick(Noon)
	v := &run.View{
		Run:   &run.Run{Plan: run.Plan{ID: "20260301-115000.000-abc123", Config: "/shop/.cmux-agents.yml", BaseRef: "main", Base: strings.Repeat("1", 40), Graph: g}},
		State: h.State, StartedAt: h.Started, EndedAt: h.Ended, Used: h.Used,
	}
	for i := range h.Nodes {
		v.Nodes = append(v.Nodes, run.NodeView{Node: &h.Nodes[i], Spec: &g.Nodes[i], Status: v.State.Status(i, Noon)})
	}
	v.RunState, v.Collisions = v.State.Run(), h.Standing()
	return v
}

// Shop is a configuration of ten nodes.
const Shop = `
session: shop
agents:
  - {name: schema, agent: command, task: "true"}
  - {name: api, agent: command, task: "true", depends_on: [schema], branch: feature/api-with-a-rather-long-name}
  - {name: web, agent: command, task: "true", depends_on: [schema]}
  - {name: docs, agent: command, task: "true"}
  - {name: slow, agent: command, task: "true"}
  - {name: flaky, agent: command, task: "true", retries: 2}
  - {name: tests, role: review, agent: command, task: "true", depends_on: [api, web]}
  - {name: audit, role: review, agent: command, task: "true", depends_on: [api]}
  - {name: release, role: gate}
  - {name: deploy, agent: command, task: "true", depends_on: [release, tests, docs, slow, flaky]}
`

// At is so many minutes after Noon.
func At(minutes int) time.Time { return Noon.Add(time.Duration(minutes) * time.Minute) }

// Everything is a run of Shop in which nodes stand in as many ways as can be.
func Everything(t testing.TB) *run.View {
	v := View(t, Shop,
		run.Record{Type: run.RunnerUp, At: At(-10)},
		run.Record{Type: run.Started, Node: "schema", Attempt: 1, At: At(-10)},
		run.Record{Type: run.AttemptEnd, Node: "schema", Attempt: 1, At: At(-8), End: &run.End{Outcome: dag.Done, Summary: "Two tables.", Commits: 1, Tip: strings.Repeat("a", 40)}},
		run.Record{Type: run.Started, Node: "api", Attempt: 1, At: At(-8)},
		run.Record{Type: run.AttemptEnd, Node: "api", Attempt: 1, At: At(-7), End: &run.End{Outcome: dag.Failed, Exit: 1, Reason: dag.ReasonChecks,
			Detail: "go test ./...: exit 1\n\x1b[31mFAIL\x1b[0m api", Checks: []run.Check{{Command: "go test ./...", Exit: 1}}}},
		run.Record{Type: run.Started, Node: "web", Attempt: 1, At: At(-8)},
		run.Record{Type: run.Began, Node: "web", Attempt: 1, At: At(-8)},
		run.Record{Type: run.Active, Node: "web", Attempt: 1, At: At(-2), Activity: dag.NeedsInput, Detail: "Which colour?"},
		run.Record{Type: run.Overridden, Node: "docs", At: At(-5), How: run.HowTouched, Marker: &run.Written{Empty: true}},
		run.Record{Type: run.Started, Node: "slow", Attempt: 1, At: At(-3)},
		run.Record{Type: run.Began, Node: "slow", Attempt: 1, At: At(-3)},
		run.Record{Type: run.Active, Node: "slow", Attempt: 1, At: At(-1), Activity: dag.AtLimit, Until: At(35)},
		run.Record{Type: run.Started, Node: "flaky", Attempt: 1, At: At(-4)},
		run.Record{Type: run.AttemptEnd, Node: "flaky", Attempt: 1, At: At(-3), End: &run.End{Outcome: dag.Failed, Exit: 7, Retry: true}},
		run.Record{Type: run.Started, Node: "flaky", Attempt: 2, At: At(-3)},
		run.Record{Type: run.Began, Node: "flaky", Attempt: 2, At: At(-3)},
		run.Record{Type: run.Opened, Node: "release", At: At(-10)},
	)
	v.Holder = &signals.Holder{PID: 42}
	return v
}
