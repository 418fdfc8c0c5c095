package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/finding"
	"cmux/agents/control/project"
	"cmux/agents/control/remains"
	"cmux/agents/control/runs"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/hint"
)

func TestRuns(t *testing.T) {
	s := begun(t, chain)
	s.record(run.Record{Type: run.RunnerUp}, started("api"), ended("api", dag.Done, ""))
	damage := filepath.Join(filepath.Dir(s.run.Dir), "20200101-000000.000-abcdef")
	if err := os.MkdirAll(damage, 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(damage, "plan.json"), "{")
	all, damaged, err := s.Runs().List(t.Context())
	if err != nil || len(all) != 1 || all[0].Done != 1 || all[0].Nodes != 3 || all[0].ID != s.run.Plan.ID || len(damaged) != 1 {
		t.Errorf("%+v, damaged %v, %v", all, damaged, err)
	}
	names, err := s.Runs().Nodes(t.Context(), "", func(n *dag.Node) bool { return n.Role == dag.RoleGate })
	if err != nil || strings.Join(names, " ") != "look" {
		t.Errorf("%q, %v", names, err)
	}
}

// findings are what doctor finds, except the machine's programs: WHAT: DETAIL.
func (s *scratch) findings() map[string]finding.Finding {
	all := make(map[string]finding.Finding)
	for _, f := range Examine(s.t.Context(), s.Caller) {
		all[f.What] = f
	}
	return all
}

func TestExamine(t *testing.T) {
	s := newScratch(t, "session: scratch\nagents:\n  - {name: a, agent: command, task: 'true'}\n")
	if got := s.findings()["configuration"]; !got.OK || got.Detail != ".cmux-agents.yml: 1 agent, 0 warnings" {
		t.Errorf("%+v", got)
	}
	s = begun(t, chain)
	got := s.findings()
	if f := got["run"]; f.OK || !strings.HasSuffix(f.Detail, ": no runner") || f.Try != "cmux agents resume" {
		t.Errorf("%+v", f)
	}
	s.record(started("api"))
	if f := s.findings()["run"]; f.OK || !strings.HasSuffix(f.Detail, "; still at work without a runner: api") || f.Try != "cmux agents resume, or cmux agents stop to end them" {
		t.Errorf("%+v", f)
	}
	s.write(filepath.Join(s.run.Signals(), "wbe.done"), "")
	s.write(s.Configurations().Config(""), "session: [")
	got = s.findings()
	if f := got["markers"]; f.OK || !strings.Contains(f.Detail, "wbe.done (did you mean web.done?)") {
		t.Errorf("%+v", f)
	}
	if f := got["configuration"]; f.OK || !strings.HasPrefix(f.Detail, ".cmux-agents.yml:2:") {
		t.Errorf("%+v", f)
	}
	if f := got["plan"]; !f.OK || f.Try != "cmux agents update" {
		t.Errorf("%+v", f)
	}
}

func TestExamineWithoutAProject(t *testing.T) {
	s := newScratch(t, "")
	s.Dir = t.TempDir()
	f := s.findings()["project"]
	if f.OK || f.Try != "git init" {
		t.Errorf("%+v", f)
	}
}

func TestSnapshots(t *testing.T) {
	s := worked(t)
	tree := filepath.Join(filepath.Dir(s.Root), "scratch-a")
	s.write(filepath.Join(tree, "untracked"), "three\n")
	c, err := s.Remains().PlanCleanup(t.Context())
	if err == nil {
		_, err = s.Remains().Cleanup(t.Context(), c, func(remains.Removal) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Remains().Snapshots(t.Context())
	if err != nil || len(all) != 1 || all[0].Path != tree || all[0].Branch != "scratch/a" {
		t.Fatalf("%+v, %v", all, err)
	}
	s.Dir = filepath.Dir(s.Root)
	got, err := s.Remains().Restore(t.Context(), remains.Restore{Snapshot: "a", To: "rescued", Branch: "rescued"})
	if err != nil || got.Path != filepath.Join(s.Dir, "rescued") || got.Branch != "rescued" || got.Snapshot != all[0].ID {
		t.Fatalf("%+v, %v", got, err)
	}
	if b, err := os.ReadFile(filepath.Join(got.Path, "untracked")); err != nil || string(b) != "three\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := s.Remains().Restore(t.Context(), remains.Restore{Snapshot: "nobody"}); err == nil {
		t.Error("a snapshot that is not there was restored")
	}
}

// What happened is told in a line; what goes without saying is not.
func TestStory(t *testing.T) {
	s := begun(t, chain)
	h := run.NewHistory(s.run.Plan.Graph)
	tell := func(rec run.Record) string {
		rec.At = s.clock(time.Minute)
		h.Apply(&rec)
		return runs.Story(h, &rec)
	}
	end := ended("api", dag.Failed, dag.ReasonExit)
	end.End.Detail = "out of\x1b[31m memory"
	for _, c := range []struct {
		rec  run.Record
		want string
	}{
		{run.Record{Type: run.RunnerUp}, ""},
		{started("api"), "api: started"},
		{asking("api", "Which one?"), "api: needs input: Which one?"},
		{run.Record{Type: run.Stopped}, "stopped: ending api, for at most 30s"},
		{end, "api: failed (exit 1) after 3m00s: out of memory"},
		{run.Record{Type: run.Blocked, Node: "web", Cause: "api"}, "web: blocked by api"},
		{run.Record{Type: run.Requested, Node: "web", How: "retry"}, ""},
		{run.Record{Type: run.Requested, Node: "web", How: "retry", Detail: "web never ran"}, "web: retry was refused: web never ran"},
		{run.Record{Type: run.Overridden, Node: "look", How: run.HowApproved, Coded: true}, "look: decided by hand (approve, with a code)"},
		{run.Record{Type: run.Incident, Detail: "a marker"}, "incident: a marker"},
	} {
		if got := tell(c.rec); got != c.want {
			t.Errorf("%s: %q, want %q", c.rec.Type, got, c.want)
		}
	}
}

func TestExplain(t *testing.T) {
	inner := errors.New("in the way")
	for _, c := range []struct {
		err       error
		text, try string
	}{
		{nil, "", ""},
		{inner, "in the way", ""},
		{hint.New(inner, "x"), "in the way", "x"},
		{errors.Join(inner, hint.New(inner, "x")), "in the way\nin the way", "x"},
		{project.Usage("x", "wrong: %w", inner), "wrong: in the way", "x"},
		{hint.New(inner, "y"), "in the way", "y"},
	} {
		if text, try := hint.Explain(c.err); text != c.text || try != c.try {
			t.Errorf("%v: %q, try %q", c.err, text, try)
		}
	}
	if err := project.Usage("", "x"); !errors.Is(err, project.ErrUsage) || err.Error() != "x" {
		t.Error(err)
	}
}
