package claude_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
)

var question = mt.ToolUse{Name: "AskUserQuestion", Input: map[string]any{"questions": []any{map[string]any{
	"question": "Which colour?", "header": "Colour", "multiSelect": false,
	"options": []any{map[string]string{"label": "Red", "description": "like fire"}, map[string]string{"label": "Blue", "description": "like the sea"}}}}}}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func kill(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestEveryEndInAPane(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for _, c := range everyEnd {
		c.test(t, true)
	}
}

func asking() []mt.Turn {
	return []mt.Turn{{question}, {mt.Report("nothing was needed")}, {mt.Text("end")}}
}

// chosen is the answer that the model got to the question.
func (f *fixture) chosen() string {
	for _, r := range f.server.Requests() {
		for _, b := range r.ToolResults() {
			return b.Text
		}
	}
	return ""
}

func TestQuestionIsAnsweredInThePane(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: asking()})
	p := f.inPane()
	f.Becomes("needs input")
	p.Shows("Enter to select")
	p.Keys("1")
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "needs input, running", nil, nil)
	if got := f.chosen(); !strings.Contains(got, "Red") {
		t.Errorf("the model was told %q", got)
	}
}

func TestPermissionIsAnswered(t *testing.T) {
	t.Parallel()
	for text, made := range map[string]bool{"yes": true, "no": false, "use another name": false} {
		t.Run(text, func(t *testing.T) {
			if !made {
				testall.Only(t)
			}
			t.Parallel()
			f := newFixture(t, node("s", func(n *dag.Node) { n.AutoAccept = false }), mt.Script{Name: "s", Turns: []mt.Turn{
				{mt.Shell("cp /dev/null made")}, {mt.Report("nothing was needed")}, {mt.Text("end")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
			f.Write(f.home.Claude, "settings.json", `{"permissions":{"defaultMode":"manual"}}`)
			p := f.inPane()
			f.Becomes("needs input")
			if d := f.Last(run.Active).Detail; d != "may it use Bash? cp /dev/null made\n(yes, or no and why)" {
				t.Errorf("asked %q", d)
			}
			if err := f.Dial().Answer(t.Context(), text); err != nil {
				t.Fatal(err)
			}
			p.Ends()
			want := run.End{Outcome: dag.Done, Summary: "nothing was needed"}
			if made {
				want.Commits = 1 // of what was left uncommitted
			}
			f.check(want, "", nil, nil)
			if exists(f.Tree+"/made") != made {
				t.Errorf("made: %v", !made)
			}
			if text == "use another name" && !strings.Contains(f.chosen(), text) {
				t.Errorf("the model was told %q", f.chosen())
			}
		})
	}
}

func TestBlockedIsAnswered(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Blocked("which one?")}, {mt.Text("waiting")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	p := f.inPane()
	f.Becomes("needs input")
	p.Shows("waiting")
	if err := f.Dial().Answer(t.Context(), "!the left one"); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "needs input, running", nil, nil)
	rs := f.server.Requests()
	if texts := rs[len(rs)-1].UserTexts(); !strings.Contains(strings.Join(texts, "\n"), "!the left one") {
		t.Errorf("the model was told %q", texts)
	}
}

func TestResumesInAPane(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), resumable)
	f.inPane()
	f.server.WaitHeld(t, "gate", 1)
	f.killAndRedo()
	p := f.inPane()
	f.server.WaitHeld(t, "gate", 1)
	f.server.Release("gate")
	p.Ends()
	f.resumed()
}

// Claude Code offers its automatic mode when it is idle after a permission. An
// answer is refused until a person has closed that, and the refusal says so.
func TestOfferIsAPersons(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", func(n *dag.Node) { n.AutoAccept = false }), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Shell("cp /dev/null made")}, {mt.Blocked("which one?")}, {mt.Text("waiting")}, {mt.Report("made it")}, {mt.Text("end")}, {mt.Report("made it")}, {mt.Text("end")}}})
	f.Write(f.home.Claude, "settings.json", `{"permissions":{"defaultMode":"manual"}}`)
	p := f.inPane()
	f.Becomes("needs input")
	if err := f.Dial().Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	f.Becomes("needs input, running, needs input")
	p.Shows("Make auto mode your default")
	err := f.Dial().Answer(t.Context(), "the left one")
	if err == nil || !strings.Contains(err.Error(), "Claude Code offers its auto mode") {
		t.Errorf("an answer to its dialog: %v", err)
	}
	f.Becomes("needs input, running, needs input, running, needs input") // what it is blocked on is open again
	f.Eventually("it takes the answer", func() bool {
		// A dialog that has just opened hears no key; a second Escape at the prompt opens another.
		if s := p.Screen(); strings.Contains(s, "Make auto mode your default") || strings.Contains(s, "Esc to cancel") {
			p.Keys("Escape")
			return false
		}
		return f.Dial().Answer(t.Context(), "the left one") == nil
	})
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "", nil, []string{"made"})
	if texts := f.server.Requests()[3].UserTexts(); !strings.Contains(strings.Join(texts, "\n"), "the left one") {
		t.Errorf("it was told %q", texts)
	}
}

// Escape is a person's; nothing is typed until the release.
func TestEscapeTakesOver(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Text("begun"), mt.Hold("gate"), mt.Text("unheard")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	p := f.inPane()
	f.server.WaitHeld(t, "gate", 1)
	p.Shows("begun")
	p.Keys("Escape")
	f.Becomes("taken over")
	p.Shows("Interrupted")
	if n := len(f.server.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
	if err := f.Dial().Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "taken over, running", nil, nil)
}

// A person who types has the agent, until it reports.
func TestTypingTakesOver(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil),
		mt.Script{Name: "s", Turns: []mt.Turn{{mt.Blocked("help me")}, {mt.Text("waiting")}}},
		mt.Script{Name: "mine", Turns: []mt.Turn{{mt.Text("yours")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	p := f.inPane()
	f.Becomes("needs input")
	p.Shows("waiting")
	p.Types("let me see #script:mine")
	f.Becomes("taken over")
	p.Shows("● yours")
	p.Types("now report")
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "needs input, taken over", nil, nil)
}

// cmux does not type into a line that a person has begun; its message waits.
func TestDraftIsLeftAlone(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Blocked("which one?")}, {mt.Text("waiting")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	p := f.inPane()
	f.Becomes("needs input")
	p.Shows("waiting")
	p.Exec("send-keys", "-l", "-t", p.ID, "--", "half a li")
	p.Shows("half a li")
	if err := f.Dial().Answer(t.Context(), "the left one"); err != nil {
		t.Fatal(err)
	}
	f.Becomes("running")
	p.Exec("send-keys", "-l", "-t", p.ID, "--", "ne")
	p.Shows("half a line")
	p.Keys("C-u")
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
	rs := f.server.Requests()
	for _, text := range rs[len(rs)-1].UserTexts() {
		if strings.Contains(text, "half") {
			t.Errorf("a person's line was sent: %q", text)
		}
	}
}

// A person's status line may look like anything; messages arrive all the same,
// and a line that a person has begun stays theirs.
func TestStatusLine(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	const line = `printf '\033[31m────────────────────────\033[0m\n❯ rm -rf / 🎉\n────────────────────────\n ❯ 1. Yes\n Esc to cancel · Enter to confirm\n'`
	for _, width := range []string{"160", "60", "34"} {
		t.Run(width, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
				{mt.Blocked("which one?")}, {mt.Text("waiting")}, {mt.Blocked("which other?")}, {mt.Text("waiting on")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
			f.Write(f.home.Dir, "line.sh", line)
			f.Write(f.home.Claude, "settings.json", `{"skipDangerousModePermissionPrompt":true,"statusLine":{"type":"command","command":"sh `+f.home.Dir+`/line.sh"}}`)
			p := f.inPane()
			p.Exec("resize-window", "-t", p.ID, "-x", width, "-y", "40")
			f.label("needs input")
			p.Shows("rm -rf")
			p.rests()
			if err := f.Dial().Answer(t.Context(), "the left one, as it is the one that everybody else has taken so far"); err != nil {
				t.Fatal(err)
			}
			f.Becomes("needs input, running, needs input")
			p.Shows("waiting on")
			p.rests()
			p.Exec("send-keys", "-l", "-t", p.ID, "--", "half a line")
			p.Shows("half a line")
			if err := f.Dial().Answer(t.Context(), "the right one"); err != nil {
				t.Fatal(err)
			}
			f.Eventually("status says what is in the way", func() bool { return strings.Contains(f.Last(run.Active).Detail, "a line is begun") })
			p.Keys("C-u")
			p.Ends()
			f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
			for _, r := range f.server.Requests() {
				for _, text := range r.UserTexts() {
					if strings.Contains(text, "half") {
						t.Errorf("a person's line was sent: %q", text)
					}
				}
			}
		})
	}
}

// When a person ends the program its checks are run, and the person decides.
func TestExitInThePane(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", func(n *dag.Node) { n.Verify = []string{"test -e a.txt"} }), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Shell("echo made > a.txt; " + commit)}, {mt.Blocked("enough?")}, {mt.Text("waiting")}}})
	p := f.inPane()
	f.Becomes("needs input")
	p.Shows("waiting")
	p.Types("/exit")
	f.Eventually("the checks have run", func() bool {
		return f.Last(run.Active).Detail == "ended without a report (exit 0): 1 commit, its checks pass"
	})
	if err := f.Dial().Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Cancelled, Commits: 1}, "", nil, nil)
}

// TestTaskIsInNoArgument: every user of a machine may read what programs were
// started with.
func TestTaskIsInNoArgument(t *testing.T) {
	testall.Only(t)
	for name, c := range map[string]struct {
		task     string
		attached bool
	}{
		"short": {" the ostrich is secret", true},
		"long":  {strings.Repeat("\n$(rm -rf /) `x` \"quoted\" 'single' \\ é 日本 --option the ostrich is secret", 4000) + "\nend", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f *fixture
			report := mt.Func(func(r mt.Request) mt.Turn {
				if args, err := exec.Command("ps", "-A", "-ww", "-o", "args").Output(); err != nil || strings.Contains(string(args), "ostrich") {
					t.Errorf("the task stands among the arguments of programs (%v)", err)
				}
				if whole := strings.Contains(r.UserTexts()[0], f.Node.Task); whole != c.attached {
					t.Errorf("the task is whole in the request: %v", whole)
				}
				return mt.Turn{mt.ToolUse{Name: "Bash", Input: map[string]string{"command": "cmux done 'nothing was needed'", "description": "report"}}}
			})
			f = newFixture(t, node("s", func(n *dag.Node) { n.Task += c.task }), mt.Script{Name: "s", Match: "prompt-1.md", Turns: []mt.Turn{{report}, {mt.Text("end")}}})
			f.inPane().Ends()
			f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
			b, err := os.ReadFile(f.Run.NodeDir("a") + "/prompt-1.md")
			if err != nil || !strings.Contains(string(b), f.Node.Task) {
				t.Errorf("the task is not whole in its file: %v", err)
			}
			if log, err := os.ReadFile(f.Run.NodeDir("a") + "/log"); err != nil || !strings.Contains(string(log), "the ostrich is secret") {
				t.Errorf("the log does not say what the agent was told: %v", err)
			}
		})
	}
}
