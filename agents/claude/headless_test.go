package claude_test

import (
	"testing"

	mt "cmux/agents/modeltest"
	"cmux/dag"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	f := newFixture(t, node("build", func(n *dag.Node) { n.Verify = []string{"test -e a.txt"} }), mt.Script{Name: "build", Turns: []mt.Turn{
		{mt.Thinking("a file is missing"), mt.Shell("echo made > a.txt")},
		{mt.Shell("git add -A && git commit -q -m work")},
		{mt.Report("made it")},
		{mt.Text("finished")},
	}})
	if code := f.start()(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	end := f.ended()
	if end.Outcome != dag.Done || end.Summary != "made it" || end.Commits != 1 || end.Conversation == "" || end.Tokens == 0 {
		t.Errorf("%+v", end)
	}
	t.Logf("%s\n%+v", f.log(), end)
}
