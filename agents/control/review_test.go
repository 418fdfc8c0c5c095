package control

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmux/agents/control/commands"
	"cmux/agents/control/merging"
	"cmux/agents/control/overview"
	"cmux/agents/control/remains"
	"cmux/agents/control/runs"
	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
	"cmux/worktree"
)

// Who decides about a commit that the branch has left behind is told so, and
// what is told to do shows what there is now.
func TestJudgeOfWhatMoved(t *testing.T) {
	s := worked(t)
	w, err := s.Runs().Delivery(t.Context(), "a")
	if err != nil || w.State != runs.ReviewOpen || len(w.Files) != 1 || w.Files[0].Path != "a" || len(w.Checks) != 1 || !w.Checks[0].Passed {
		t.Fatalf("%+v, %v", w, err)
	}
	tree := filepath.Join(filepath.Dir(s.Root), "scratch-a")
	s.write(filepath.Join(tree, "more"), "m")
	s.gitIn(tree, "add", "more")
	s.gitIn(tree, "commit", "-q", "-m", "more")
	_, err = s.Commands().Judge(t.Context(), commands.Judgement{Node: "a", Verdict: run.VerdictApproved, Commit: w.Commit})
	now := s.gitIn(s.Root, "rev-parse", "scratch/a")
	refused(t, err, "scratch/a has moved since you looked at it: "+w.Commit[:12]+" -> "+now[:12], "cmux agents review a")
	w, err = s.Runs().Delivery(t.Context(), "a")
	if err != nil || w.Commit != now || len(w.Commits) != 2 || w.Decision != nil {
		t.Fatalf("%+v, %v", w, err)
	}
	if res, err := s.Commands().Judge(t.Context(), commands.Judgement{Node: "a", Verdict: run.VerdictApproved, Commit: w.Commit}); err != nil || res.Commit != now {
		t.Fatalf("%+v, %v", res, err)
	}
	// What was approved is what is merged, though the node had left less.
	if _, err := s.Merging().Merge(t.Context(), quiet(merging.Merge{})); err != nil {
		t.Fatal(err)
	}
	if got := s.gitIn(s.Root, "show", "main:more"); got != "m" {
		t.Errorf("main holds %q", got)
	}
}

// What is sent back and waits for a runner is not decided about, and no merge
// takes it; once it was done again it is.
func TestJudgeOfWhatIsSentBack(t *testing.T) {
	s := worked(t)
	if _, err := s.run.Ask(run.Request{Op: run.OpRetry, Node: "b", Text: "more"}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Commands().Judge(t.Context(), commands.Judgement{Node: "b", Verdict: run.VerdictApproved})
	refused(t, err, "b is sent back and waits for a runner", "cmux agents resume")
	var told []string
	q := quiet(merging.Merge{})
	q.Tell = func(line string) { told = append(told, line) }
	if res, err := s.Merging().Merge(t.Context(), q); err != nil || len(res.Contained)+len(res.Merged) != 1 || len(told) != 1 || told[0] != "left out: b (sent back in the review)" {
		t.Fatalf("%+v, %v, told %q", res, err, told)
	}
	if err := s.run.WriteEnv(s.Env); err != nil { // as a resume does
		t.Fatal(err)
	}
	s.carry(dag.RunDone)
	if _, err := s.Commands().Judge(t.Context(), commands.Judgement{Node: "b", Verdict: run.VerdictApproved}); err != nil {
		t.Fatal(err)
	}
}

// The work of a node whose branch and worktree are gone can still be reviewed,
// as its node left it.
func TestReviewWithoutABranch(t *testing.T) {
	s := newScratch(t, "session: scratch\nreview: required\nagents:\n  - {name: a, agent: command, task: 'echo 1 > a'}\n")
	s.begin(runner.StartOptions{Headless: true})
	s.carry(dag.RunDone)
	tree := filepath.Join(filepath.Dir(s.Root), "scratch-a")
	if err := os.RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	s.gitIn(s.Root, "worktree", "prune")
	s.gitIn(s.Root, "branch", "-q", "-D", "scratch/a")
	all, err := s.Runs().Deliveries(t.Context())
	if err != nil || len(all) != 1 || all[0].State != runs.ReviewOpen || len(all[0].Files) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := s.Commands().Judge(t.Context(), commands.Judgement{Node: "a", Verdict: run.VerdictApproved}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Merging().Merge(t.Context(), quiet(merging.Merge{})); err != nil {
		t.Fatal(err)
	}
	if got := s.gitIn(s.Root, "show", "main:a"); got != "1" {
		t.Errorf("main holds %q", got)
	}
}

// What was merged, and a run that was cleaned up, wait for nobody.
func TestNothingWaitsAfterTheMerge(t *testing.T) {
	s := worked(t)
	waits := func() (names []string) {
		t.Helper()
		l, err := s.Overview().Needs(t.Context())
		if err != nil || l.Total != len(l.Items) {
			t.Fatalf("%+v, %v", l, err)
		}
		for _, n := range l.Items {
			names = append(names, n.Kind+" "+n.Name)
		}
		return names
	}
	if got := waits(); !slices.Equal(got, []string{"review a", "review b"}) {
		t.Fatalf("before the merge: %q", got)
	}
	if _, err := s.Merging().Merge(t.Context(), quiet(merging.Merge{})); err != nil {
		t.Fatal(err)
	}
	if got := waits(); got != nil {
		t.Errorf("after the merge: %q", got)
	}
	if w, err := s.Runs().Delivery(t.Context(), "a"); err != nil || w.State != runs.ReviewMerged || len(w.Commits) != 1 {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestNothingWaitsAfterTheCleanup(t *testing.T) {
	s := newScratch(t, "session: scratch\nagents:\n  - {name: a, agent: command, task: 'exit 3'}\n")
	s.begin(runner.StartOptions{Headless: true})
	s.carry(dag.RunFailed)
	if l, err := s.Overview().Needs(t.Context()); err != nil || len(l.Items) != 1 || l.Items[0].Kind != overview.NeedFailure {
		t.Fatalf("%+v, %v", l, err)
	}
	c, err := s.Remains().PlanCleanup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remains().Cleanup(t.Context(), c, func(remains.Removal) {}); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Overview().Needs(t.Context()); err != nil || len(l.Items) > 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

// The review of a node's work has what the nodes that reviewed it said, also behind a
// merge, and whether they read the work as it is now. A command that did not fail says
// nothing.
func TestReviewsByNodes(t *testing.T) {
	s := newScratch(t, `session: scratch
agents:
  - {name: a, agent: command, task: "true"}
  - {name: both, role: merge, depends_on: a}
  - {name: look, agent: scripted, role: review, task: "true", depends_on: both}
  - {name: fails, agent: command, role: review, task: "true", depends_on: a}
  - {name: later, agent: scripted, role: review, task: "true", depends_on: a}
  - {name: publish, agent: command, role: review, task: "true", depends_on: both}
  - {name: other, agent: scripted, role: review, task: "true"}
`)
	s.Kinds = agent.NewKinds(command.Kind(), scripted.Kind(true))
	s.begin(runner.StartOptions{Headless: true})
	commit := func(text string) string {
		t.Helper()
		s.gitIn(s.Root, "checkout", "-q", "-B", "scratch/a", s.run.Plan.Base)
		s.write(filepath.Join(s.Root, "a"), text)
		s.gitIn(s.Root, "add", "a")
		s.gitIn(s.Root, "commit", "-q", "-m", "the work")
		s.gitIn(s.Root, "checkout", "-q", "main")
		return s.gitIn(s.Root, "rev-parse", "scratch/a")
	}
	tip := commit("one")
	end := func(node, read string, e run.End) {
		s.record(run.Record{Type: run.Started, Node: node, Attempt: 1, Place: &run.Place{Commit: read}},
			run.Record{Type: run.AttemptEnd, Node: node, Attempt: 1, End: &e})
	}
	end("a", s.run.Plan.Base, run.End{Outcome: dag.Done, Tip: tip})
	s.record(run.Record{Type: run.Started, Node: "look", Attempt: 1, Place: &run.Place{Commit: tip}},
		run.Record{Type: run.Output, Node: "look", Attempt: 1, Key: "verdict", Value: "refuse"},
		run.Record{Type: run.AttemptEnd, Node: "look", Attempt: 1, End: &run.End{Outcome: dag.Done, Summary: "a:1 is too short"}})
	end("fails", tip, run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Detail: "it does not build"})
	w, err := s.Runs().Delivery(t.Context(), "a")
	if err != nil || len(w.Reviews) != 3 {
		t.Fatalf("%+v, %v", w, err)
	}
	for _, want := range []runs.AgentReview{
		{Node: "look", Label: "done", Text: "a:1 is too short", Outputs: map[string]string{"verdict": "refuse"}},
		{Node: "fails", Label: "failed (reported)", Text: "it does not build"},
		{Node: "later", Label: "ready"},
	} {
		i := slices.IndexFunc(w.Reviews, func(r runs.AgentReview) bool { return r.Node == want.Node })
		if i < 0 {
			t.Fatalf("nothing of %s in %+v", want.Node, w.Reviews)
		}
		got := w.Reviews[i]
		if got.At.IsZero() != (want.Text == "") {
			t.Errorf("%+v", got)
		}
		if got.At = want.At; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\nwant %+v", got, want)
		}
	}
	var b strings.Builder
	if err := w.Write(&b); err != nil || !strings.Contains(b.String(), "\nreviewed by look: done\na:1 is too short\nverdict=refuse\n") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	commit("two")
	if w, err = s.Runs().Delivery(t.Context(), "a"); err != nil || !w.Reviews[0].Earlier {
		t.Errorf("%+v, %v", w, err)
	}
}

// After work was sent back, what changed since can be looked at alone.
func TestChangesSinceItWasSentBack(t *testing.T) {
	s := newScratch(t, "session: scratch\nagents:\n  - {name: a, agent: command, task: 'echo line >> a'}\n")
	s.begin(runner.StartOptions{Headless: true})
	s.carry(dag.RunDone)
	since := runs.Part{Committed: true, Decided: true}
	_, err := s.Runs().NodeChanges(t.Context(), s.run.Plan.ID, "a", since)
	refused(t, err, "a has not changed since a decision about its work", "")
	was := s.gitIn(s.Root, "rev-parse", "scratch/a")
	if _, err := s.run.Ask(run.Request{Op: run.OpRetry, Node: "a", Text: "one more"}); err != nil {
		t.Fatal(err)
	}
	if err := s.run.WriteEnv(s.Env); err != nil { // as a resume does
		t.Fatal(err)
	}
	s.carry(dag.RunDone)
	w, err := s.Runs().Delivery(t.Context(), "a")
	if err != nil || w.State != runs.ReviewOpen || w.Since != was || w.Commit == was || w.Decision == nil || w.Decision.Comment != "one more" {
		t.Fatalf("%+v, %v", w, err)
	}
	c, err := s.Runs().NodeChanges(t.Context(), s.run.Plan.ID, "a", since)
	if err != nil || c.Start != was || len(c.Files) != 1 || c.Files[0].How != worktree.FileModified || c.Files[0].Added != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	f, err := s.Runs().NodeFile(t.Context(), s.run.Plan.ID, "a", "a", "", since)
	if err != nil || f.Old.Text != "line\n" || f.New.Text != "line\nline\n" {
		t.Errorf("%+v, %v", f, err)
	}
}
