package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
	"cmux/worktree"
)

func budget(tokens int64) func(*dag.Node) {
	return func(n *dag.Node) { n.Budget.Tokens, n.Retries.Max = tokens, 3 }
}

// spendings are conversations in which it is counted what they use. An answer
// without a Usage used 100 in and 20 out; the last one may be cut off by the end.
var spendings = []scenario{
	{name: "reads much from caches", change: budget(700),
		turns: []mt.Turn{{mt.Shell("true"), mt.Usage{Input: 7, Output: 11, CacheRead: 900_000, CacheCreation: 40}},
			{mt.Shell("true"), mt.Usage{Input: 3, Output: 5, CacheRead: 1_000_000}}, {mt.Report("nothing was needed")}, {mt.Text("end")}},
		want: run.End{Outcome: dag.Done, Summary: "nothing was needed"},
		more: func(f *fixture) {
			f.used(dag.Usage{Input: 110, Output: 36, CacheRead: 1_900_000, CacheCreate: 40}, dag.Usage{Input: 100, Output: 20})
		}},
	{name: "writes much into caches", change: budget(700),
		turns: []mt.Turn{{mt.Shell("echo kept > unsaved"), mt.Usage{Input: 1}}, {mt.Shell("true"), mt.Usage{Output: 1, CacheCreation: 699}}, {mt.Hold("never")}},
		want:  run.End{Outcome: dag.Failed, Reason: dag.ReasonBudget, Detail: "a has used 701 of its budget of 700 tokens"},
		more: func(f *fixture) {
			f.used(dag.Usage{Input: 1, Output: 1, CacheCreate: 699}, dag.Usage{})
			f.overBudget()
			f.restores("unsaved", "kept\n")
		}},
	{name: "has a sub-agent", change: budget(9000),
		turns: []mt.Turn{{spending}, {mt.Report("nothing was needed")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "nothing was needed"},
		more: func(f *fixture) {
			if got := f.Ended().Used; got.CacheCreate != 5000 || got.CacheRead != 70_000 {
				f.T.Errorf("used %+v; that of the sub-agent is not in it, once", got)
			}
		}},
	{name: "has a sub-agent that spends too much", always: true, change: budget(4000),
		turns: []mt.Turn{{spending}, {mt.Hold("never")}},
		want:  run.End{Outcome: dag.Failed, Reason: dag.ReasonBudget},
		more:  (*fixture).overBudget},
}

// spender is the script of a sub-agent that uses much.
var spender = mt.Script{Name: "spender", Turns: []mt.Turn{{mt.Shell("true"), mt.Usage{CacheCreation: 5000, CacheRead: 70_000}}, {mt.Text("finished")}}}

// spending starts that sub-agent, whose end is waited for.
var spending = mt.ToolUse{Name: "Agent", Input: map[string]any{"description": "spend", "prompt": "do #script:spender", "subagent_type": "general-purpose"}}

func TestSpendingHeadless(t *testing.T) {
	t.Parallel()
	for _, c := range spendings {
		c.test(t, false)
	}
}

func TestSpendingInAPane(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for _, c := range spendings {
		c.test(t, true)
	}
}

// used checks what the attempt used, the last answer perhaps included.
func (f *fixture) used(want, last dag.Usage) {
	f.T.Helper()
	if got := f.Ended().Used; got != want && got != want.Plus(last) {
		f.T.Errorf("used %+v, want %+v, or with the last answer %+v more", got, want, last)
	}
}

// overBudget checks that an end for the budget is final.
func (f *fixture) overBudget() {
	f.T.Helper()
	end := f.Ended()
	if end.Retry || end.Marker() != 1 {
		f.T.Errorf("the node will be retried: %+v", end)
	}
	if b, err := os.ReadFile(filepath.Join(f.Run.Signals(), "a.done")); err != nil || string(b) != "1\n" {
		f.T.Errorf("marker %q, %v", b, err)
	}
}

// restores checks that the snapshot of the end brings a file back.
func (f *fixture) restores(name, content string) {
	f.T.Helper()
	if err := os.Remove(filepath.Join(f.Tree, name)); err != nil {
		f.T.Fatal(err)
	}
	repo, err := worktree.Open(f.T.Context(), f.Root)
	if err != nil {
		f.T.Fatal(err)
	}
	s, err := repo.FindSnapshot(f.T.Context(), f.Ended().Snapshot)
	if err != nil {
		f.T.Fatal(err)
	}
	if _, err := repo.Restore(f.T.Context(), s, worktree.RestoreSpec{}); err != nil {
		f.T.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(f.Tree, name)); err != nil || string(b) != content {
		f.T.Errorf("%s holds %q, %v", name, b, err)
	}
}

// What a killed attempt used is counted once, with what it had not recorded yet.
func TestUseOfAResumedConversation(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Shell("true"), mt.Usage{CacheCreation: 1_000}}, {mt.Shell("true"), mt.Usage{CacheCreation: 20_000}},
		{mt.Hold("gate"), mt.Report("too early")},
		// The program closes the turn that was broken off with a message of its own.
		{mt.Hold("gate"), mt.Usage{CacheCreation: 300_000}, mt.Report("nothing was needed")}, {mt.Usage{}, mt.Text("end")}}})
	f.start()
	f.server.WaitHeld(t, "gate", 1)
	// What is used is counted from the transcript, which the program writes a while
	// after it was answered.
	f.Eventually("the transcript holds both messages", func() bool {
		found, _ := filepath.Glob(filepath.Join(f.home.Claude, "projects", "*", "*.jsonl"))
		return slices.ContainsFunc(found, func(name string) bool {
			b, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(b), `"cache_creation_input_tokens":20000`)
		})
	})
	f.killAndRedo()
	wait := f.start()
	f.server.WaitHeld(t, "gate", 1)
	f.server.Release("gate")
	wait()
	h := f.History()
	n := &h.Nodes[0]
	if want := (dag.Usage{CacheCreate: 321_000}); n.Used != want || h.Used != want || len(n.Attempts) != 2 {
		t.Errorf("the node used %+v in %d attempts, the run %+v, want %+v", n.Used, len(n.Attempts), h.Used, want)
	}
	// The first message was recorded at once; later ones may have been lost with the
	// attempt.
	if first := n.Attempts[0].Used.CacheCreate; first != 1_000 && first != 21_000 {
		t.Errorf("the killed attempt had recorded %d", first)
	}
}

// A node that was killed with more than its budget used does not begin again.
func TestUseOfEarlierAttemptsCounts(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", budget(700)), mt.Script{Name: "s", Turns: []mt.Turn{{mt.Hold("never")}}})
	f.Spec.Used = dag.Usage{Output: 701}
	f.start()()
	f.check(run.End{Outcome: dag.Failed, Reason: dag.ReasonBudget, Detail: "a has used 701 of its budget of 700 tokens"}, "", nil, nil)
	if n := len(f.server.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}
