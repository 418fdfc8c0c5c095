package claude_test

import (
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
)

// noted reports whether a note with that text is recorded.
func (f *fixture) noted(text string) bool {
	for _, r := range f.Records() {
		if r.Type == run.Noted && strings.Contains(r.Detail, text) {
			return true
		}
	}
	return false
}

// heard checks that the model was told the text.
func (f *fixture) heard(text string) {
	f.T.Helper()
	for _, r := range f.server.Requests() {
		if strings.Contains(string(r.Body), text) {
			return
		}
	}
	f.T.Errorf("the model was not told %q", text)
}

var reports = []mt.Turn{{mt.Text("understood")}, {mt.Report("nothing was needed, as you said")}, {mt.Text("end")}}

// What a person says while a report is examined comes first.
func TestSaidWhileChecking(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", func(n *dag.Node) { n.Verify = []string{"touch ../checking; until test -e ../go; do sleep 0.1; done"} }),
		mt.Script{Name: "s", Turns: []mt.Turn{{mt.Report("nothing was needed")}, {mt.Text("so far")}}},
		mt.Script{Name: "mine", Turns: []mt.Turn{{mt.Text("understood"), mt.Hold("gate")}}},
		mt.Script{Name: "end", Turns: reports[1:]})
	p := f.inPane()
	beside := filepath.Dir(f.Tree)
	f.Eventually("the check runs", func() bool { return exists(filepath.Join(beside, "checking")) })
	p.Shows("so far")
	p.Types("do the other thing too #script:mine")
	f.server.WaitHeld(t, "gate", 1)
	f.Write(beside, "go", "")
	f.Eventually("it is noted", func() bool { return f.noted("comes first") })
	f.label("taken over")
	f.server.Release("gate")
	p.rests()
	p.Types("now report #script:end")
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed, as you said"}, "", nil, nil)
	f.heard("do the other thing too")
}

// A report that is made without what a person has said does not count.
func TestSaidBeforeTheReport(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil),
		mt.Script{Name: "s", Turns: []mt.Turn{{mt.Text("begun"), mt.Hold("gate"), mt.Report("nothing was needed")}, {mt.Report("nothing was needed, as you said")}, {mt.Text("end")}}})
	p := f.inPane()
	f.server.WaitHeld(t, "gate", 1)
	p.Shows("begun")
	p.Types("and then this")
	f.label("taken over")
	f.server.Release("gate")
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed, as you said"}, "", nil, nil)
	f.heard("and then this")
	if !f.noted("reported before it had read") {
		t.Error("the early report is not on record")
	}
}

// What is typed and not sent when the agent has finished is on record.
func TestDraftIsKept(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", func(n *dag.Node) { n.Verify = []string{"touch ../checking; until test -e ../go; do sleep 0.1; done"} }),
		mt.Script{Name: "s", Turns: []mt.Turn{{mt.Report("nothing was needed")}, {mt.Text("so far")}}})
	p := f.inPane()
	beside := filepath.Dir(f.Tree)
	f.Eventually("the check runs", func() bool { return exists(filepath.Join(beside, "checking")) })
	p.Shows("so far")
	p.Exec("send-keys", "-l", "-t", p.ID, "--", "half a line")
	p.Shows("half a line")
	f.Write(beside, "go", "")
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", []string{"typed and not sent: half a line"}, nil)
	if !f.noted("typed and not sent: half a line") {
		t.Error("it is not on record")
	}
}

// What was said to an agent that is killed before it has read it is handed on
// when it is back.
func TestSaidBeforeItWasLost(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{{mt.Shell("true")}, {mt.Text("begun"), mt.Hold("never")}}},
		mt.Script{Name: "mine", Turns: reports})
	p := f.inPane()
	f.server.WaitHeld(t, "never", 1)
	p.Shows("begun")
	p.Types("think of the others #script:mine")
	p.Shows("Queued")
	f.label("taken over")
	f.killProgram()
	f.redoLost()
	p = f.inPane()
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed, as you said"}, "", nil, nil)
	f.heard("you have not read it yet")
}
