package control

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/merging"
	"cmux/agents/control/runs"
	"cmux/agents/control/terminals"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/worktree/hint"
)

const twoBuilt = `session: scratch
defaults: {agent: command}
agents:
  - {name: api, task: 'true', verify: ["touch verified"]}
  - {name: web, task: 'true', verify: ["touch verified"]}
`

// onBox records that attempt 1 of a node works on box; it then has these records. The place
// tells paths that are there as well as on box.
func (s *scratch) onBox(node string, then ...run.Record) {
	s.t.Helper()
	s.record(append([]run.Record{
		{Type: run.Started, Node: node, Attempt: 1, Place: &run.Place{Dir: s.Root, Tree: s.Root, Commit: s.gitIn(s.Root, "rev-parse", "HEAD"), Far: "ssh://box"}},
		{Type: run.Claimed, Node: node, Attempt: 1, Value: "box"},
		{Type: run.Began, Node: node, Attempt: 1, PID: os.Getpid(), Pane: "%0"},
		{Type: run.Conversed, Node: node, Attempt: 1, Conversation: "c-1"},
	}, then...)...)
}

// away is a scratch in which api works on box.
func away(t *testing.T) *scratch {
	t.Helper()
	s := newScratch(t, twoBuilt)
	s.begin(runner.StartOptions{Headless: true})
	s.onBox("api")
	return s
}

// Checks run where the work is, never in the project's own files.
func TestVerifyElsewhere(t *testing.T) {
	s := away(t)
	verify := func(node, text, try string) {
		t.Helper()
		_, err := s.Merging().Verify(t.Context(), merging.Verify{Node: node, Output: io.Discard})
		refused(t, err, text, try)
		if _, err := os.Stat(filepath.Join(s.Root, "verified")); err == nil {
			t.Fatal("the checks ran in the project's root")
		}
	}
	const where = ", or git worktree add ../api-checks scratch/api and run them there"
	verify("api", "api worked on box: its checks run there", "cmux agents logs api -f"+where)
	s.record(ended("api", dag.Done, ""))
	verify("api", "api worked on box: its checks run there", "cmux agents retry api"+where)
	// A node whose host lent it no worktree.
	s.record(run.Record{Type: run.Started, Node: "web", Attempt: 1, Place: &run.Place{Dir: s.Root}}, ended("web", dag.Done, ""))
	verify("web", "web has no worktree here, and its checks do not run in "+s.Root,
		"cmux agents retry web, or git worktree add ../web-checks scratch/web and run them there")
	// A new attempt that no machine has claimed.
	s.record(run.Record{Type: run.Reset, Node: "web"}, run.Record{Type: run.Started, Node: "web", Attempt: 2, Place: &run.Place{Far: "ssh://box"}})
	verify("web", "web waits for a machine: its checks run there",
		"cmux agents logs web -f, or git worktree add ../web-checks scratch/web and run them there")
}

// Neither a pane nor a conversation of another machine is opened here.
func TestAttachElsewhere(t *testing.T) {
	s := away(t)
	_, err := s.Terminals().Attach(t.Context(), terminals.Attach{Node: "api"})
	refused(t, err, "api works on box (running): its pane is not on this machine", "cmux agents logs api -f")
	seat, err := s.Terminals().NodeSeat(t.Context(), s.run.Plan.ID, "api")
	if err != nil || seat.Server != nil || seat.Pane != "" || !seat.Live {
		t.Errorf("%+v, %v", seat, err)
	}
	s.record(asking("api", "which?"))
	_, err = s.Terminals().Attach(t.Context(), terminals.Attach{Node: "api"})
	refused(t, err, "api works on box (needs input): its pane is not on this machine", "cmux agents answer api TEXT, or cmux agents logs api -f")
	s.record(ended("api", dag.Done, ""))
	_, err = s.Terminals().Attach(t.Context(), terminals.Attach{Node: "api"})
	refused(t, err, "the conversation of api (done) is on box, where its agent worked", "cmux agents logs api")
	s.record(run.Record{Type: run.Started, Node: "web", Attempt: 1, Place: &run.Place{Far: "ssh://box"}})
	_, err = s.Terminals().Attach(t.Context(), terminals.Attach{Node: "web"})
	refused(t, err, "web waits for a machine (running): it has no pane", "cmux agents logs web -f")
}

// What is shown of the work is what has come home, not what stands in the folder here.
func TestWorkElsewhere(t *testing.T) {
	s := away(t)
	diff := func() (out, errs bytes.Buffer, err error) {
		err = s.Runs().Diff(t.Context(), runs.Diff{Node: "api", Output: &out, Errors: &errs})
		return out, errs, err
	}
	_, _, err := diff()
	refused(t, err, "api: nothing has come home from box yet: there is no branch scratch/api", "")
	s.gitIn(s.Root, "worktree", "add", "-q", "-b", "scratch/api", "../home")
	s.write(filepath.Join(s.Root, "..", "home", "a"), "one\n")
	s.gitIn(filepath.Join(s.Root, "..", "home"), "add", "a")
	s.gitIn(filepath.Join(s.Root, "..", "home"), "commit", "-q", "-m", "came home")
	s.write(filepath.Join(s.Root, "README"), "a person's\n")
	out, errs, err := diff()
	if err != nil || !strings.Contains(out.String(), "+one") || strings.Contains(out.String(), "a person's") ||
		errs.String() != "cmux: api works on box: this is what has come home of its work\n" {
		t.Errorf("%v, %s\n%s", err, &errs, &out)
	}
	v, i, err := s.Runs().Node(t.Context(), "api")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Runs().Work(t.Context(), v, i)
	if err != nil || len(w.Commits) != 1 || w.Commits[0].Subject != "came home" || len(w.Stat) != 2 || !strings.HasPrefix(w.Stat[0], "a ") {
		t.Errorf("%+v, %v", w, err)
	}
	if got := s.Runs().Sights(t.Context(), v, i); len(got) != 1 || got[0] != v.Run.NodeDir("api") {
		t.Errorf("looked at: %v", got)
	}
	c, err := s.Runs().NodeChanges(t.Context(), v.Run.Plan.ID, "api", runs.Part{})
	if err != nil || c.Live || len(c.Files) != 1 || c.Files[0].Path != "a" {
		t.Errorf("%+v, %v", c, err)
	}
	f, err := s.Runs().Fence(t.Context(), "api")
	if err != nil || f.Machine != "box" || f.System != "" || f.Missing != "" {
		t.Errorf("%+v, %v", f, err)
	}
}

// Without a runner nothing here ends what is on another machine; what does is said.
func TestStopOfWhatIsAway(t *testing.T) {
	s := away(t)
	_, err := s.Commands().Stop(t.Context())
	refused(t, err, "run "+s.run.Plan.ID+" is stopped, but cmux cannot end api on box: the run has no runner, and only a runner reaches other machines",
		"cmux agents resume, then cmux agents stop; or cmux machines stop on that machine")
	v, err := s.Runs().View(t.Context())
	if err != nil || v.RunState != dag.RunStopped || v.Nodes[0].Status.Label.State != dag.NodeRunning {
		t.Errorf("%s, %s, %v", v.RunState, v.Nodes[0].Status.Label, err)
	}
	c, err := s.Commands().Cancel(t.Context(), "api")
	if err != nil || c.Done || c.Note != "its agent works on box, and no runner: this takes effect at cmux agents resume" || s.pending() != "stop api" {
		t.Errorf("%+v, %v; pending %q", c, err, s.pending())
	}
	_, err = s.Remains().PlanCleanup(t.Context())
	_, try := hint.Explain(err)
	if try != "cmux agents stop api, then cmux agents resume" {
		t.Errorf("cleanup: %v", err)
	}
	// The way out of a run that has ended.
	s.record(run.Record{Type: run.Overridden, Node: "api", How: run.HowOverride}, run.Record{Type: run.Overridden, Node: "web", How: run.HowOverride}, run.Record{Type: run.RunEnded, How: string(dag.RunDone)})
	_, err = s.Commands().Stop(t.Context())
	_, try = hint.Explain(err)
	if try != "cmux agents stop api, then cmux agents resume" {
		t.Errorf("stop after the end: %v", err)
	}
	if v, err := s.Commands().Resumable(t.Context()); err != nil || len(v.Pending) != 1 {
		t.Errorf("resume: %v", err)
	}
}

// A cleanup beside a runner that stays with its run, which has ended.
func TestCleanupElsewhere(t *testing.T) {
	s := away(t)
	s.record(run.Record{Type: run.Overridden, Node: "api", How: run.HowOverride}, run.Record{Type: run.Overridden, Node: "web", How: run.HowOverride}, run.Record{Type: run.RunEnded, How: string(dag.RunDone)})
	s.hold()
	s.record(run.Record{Type: run.RunEnded, How: string(dag.RunDone)})
	_, err := s.Remains().PlanCleanup(t.Context())
	refused(t, err, "api on box is still running", "cmux agents stop api")
}

// A past run is not pruned while an attempt of it works on another machine.
func TestPruneElsewhere(t *testing.T) {
	s := away(t)
	old := s.run
	s.record(run.Record{Type: run.Overridden, Node: "api", How: run.HowOverride}, run.Record{Type: run.Overridden, Node: "web", How: run.HowOverride}, run.Record{Type: run.RunEnded, How: string(dag.RunDone)})
	s.record(run.Record{Type: run.Vanished, Node: "api", Attempt: 1, How: run.HowStopped}) // a new run begins
	s.begin(runner.StartOptions{Headless: true})
	now := s.run
	why := func() string {
		t.Helper()
		plan, err := s.Remains().PlanPruning(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range plan.Kept {
			if x.ID == old.Plan.ID {
				return x.Why
			}
		}
		return ""
	}
	if got := why(); got != "" {
		t.Errorf("kept: %s", got)
	}
	s.run = old
	s.record(run.Record{Type: run.Started, Node: "web", Attempt: 1, Place: &run.Place{Far: "ssh://box", Machine: "box"}})
	s.run = now
	if got := why(); got != "still at work: web on box" {
		t.Errorf("kept: %q", got)
	}
}

// Status tells where an attempt is and since when its machine is silent.
func TestReportElsewhere(t *testing.T) {
	s := away(t)
	heard := time.Date(2026, 3, 1, 14, 3, 0, 0, time.Local)
	report := func() (runs.NodeReport, []runs.Notice, *runs.Inspection) {
		t.Helper()
		v, err := s.Runs().View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return runs.NewReport(v).Nodes[0], runs.Notices(v), runs.Inspect(v, 0)
	}
	says := func(all []runs.Notice, text string) bool {
		for _, n := range all {
			if n.Text == text {
				return true
			}
		}
		return false
	}
	n, notices, in := report()
	if n.Where != "box" || n.Machine != "box" || n.HeardAt != nil || n.Label != "running" {
		t.Errorf("%+v", n)
	}
	if in.Where != "box" || in.Machine != "box" || in.HeardAt != nil || strings.Contains(strings.Join(in.Orders, " "), "attach") {
		t.Errorf("%+v", in)
	}
	if !says(notices, "still at work without a runner: api on box (cmux agents resume collects their work)") {
		t.Errorf("%+v", notices)
	}
	s.record(run.Record{Type: run.Silent, Node: "api", Attempt: 1, Value: heard.Format(time.RFC3339Nano)})
	n, notices, in = report()
	if n.HeardAt == nil || !n.HeardAt.Equal(heard) || in.HeardAt == nil || !in.HeardAt.Equal(heard) {
		t.Errorf("%+v, %+v", n, in)
	}
	if !says(notices, "no contact with box since 14:03; its agents work on: api") {
		t.Errorf("%+v", notices)
	}
	s.record(run.Record{Type: run.Silent, Node: "api", Attempt: 1})
	if n, _, _ = report(); n.HeardAt != nil {
		t.Errorf("heard again: %+v", n)
	}
}
