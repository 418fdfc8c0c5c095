package api_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/control"
	"cmux/agents/control/configfile"
	"cmux/agents/control/graphs"
	"cmux/agents/control/merging"
	"cmux/agents/control/overview"
	"cmux/dag"
)

// A run is drawn, compared and looked at before it is merged, and what is edited
// unfolds and grows before it is started.
func TestGraphOfARun(t *testing.T) {
	w := newWorld(t)
	git := w.repository(t)
	const config = `session: scratch # mine
defaults: {agent: command, role: build}
agents:
  - {name: a, task: "echo one > same"}
  - {name: b, task: "echo two > same"}
  - {name: c, task: "echo three > c", depends_on: [a]}
  - {name: d, task: "exit 7", depends_on: [c]}
`
	first := w.carried(t, config, dag.RunFailed)
	one := "/api/runs/" + first.Plan.ID
	var g graphs.RunGraph
	w.must("GET", one+"/graph", "", &g)
	if !slices.Equal(g.Critical, []string{"a", "c", "d"}) || g.Seconds <= 0 || g.Run.State != dag.RunFailed || g.Run.Past || !g.Run.Headless || g.Run.MaxParallel != 8 || g.Run.StartedAt == nil {
		t.Errorf("%+v", g)
	}
	if d := g.Nodes[3]; d.Name != "d" || !d.Critical || len(d.Spans) != 1 || d.Spans[0].Ended == nil || d.Spans[0].Label == nil || d.Spans[0].Label.State != dag.NodeFailed || g.Nodes[1].Critical {
		t.Errorf("%+v", d)
	}
	// What failed of itself needs a person, with what it can be told.
	var needs items[overview.Need]
	w.must("GET", "/api/needs", "", &needs)
	if i := slices.IndexFunc(needs.Items, func(n overview.Need) bool { return n.Kind == overview.NeedFailure }); i < 0 {
		t.Errorf("%+v", needs)
	} else if n := needs.Items[i]; n.Name != "d" || n.Run != first.Plan.ID || n.Label != "failed (exit 7)" || n.Since.IsZero() || !slices.Contains(n.Orders, "retry") || !slices.Contains(n.Orders, "override") {
		t.Errorf("%+v", n)
	}
	var q merging.MergeQueue
	w.must("GET", one+"/merge/queue", "", &q)
	outcomes := func() (all []string) {
		for _, b := range q.Branches {
			all = append(all, strings.TrimSpace(b.Node+" "+b.Outcome+" "+strings.Join(b.Conflict, "+")))
		}
		return all
	}
	main := git(w.root, "rev-parse", "main")
	if want := []string{"a merged", "b conflict same", "c merged", "d left out"}; !slices.Equal(outcomes(), want) || q.Target != "main" || q.Commit != main || q.Branches[3].Why != "failed (exit 7)" {
		t.Errorf("%q, %+v; want %q", outcomes(), q, want)
	}
	if now := git(w.root, "rev-parse", "main"); now != main {
		t.Error("main has moved")
	}
	if code, text := w.ask("GET", one+"/merge/queue?into=nowhere", ""); code != 400 || !strings.Contains(text, "there is no branch") {
		t.Errorf("%d %s", code, text)
	}
	// A second run, of another configuration.
	second := w.carried(t, strings.Replace(config, `"exit 7"`, `"true"`, 1)+"  - {name: e, task: 'true', role: review}\n", dag.RunDone)
	var c graphs.Compared
	w.must("GET", fmt.Sprintf("/api/runs/compare?a=%s&b=%s", first.Plan.ID, second.Plan.ID), "", &c)
	if len(c.Nodes) != 5 || c.Nodes[3].Changed != "task" || c.Nodes[0].Changed != "" || c.Nodes[4].A != nil || c.Nodes[4].B.Attempts != 1 || c.A.Failed != 1 || c.B.Done != 5 {
		t.Errorf("%+v", c)
	}
	w.must("GET", one+"/graph", "", &g)
	if !g.Run.Past {
		t.Error("the first run is not past")
	}
	// What it takes is what it took; who was never seen takes a minute.
	text := strings.Replace(config, `"exit 7"`, `"true"`, 1) + "  - {name: new, task: 'true', depends_on: [b]}\n"
	var u graphs.Unfolded
	w.must("POST", "/api/graph/unfold", body(t, map[string]any{"text": text, "max_parallel": 1}), &u)
	if len(u.Slots) != 5 || u.Parallel != 1 || !slices.Equal(u.Estimated, []string{"a", "b", "c", "d"}) || u.Seconds < 60 || u.Seconds > 120 || !slices.Equal(u.Critical, []string{"b", "new"}) {
		t.Errorf("%+v", u)
	}
	for k := 1; k < len(u.Slots); k++ {
		if u.Slots[k].Start < u.Slots[k-1].End {
			t.Errorf("%+v overlaps", u.Slots)
		}
	}
	w.must("POST", "/api/graph/unfold", "{}", &u)
	var grown struct {
		Text  string
		Check graphs.GraphCheck
	}
	w.must("POST", "/api/graph/add", body(t, map[string]any{"text": config, "node": map[string]any{"name": "more", "task": "true", "depends_on": []string{"a"}}}), &grown)
	if !strings.HasPrefix(grown.Text, config) || len(grown.Check.Faults) != 0 || len(grown.Check.Nodes) != 5 {
		t.Errorf("%+v", grown)
	}
	for _, bad := range []map[string]any{{"text": config, "node": map[string]any{"name": " "}}, {"text": "agents: []\n", "node": map[string]any{"name": "x"}}} {
		if code, text := w.ask("POST", "/api/graph/add", body(t, bad)); code != 400 {
			t.Errorf("%d %s", code, text)
		}
	}
	if code, text := w.ask("POST", "/api/graph/unfold", `{"text":"agents: 7"}`); code != 400 {
		t.Errorf("%d %s", code, text)
	}
}

// A first configuration is written from answers, with what the project has; no file is.
func TestGraphDraft(t *testing.T) {
	w := newWorld(t)
	w.repository(t)
	w.write("go.mod", "module shop\n")
	var start struct {
		There         bool
		Session       string
		Kinds, Checks []string
	}
	w.must("GET", "/api/graph/start", "", &start)
	if start.There || start.Session == "" || !slices.ContainsFunc(start.Checks, func(c string) bool { return strings.HasPrefix(c, "go ") }) {
		t.Errorf("%+v", start)
	}
	var made struct {
		Text  string
		Check graphs.GraphCheck
	}
	ask := map[string]any{"session": start.Session, "kind": "claude", "verify": "go test ./...", "nodes": []map[string]any{
		{"name": "api", "task": "Serve: the items\n\n- all of them\n"}, {"name": "approval", "role": "gate", "after": "api"}, {"name": "ship", "kind": "command", "task": "make ship", "after": "approval"},
	}}
	w.must("POST", "/api/graph/draft", body(t, ask), &made)
	if len(made.Check.Faults) != 0 || len(made.Check.Nodes) != 3 || made.Check.Session != start.Session || !strings.Contains(made.Text, "verify: [\"go test ./...\"]") {
		t.Errorf("%+v", made)
	}
	// The open issues come from gh, each with its node.
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte("#!/bin/sh\necho '[{\"number\": 7, \"title\": \"Fix the login\", \"url\": \"https://x/7\"}]'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.p.Env = append(slices.Clone(w.p.Env), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var issues items[struct{ Name, Title, Task string }]
	if w.must("GET", "/api/graph/issues", "", &issues); len(issues.Items) != 1 || issues.Items[0].Name != "7-fix-the-login" || !strings.Contains(issues.Items[0].Task, "Issue #7: https://x/7") {
		t.Errorf("%+v", issues)
	}
	var file configfile.ConfigText
	if w.must("GET", "/api/graph", "", &file); file.There {
		t.Error("the draft was written")
	}
	ask["nodes"] = []map[string]any{{"name": "a", "task": "x", "after": "gone"}}
	if w.must("POST", "/api/graph/draft", body(t, ask), &made); len(made.Check.Faults) == 0 {
		t.Errorf("a node after one that there is not: %+v", made.Check)
	}
	// A session whose branches git could not make is a fault of its line, as a start would refuse it.
	var check graphs.GraphCheck
	w.must("POST", "/api/graph/check", body(t, map[string]any{"text": "session: main\nagents: [{name: a, agent: command, task: 'true'}]\n"}), &check)
	if len(check.Faults) != 1 || check.Faults[0].Line != 1 || check.Faults[0].Column != 10 || !strings.Contains(check.Faults[0].Message, "git cannot make the branch main/a while there is a branch main") {
		t.Errorf("%+v", check.Faults)
	}
}

// body is a request's.
func body(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A repository without a commit gets its first one from the page, and says so until then.
func TestFirstCommit(t *testing.T) {
	w := newWorld(t)
	git := w.repository(t)
	git(w.root, "update-ref", "-d", "HEAD") // as git init leaves it
	w.write("go.mod", "module shop\n")
	step := func() control.OnboardingStep {
		t.Helper()
		var o control.Onboarding
		w.must("GET", "/api/onboarding", "", &o)
		i := slices.IndexFunc(o.Steps, func(s control.OnboardingStep) bool { return s.ID == control.StepCommit })
		if i < 0 || strings.Contains(o.Steps[0].Detail, "without commits") {
			t.Fatalf("%+v", o.Steps)
		}
		return o.Steps[i]
	}
	if s := step(); s.Done || !strings.Contains(s.Detail, "go.mod") {
		t.Errorf("%+v", s)
	}
	if code, text := w.ask("POST", "/api/runs/plan", "{}"); code != 409 {
		t.Errorf("%d %s", code, text)
	}
	var made control.FirstCommit
	w.must("POST", "/api/first-commit", "", &made)
	if made.Files == 0 || made.Commit != git(w.root, "rev-parse", "HEAD") || !step().Done {
		t.Errorf("%+v", made)
	}
	if code, text := w.ask("POST", "/api/first-commit", ""); code != 409 || !strings.Contains(text, "has a commit already") {
		t.Errorf("%d %s", code, text)
	}
}
