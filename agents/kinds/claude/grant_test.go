package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
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
		mt.Script{Name: "s", Turns: inTree(append(turns, mt.Turn{mt.Report("made it")}, mt.Turn{mt.Text("end")}), func() string { return f.Tree })})
	if settings != "" {
		f.Write(f.home.Claude, "settings.json", settings)
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
			testall.Only(t)
			t.Parallel()
			f := unattended(t, settings)
			f.inPane().Ends()
			f.check(want, "checking, running", nil, []string{"src/a.txt"})
			f.unasked()
		})
		t.Run(name+", headless", func(t *testing.T) {
			if settings != manual {
				testall.Only(t)
			}
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
	f.T.Helper()
	rs := f.server.Requests()
	for i, r := range rs {
		if r.Script != "s" || r.Turn != i {
			f.T.Errorf("call %d of the model is turn %d of %q", i, r.Turn, r.Script)
		}
	}
	for _, b := range rs[len(rs)-1].ToolResults() {
		if b.IsError {
			f.T.Errorf("a tool failed: %s", b.Text)
		}
	}
}

// What is not granted is refused where nobody can be asked.
func TestNotGrantedHeadless(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := unattended(t, "", mt.Turn{mt.Shell("cp /dev/null src/made")}, mt.Turn{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/.claude/settings.json", "content": "{}"}}})
	f.start()()
	f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "", []string{"nobody can allow this"}, []string{"!src/made", "!.claude"})
}

// A person's own rules stand above what cmux grants.
func TestRulesStandAboveGrants(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := unattended(t, `{"permissions":{"deny":["Bash(cat:*)"],"ask":["Bash(git commit:*)"]}}`)
	p := f.inPane()
	f.Becomes("needs input")
	if d := f.Last(run.Active).Detail; !strings.Contains(d, "git commit") {
		t.Errorf("asked %q", d)
	}
	if exists(filepath.Join(f.Tree, ".git/refs")) || f.Git(f.Tree, "rev-list", "--count", "work/a") != "1" {
		t.Error("it was committed")
	}
	if err := f.Dial().Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "", nil, nil)
	denied := false
	for _, b := range f.server.Requests()[2].ToolResults() {
		denied = denied || b.IsError && strings.Contains(b.Text, "denied")
	}
	if !denied {
		t.Errorf("reading was not denied: %+v", f.server.Requests()[2].ToolResults())
	}
}

// What has misled grants before runs nothing of the agent's choosing.
func TestHostileTextsHeadless(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	out := filepath.Join(t.TempDir(), "made")
	var turns []mt.Turn
	for _, text := range []string{
		"git commit --allow-empty -m \"$(cat <<'EOF'\nEOF touch OUT )\nEOF\n)\"",
		"git commit --allow-empty -m \"$(cat <<'EOF'\nx) \"; touch OUT; \"\nEOF\n)\"",
		"sh -c 'echo x &> OUT'", "git log -1 --format=%h --until now --output=OUT", "git log -iS --output=OUT", "grep -r --exclude -e x > OUT",
		"git status \"$=HOME\" > OUT", "git restore src/a.txt && echo x > OUT", "cd sub && touch OUT", "git -c core.fsmonitor='touch OUT' status", "git config core.hooksPath .hooks",
	} {
		turns = append(turns, mt.Turn{mt.Shell(strings.ReplaceAll(text, "OUT", out))})
	}
	f := unattended(t, manual, turns...)
	f.start()()
	f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "", []string{"nobody can allow this", "share its configuration"}, nil)
	if exists(out) {
		t.Error("one of them was run")
	}
}

// Where a commit would run a hook of the repository's, the agent's commit is no
// grant: cmux commits for it, without hooks.
func TestCommitWithHooksHeadless(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := unattended(t, manual, mt.Turn{mt.Report("too early")}, mt.Turn{mt.Text("end")})
	out := filepath.Join(t.TempDir(), "made")
	hooks := t.TempDir()
	if err := os.WriteFile(filepath.Join(hooks, "pre-commit"), []byte("#!/bin/sh\ntouch "+out+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.Git(f.Root, "config", "core.hooksPath", hooks)
	f.start()()
	f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "", []string{"nobody can allow this"}, []string{"src/a.txt"})
	if exists(out) {
		t.Error("the hook was run")
	}
}
