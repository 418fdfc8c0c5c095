package control

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/run"
	"cmux/dag"
	"cmux/signals"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// view makes the view of a run of config in which records happened.
func view(t testing.TB, config string, records ...run.Record) *run.View {
	t.Helper()
	g, _, err := dag.Parse("test.yml", []byte(config), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := run.NewHistory(g)
	for i := range records {
		h.Apply(&records[i])
	}
	h.Tick(noon)
	v := &run.View{
		Run:   &run.Run{Plan: run.Plan{ID: "20260301-115000.000-abc123", Config: "/shop/.cmux-agents.yml", BaseRef: "main", Base: strings.Repeat("1", 40), Graph: g}},
		State: h.State, StartedAt: h.Started, EndedAt: h.Ended, Used: h.Used,
	}
	for i := range h.Nodes {
		v.Nodes = append(v.Nodes, run.NodeView{Node: &h.Nodes[i], Spec: &g.Nodes[i], Status: v.State.Status(i, noon)})
	}
	v.RunState = v.State.Run()
	return v
}

const shop = `
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

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// everything is a run of shop in which nodes stand in as many ways as can be.
func everything(t testing.TB) *run.View {
	v := view(t, shop,
		run.Record{Type: run.RunnerUp, At: at(-10)},
		run.Record{Type: run.Started, Node: "schema", Attempt: 1, At: at(-10)},
		run.Record{Type: run.AttemptEnd, Node: "schema", Attempt: 1, At: at(-8), End: &run.End{Outcome: dag.Done, Summary: "Two tables.", Commits: 1, Tip: strings.Repeat("a", 40)}},
		run.Record{Type: run.Started, Node: "api", Attempt: 1, At: at(-8)},
		run.Record{Type: run.AttemptEnd, Node: "api", Attempt: 1, At: at(-7), End: &run.End{Outcome: dag.Failed, Exit: 1, Reason: dag.ReasonChecks,
			Detail: "go test ./...: exit 1\n\x1b[31mFAIL\x1b[0m api", Checks: []run.Check{{Command: "go test ./...", Exit: 1}}}},
		run.Record{Type: run.Started, Node: "web", Attempt: 1, At: at(-8)},
		run.Record{Type: run.Began, Node: "web", Attempt: 1, At: at(-8)},
		run.Record{Type: run.Active, Node: "web", Attempt: 1, At: at(-2), Activity: dag.NeedsInput, Detail: "Which colour?"},
		run.Record{Type: run.Overridden, Node: "docs", At: at(-5), How: run.HowTouched, Marker: &run.Written{Empty: true}},
		run.Record{Type: run.Started, Node: "slow", Attempt: 1, At: at(-3)},
		run.Record{Type: run.Began, Node: "slow", Attempt: 1, At: at(-3)},
		run.Record{Type: run.Active, Node: "slow", Attempt: 1, At: at(-1), Activity: dag.AtLimit, Until: at(35)},
		run.Record{Type: run.Started, Node: "flaky", Attempt: 1, At: at(-4)},
		run.Record{Type: run.AttemptEnd, Node: "flaky", Attempt: 1, At: at(-3), End: &run.End{Outcome: dag.Failed, Exit: 7, Retry: true}},
		run.Record{Type: run.Started, Node: "flaky", Attempt: 2, At: at(-3)},
		run.Record{Type: run.Began, Node: "flaky", Attempt: 2, At: at(-3)},
		run.Record{Type: run.Opened, Node: "release", At: at(-10)},
	)
	v.Holder = &signals.Holder{PID: 42}
	return v
}

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares got with a file below testdata, or rewrites it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestChangelog(t *testing.T) { golden(t, "changelog.md", changelog(everything(t))) }
