package claude_test

import (
	"slices"
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
)

// byTool is the call of a tool of cmux's.
func byTool(name string, input any) mt.ToolUse {
	return mt.ToolUse{Name: "mcp__cmux__" + name, Input: input}
}

func doneByTool(summary string) mt.ToolUse {
	return byTool("done", map[string]string{"summary": summary})
}

// A report by tool is answered with the verdict: the failing check comes back
// as the tool's answer, in the same turn, and the accepted one ends the turn
// without a further call of the model.
func TestReportByTool(t *testing.T) {
	t.Parallel()
	for _, pane := range []bool{false, true} {
		t.Run(map[bool]string{false: "headless", true: "in a pane"}[pane], func(t *testing.T) {
			if !pane {
				testall.Only(t)
			}
			t.Parallel()
			var f *fixture
			f = newFixture(t, node("s", func(n *dag.Node) { n.AutoAccept, n.Verify = false, []string{"test -e ready"} }),
				mt.Script{Name: "s", Turns: inTree([]mt.Turn{
					{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/a.txt", "content": "made\n"}}},
					{mt.Shell("git add -A && git commit -q -m work")},
					{doneByTool("first")},
					{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/ready", "content": "yes\n"}}},
					{mt.Shell("git add -A && git commit -q -m more")},
					{doneByTool("made it")},
					{mt.Text("never said")},
				}, func() string { return f.Tree })})
			f.Write(f.home.Claude, "settings.json", manual)
			if pane {
				f.inPane().Ends()
			} else {
				f.start()()
			}
			f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 2}, "checking, running, checking, running", nil, []string{"ready"})
			rs := f.server.Requests()
			if len(rs) != 6 {
				t.Errorf("the model was called %d times, not 6", len(rs))
			}
			var refusals []string
			for _, b := range rs[3].ToolResults() {
				refusals = append(refusals, b.Text)
			}
			if len(refusals) == 0 || !strings.Contains(refusals[len(refusals)-1], "test -e ready") {
				t.Errorf("the verdict was %q", refusals)
			}
			if tools := rs[len(rs)-1].Tools; !slices.Contains(tools, "mcp__cmux__done") { // not deferred behind a search
				t.Errorf("the tools are %q", tools)
			}
		})
	}
}

// A question by tool is answered where it was asked, a number by its option; a
// person who says it is blocked gets the answer likewise.
func TestAskByTool(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", func(n *dag.Node) { n.AutoAccept = false }),
		mt.Script{Name: "s", Turns: []mt.Turn{
			{byTool("ask", map[string]any{"question": "Which color?", "options": []string{"red", "blue"}})},
			{byTool("blocked", map[string]any{"reason": "no key"})},
			{byTool("output", map[string]any{"key": "COLOR", "value": "blue"})},
			{doneByTool("nothing was needed: asked")},
		}})
	p := f.inPane()
	f.Becomes("needs input")
	if d := f.Last(run.Active).Detail; d != "Which color?\n  1. red\n  2. blue" {
		t.Errorf("asked %q", d)
	}
	if err := f.Dial().Answer(t.Context(), "2"); err != nil {
		t.Fatal(err)
	}
	f.Becomes("needs input, running, needs input")
	if d := f.Last(run.Active).Detail; d != "blocked: no key" {
		t.Errorf("asked %q", d)
	}
	if err := f.Dial().Answer(t.Context(), "look in .env.example"); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed: asked"}, "", nil, nil)
	var said []string
	rs := f.server.Requests()
	for _, b := range rs[len(rs)-1].ToolResults() {
		said = append(said, b.Text)
	}
	// That done was accepted the program may still tell its model before it is ended.
	if want := []string{"blue", "look in .env.example", "published COLOR"}; len(said) < len(want) || !slices.Equal(said[:len(want)], want) {
		t.Errorf("the tools answered %q, not %q", said, want)
	}
	if r := f.Last(run.Output); r == nil || r.Key != "COLOR" || r.Value != "blue" {
		t.Errorf("the output is recorded as %+v", r)
	}
}

// Headless nobody answers: the tool for questions is not offered, and being blocked is
// the end.
func TestAskByToolHeadless(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{byTool("ask", map[string]any{"question": "Which color?"})},
		{byTool("blocked", map[string]any{"reason": "no key"})},
		{mt.Text("never said")},
	}})
	f.start()()
	f.check(run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Detail: "no key"}, "", []string{"No such tool available: mcp__cmux__ask"}, nil)
	if n := len(f.server.Requests()); n != 2 {
		t.Errorf("the model was called %d times, not 2", n)
	}
}

// A person who writes in the pane while a call waits is heard at once.
func TestTakeOverWhileCallWaits(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{byTool("ask", map[string]any{"question": "Which color?"})},
		{doneByTool("nothing was needed: was told")},
	}})
	p := f.inPane()
	f.Becomes("needs input")
	p.Types("take green")
	f.Becomes("taken over")
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed: was told"}, "", nil, nil)
	rs := f.server.Requests()
	heard := false
	for _, text := range rs[len(rs)-1].UserTexts() {
		heard = heard || strings.Contains(text, "take green")
	}
	if !heard {
		t.Errorf("the model was not told what the person wrote: %q", rs[len(rs)-1].UserTexts())
	}
}
