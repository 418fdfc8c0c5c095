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

// meddle has the program started with its settings changed by a sed script, as
// a policy does that stands above them, while $HOME/meddled is there.
func (f *fixture) meddle(script string) {
	f.T.Helper()
	dir := filepath.Join(f.home.Dir, "meddle")
	if err := os.Mkdir(dir, 0o755); err != nil {
		f.T.Fatal(err)
	}
	shim := `#!/bin/sh
if test -e "$HOME/meddled"; then
	for a in "$@"; do
		test "$last" = --settings && sed -i.bak '` + script + `' "$a"
		last=$a
	done
fi
exec '` + mt.Claude(f.T) + `' "$@"
`
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte(shim), 0o755); err != nil {
		f.T.Fatal(err)
	}
	f.Write(f.home.Dir, "meddled", "")
	for i, e := range f.Env {
		if rest, ok := strings.CutPrefix(e, "PATH="); ok {
			f.Env[i] = "PATH=" + dir + ":" + rest
		}
	}
	env := f.Env
	self, err := os.Executable()
	if err != nil {
		f.T.Fatal(err)
	}
	plan := f.Run.Plan
	plan.ID += "-x"
	if f.Run, err = run.Create(plan, nil, env, self); err != nil {
		f.T.Fatal(err)
	}
	f.Append(run.Record{Type: run.Started, Node: f.Node.Name, Attempt: 1, Place: &f.Spec.Place})
}

// refusing is a person's hook that refuses prompts while $HOME/meddled is there.
func refusing(how string) func(f *fixture) {
	return func(f *fixture) {
		f.Write(f.home.Dir, "refuse.sh", `test -e "$HOME/meddled" || exit 0; `+how+"\n")
		f.Write(f.home.Dir, "meddled", "")
		f.Write(f.home.Claude, "settings.json", `{"skipDangerousModePermissionPrompt":true,"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"sh `+f.home.Dir+`/refuse.sh"}]}]}}`)
	}
}

// at is where the files are that are not the agent's.
func beside(name string) string { return "../" + name }

// Where hooks do not speak, or what the agent is told is refused, it is stopped
// and a person asked; when they have mended it, it goes on in its conversation.
var silences = []struct {
	name   string
	before func(f *fixture)
	turns  []mt.Turn
	says   string
	most   int // requests of the model before it is stopped
}{
	{"a policy turns hooks off", func(f *fixture) { f.meddle(`s/"disableAllHooks": false/"disableAllHooks": true/`) },
		[]mt.Turn{{mt.Shell("while :; do sleep 0.1; done")}, {mt.Report("made it")}, {mt.Text("end")}}, "hooks", 1},
	{"no hook tells of tools", func(f *fixture) { f.meddle(`s/"PreToolUse"/"Setup"/`) },
		[]mt.Turn{{mt.Shell("true")}, {mt.Text("and now"), mt.Hold("never")}}, "it ran Bash", 2},
	{"no hook tells of a tool that takes long", func(f *fixture) { f.meddle(`s/"PreToolUse"/"Setup"/`) },
		[]mt.Turn{{mt.Shell("while :; do sleep 0.1; done")}}, "the model uses Bash", 1},
	{"no hook tells of prompts", func(f *fixture) { f.meddle(`s/"UserPromptSubmit"/"Setup"/`) },
		[]mt.Turn{{mt.Text("thinking aloud"), mt.ToolUse{Name: "TodoWrite", Input: map[string]any{"todos": []any{}}}}, {mt.Hold("never")}}, "no hook has told of a prompt", 2},
	{"the hooks' program cannot be run", func(f *fixture) { f.meddle(`s,bin/\([0-9a-f]*\)/cmux,bin/\1/gone,`) },
		[]mt.Turn{{mt.Shell("touch ../stray")}, {mt.Hold("never")}}, "hooks", 2},
	{"a person's hook refuses the prompt", refusing("echo not today >&2; exit 2"), nil, "refuses what the agent is told (", 0},
	{"a person's hook stops at the prompt", refusing(`echo '{"continue":false,"stopReason":"not today"}'`), nil, "refuses what the agent is told (not today)", 0},
}

func TestSilence(t *testing.T) {
	t.Parallel()
	for i, c := range silences {
		t.Run(c.name, func(t *testing.T) {
			if i > 0 {
				testall.Only(t)
			}
			t.Parallel()
			t.Run("in a pane", func(t *testing.T) {
				t.Parallel()
				script := mt.Script{Name: "s", Turns: c.turns}
				if len(c.turns) == 0 {
					script.Turns = []mt.Turn{{mt.Report("nothing was needed")}, {mt.Text("end")}}
				}
				// A program that was stopped before it wrote its transcript is told its task
				// and the answer in one prompt: the answer's script comes first.
				f := newFixture(t, node("s", nil), mt.Script{Name: "mended", Turns: []mt.Turn{{mt.Report("nothing was needed")}, {mt.Text("end")}}}, script)
				c.before(f)
				p := f.inPane()
				f.label("needs input")
				if d := f.Last(run.Active).Detail; !strings.Contains(d, c.says) || !strings.Contains(d, "answer `go on`") {
					t.Errorf("says %q", d)
				}
				if n := len(f.server.Requests()); n > c.most {
					t.Errorf("%d requests before it was stopped", n)
				}
				for _, proc := range f.Processes() {
					t.Errorf("still runs: %v", proc)
				}
				if err := os.Remove(filepath.Join(f.home.Dir, "meddled")); err != nil {
					t.Fatal(err)
				}
				if err := f.Dial().Answer(t.Context(), "go on #script:mended"); err != nil {
					t.Fatal(err)
				}
				p.Ends()
				f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, []string{"!" + beside("stray")})
			})
			t.Run("headless", func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: c.turns})
				c.before(f)
				f.start()()
				f.check(run.End{Outcome: dag.Failed, Reason: dag.ReasonNoReport, Detail: c.says}, "", nil, []string{"!" + beside("stray")})
			})
		})
	}
}
