package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"cmux/agents/control/runs"
	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
	"cmux/agents/testkit/agenttest/golden"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
	"cmux/signals"
)

func TestStatusTable(t *testing.T) {
	v := runtest.Everything(t)
	for _, width := range []int{0, 120, 80, 60} {
		got := renderStatus(v, runtest.Noon, cli.Look{Width: width})
		golden.Equal(t, fmt.Sprintf("status/width-%d.txt", width), got)
		for i := range v.Nodes {
			if n := v.Nodes[i].Spec.Name; !strings.Contains(got, "\n"+n+" ") || !strings.Contains(got, v.Nodes[i].Status.Label.String()) {
				t.Errorf("width %d: the name or status of %s is cut", width, n)
			}
		}
	}
	if plain, colored := renderStatus(v, runtest.Noon, cli.Look{Width: 100}), renderStatus(v, runtest.Noon, cli.Look{Width: 100, Color: true}); ansi.Strip(colored) != plain {
		t.Errorf("colors change the text:\n%s\n%s", ansi.Strip(colored), plain)
	} else if plain == colored {
		t.Error("no colors")
	}
}

// spending is a run over its budget: one node has spent its own, one was
// stopped for the run's, one was not started, one uses no model.
func spending(t testing.TB) *run.View {
	end := func(detail, saved string, used dag.Usage) *run.End {
		return &run.End{Outcome: dag.Failed, Exit: 143, Reason: dag.ReasonBudget, Detail: detail, Used: used, Snapshot: saved}
	}
	v := runtest.View(t, `
session: shop
budget: {tokens: 1500000}
agents:
  - {name: greedy, task: x, budget: {tokens: 1000}}
  - {name: stopped, task: x}
  - {name: late, task: x}
  - {name: tests, agent: command, task: "true"}
  - {name: ship, task: x, depends_on: [greedy]}
`,
		run.Record{Type: run.RunnerUp, At: runtest.At(-10)},
		run.Record{Type: run.Started, Node: "greedy", Attempt: 1, At: runtest.At(-10)},
		run.Record{Type: run.Used, Node: "greedy", Attempt: 1, At: runtest.At(-9), Used: dag.Usage{Input: 500, Output: 100}},
		run.Record{Type: run.AttemptEnd, Node: "greedy", Attempt: 1, At: runtest.At(-8), End: end("greedy has used 1001 of its budget of 1000 tokens", "shop/greedy/20260301T115200.000Z", dag.Usage{Input: 900, Output: 101, CacheRead: 7000})},
		run.Record{Type: run.Blocked, Node: "ship", Cause: "greedy", At: runtest.At(-8)},
		run.Record{Type: run.Started, Node: "stopped", Attempt: 1, At: runtest.At(-7)},
		run.Record{Type: run.AttemptEnd, Node: "stopped", Attempt: 1, At: runtest.At(-6), End: end("the run has used 1501001 of its budget of 1500000 tokens", "", dag.Usage{Output: 500_000, CacheCreate: 1_000_000, CacheRead: 20_000_000})},
		run.Record{Type: run.AttemptEnd, Node: "late", At: runtest.At(-6), End: end("not started: the run has used 1501001 of its budget of 1500000 tokens", "", dag.Usage{})},
		run.Record{Type: run.Started, Node: "tests", Attempt: 1, At: runtest.At(-6)},
		run.Record{Type: run.Began, Node: "tests", Attempt: 1, At: runtest.At(-6)},
	)
	v.Holder = &signals.Holder{PID: 42}
	return v
}

func TestStatusOfUse(t *testing.T) {
	v := spending(t)
	for _, width := range []int{0, 80} {
		golden.Equal(t, fmt.Sprintf("status/used-%d.txt", width), renderStatus(v, runtest.Noon, cli.Look{Width: width}))
	}
	var b bytes.Buffer
	if err := cli.PrintJSON(&b, runs.NewReport(v)); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "status/used.json", b.String())
}

func TestStatusSaysWhatStandsInTheWay(t *testing.T) {
	v := runtest.Everything(t)
	v.Holder, v.RunState, v.ConfigChanged = nil, dag.RunNoRunner, true
	v.Pending = []run.Request{{Op: run.OpRetry, Node: "api"}}
	golden.Equal(t, "status/no-runner.txt", renderStatus(v, runtest.Noon, cli.Look{Width: 100}))
}

// Every status has a source, and an age unless nothing was recorded of it.
func TestStatusVerbose(t *testing.T) {
	golden.Equal(t, "status/verbose.txt", renderStatus(runtest.Everything(t), runtest.Noon, cli.Look{Verbose: true}))
}

// A marker file that belongs to no node is listed in the table and in JSON.
func TestStatusOfStrays(t *testing.T) {
	v := runtest.Everything(t)
	v.Strays = []string{"aip.done", "nothing-like-it.done", "web"}
	var b bytes.Buffer
	if err := cli.PrintJSON(&b, runs.NewReport(v)); err != nil {
		t.Fatal(err)
	}
	var report struct {
		Strays []struct{ File, Node string }
	}
	if err := json.Unmarshal(b.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(report.Strays), "[{aip.done api} {nothing-like-it.done } {web web}]"; got != want {
		t.Errorf("strays %s, want %s", got, want)
	}
	text := renderStatus(v, runtest.Noon, cli.Look{})
	for _, s := range report.Strays {
		if !strings.Contains(text, "/"+s.File+" belongs to no node") {
			t.Errorf("the table does not name %s:\n%s", s.File, text)
		}
	}
}

func TestStatusIsSafeToPrint(t *testing.T) {
	if got := renderStatus(runtest.Everything(t), runtest.Noon, cli.Look{}); strings.Contains(got, "\x1b") {
		t.Errorf("what a program wrote reaches the terminal: %q", got)
	}
}

func TestStatusJSON(t *testing.T) {
	var b bytes.Buffer
	if err := cli.PrintJSON(&b, runs.NewReport(runtest.Everything(t))); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "status/status.json", b.String())
	var shape struct {
		Run   map[string]any
		Nodes []map[string]any
	}
	if err := json.Unmarshal(b.Bytes(), &shape); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"id", "state", "session", "config", "used"} {
		if _, ok := shape.Run[key]; !ok {
			t.Errorf("run has no %q", key)
		}
	}
	for _, n := range shape.Nodes {
		for _, key := range []string{"name", "role", "agent", "branch", "depends_on", "label", "status", "exit_code", "attempts", "started_at", "ended_at", "source", "age", "reason", "used"} {
			if _, ok := n[key]; !ok {
				t.Errorf("node %v has no %q", n["name"], key)
			}
		}
	}
}

// BenchmarkStatus is what `status` costs beside reading the run.
func BenchmarkStatus(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			var config strings.Builder
			config.WriteString("session: s\nagents:\n")
			for i := range n {
				fmt.Fprintf(&config, "  - {name: n%d, agent: command, task: 'true'}\n", i)
			}
			v := runtest.View(b, config.String())
			b.ReportAllocs()
			for b.Loop() {
				renderStatus(v, runtest.Noon, cli.Look{Width: 120, Color: true})
			}
		})
	}
}

// Where nodes are is shown if another machine has one, and since when it is silent.
func TestStatusElsewhere(t *testing.T) {
	heard := time.Date(2026, 3, 1, 14, 3, 0, 0, time.Local)
	place := &run.Place{Far: "ssh://box"}
	v := runtest.View(t, `
session: shop
agents:
  - {name: api, agent: command, task: "true"}
  - {name: web, agent: command, task: "true"}
  - {name: docs, agent: command, task: "true"}
  - {name: tests, role: review, agent: command, task: "true", depends_on: [api]}
`,
		run.Record{Type: run.RunnerUp, At: runtest.At(-10)},
		run.Record{Type: run.Started, Node: "api", Attempt: 1, At: runtest.At(-9), Place: place},
		run.Record{Type: run.Claimed, Node: "api", Attempt: 1, At: runtest.At(-9), Value: "box"},
		run.Record{Type: run.Began, Node: "api", Attempt: 1, At: runtest.At(-9)},
		run.Record{Type: run.Silent, Node: "api", Attempt: 1, At: runtest.At(-1), Value: heard.Format(time.RFC3339Nano)},
		run.Record{Type: run.Started, Node: "web", Attempt: 1, At: runtest.At(-9), Place: place},
		run.Record{Type: run.Started, Node: "docs", Attempt: 1, At: runtest.At(-9), Place: &run.Place{}},
	)
	v.Holder = &signals.Holder{PID: 42}
	golden.Equal(t, "status/elsewhere.txt", renderStatus(v, runtest.Noon, cli.Look{Width: 140}))
}
