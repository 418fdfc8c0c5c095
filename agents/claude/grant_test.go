package claude_test

import (
	"path/filepath"
	"strings"
	"testing"

	mt "cmux/agents/modeltest"
	"cmux/agents/run"
	"cmux/dag"
)

// unattended is a node without auto_accept, in whose task nothing needs leave.
func unattended(t *testing.T, settings string, turns ...mt.Turn) *fixture {
	var f *fixture
	turns = append([]mt.Turn{
		{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/src/a.txt", "content": "made\n"}}},
		{mt.Shell("cat src/a.txt && go version 2>&1 | head -1")},
		{mt.Shell("git add -A && git commit -q -m \"$(cat <<'EOF'\nwork\n\nIt's \"done\".\nEOF\n)\"")},
	}, turns...)
	f = newFixture(t, node("s", func(n *dag.Node) { n.AutoAccept, n.Scope, n.Verify = false, []string{"src/"}, []string{"go version"} }),
		mt.Script{Name: "s", Turns: inTree(append(turns, mt.Turn{mt.Report("made it")}, mt.Turn{mt.Text("end")}), func() string { return f.tree })})
	if settings != "" {
		f.write(f.home.Claude, "settings.json", settings)
	}
	return f
}

const manual = `{"permissions":{"defaultMode":"manual"}}`

// What cmux grants is done without a question, whatever mode the person prefers.
func TestGranted(t *testing.T) {
	t.Parallel()
	want := run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}
	for name, settings := range map[string]string{"as it comes": "", "manual": manual} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := unattended(t, settings)
			f.inPane().ends()
			f.check(want, "checking, running", nil, []string{"src/a.txt"})
			f.unasked()
		})
		t.Run(name+", headless", func(t *testing.T) {
			t.Parallel()
			f := unattended(t, settings)
			f.start()()
			f.check(want, "checking, running", nil, []string{"src/a.txt"})
			f.unasked()
		})
	}
}

// unasked checks that the model was called for the turns of the script alone,
// not to judge whether a call is safe, and that no tool failed.
func (f *fixture) unasked() {
	f.t.Helper()
	rs := f.server.Requests()
	for i, r := range rs {
		if r.Script != "s" || r.Turn != i {
			f.t.Errorf("call %d of the model is turn %d of %q", i, r.Turn, r.Script)
		}
	}
	for _, b := range rs[len(rs)-1].ToolResults() {
		if b.IsError {
			f.t.Errorf("a tool failed: %s", b.Text)
		}
	}
}

// What is not granted is refused where nobody can be asked.
func TestNotGrantedHeadless(t *testing.T) {
	t.Parallel()
	f := unattended(t, "", mt.Turn{mt.Shell("touch src/made")}, mt.Turn{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/.claude/settings.json", "content": "{}"}}})
	f.start()()
	f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "", []string{"nobody can allow this"}, []string{"!src/made", "!.claude"})
}

// A person's own rules stand above what cmux grants.
func TestRulesStandAboveGrants(t *testing.T) {
	t.Parallel()
	f := unattended(t, `{"permissions":{"deny":["Bash(cat:*)"],"ask":["Bash(git commit:*)"]}}`)
	p := f.inPane()
	f.becomes("needs input")
	if d := f.last(run.Active).Detail; !strings.Contains(d, "git commit") {
		t.Errorf("asked %q", d)
	}
	if exists(filepath.Join(f.tree, ".git/refs")) || f.git(f.tree, "rev-list", "--count", "work/a") != "1" {
		t.Error("it was committed")
	}
	if err := f.dial().Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	p.ends()
	f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "", nil, nil)
	denied := false
	for _, b := range f.server.Requests()[2].ToolResults() {
		denied = denied || b.IsError && strings.Contains(b.Text, "denied")
	}
	if !denied {
		t.Errorf("reading was not denied: %+v", f.server.Requests()[2].ToolResults())
	}
}
