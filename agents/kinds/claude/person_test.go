package claude_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
)

// label waits until status has the label of a live node, with a source and an
// age.
func (f *fixture) label(want string) {
	f.T.Helper()
	got := ""
	f.Eventually("status says "+want, func() bool {
		v, err := f.Run.View(f.T.Context(), time.Now())
		if err != nil {
			f.T.Fatal(err)
		}
		st := v.Nodes[0].Status
		got = st.Label.String()
		return got == want && st.Source != "" && st.Age > 0
	})
}

// What ends the program without a report proves nothing: a person decides, told
// what is there, and nothing is committed meanwhile.
func TestEndsByHand(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	signal := func(s syscall.Signal) func(p *terminal) {
		return func(p *terminal) { p.f.signal(s) }
	}
	exit := func(p *terminal) { p.Types("/exit") }
	busy := []mt.Turn{{mt.Shell("echo made > a.txt; " + commit + "; echo half > b.txt")}, {mt.Text("at work"), mt.Hold("never")}}
	idle := []mt.Turn{{mt.Shell("echo made > a.txt; " + commit)}, {mt.Blocked("enough?")}, {mt.Text("at rest")}}
	for _, c := range []struct {
		name  string
		turns []mt.Turn
		check string
		end   func(p *terminal)
		want  string
	}{
		{"exit in a turn", busy, "test -e a.txt", exit, "(exit 0): 1 commit, not committed: 1 untracked (b.txt), its checks pass"},
		{"control-C twice", idle, "test -e a.txt", func(p *terminal) {
			p.Keys("C-c")
			p.Shows("Press Ctrl-C again to exit")
			p.Keys("C-c")
		}, "(exit 0): 1 commit, its checks pass"},
		{"exit with a failing check", idle, "test -e c.txt", exit, "(exit 0): 1 commit, its check failed (test -e c.txt: exit 1)"},
		{"TERM", busy, "test -e a.txt", signal(syscall.SIGTERM), "(exit 143): 1 commit, not committed: 1 untracked (b.txt), its checks pass"},
		{"INT", busy, "test -e c.txt", signal(syscall.SIGINT), "(exit 0): 1 commit, not committed: 1 untracked (b.txt), its check failed (test -e c.txt: exit 1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("s", func(n *dag.Node) { n.Verify = []string{c.check} }), mt.Script{Name: "s", Turns: c.turns})
			p := f.inPane()
			if len(c.turns) == 2 {
				f.server.WaitHeld(t, "never", 1)
				p.Shows("at work")
			} else {
				f.label("needs input")
				p.Shows("at rest")
				p.rests()
			}
			c.end(p)
			f.left()
			if d := f.Last(run.Active).Detail; d != "ended without a report "+c.want {
				t.Errorf("%q, want %q", d, c.want)
			}
			p.Shows("cmux agents override")
			f.label("needs input")
			if err := f.Dial().Cancel(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.Ends()
			f.check(run.End{Outcome: dag.Cancelled, Commits: 1}, "", nil, nil)
		})
	}
}

// left waits until the program has ended without a report and a person is asked.
func (f *fixture) left() {
	f.T.Helper()
	f.Eventually("a person is asked what becomes of it", func() bool {
		r := f.Last(run.Active)
		return r != nil && r.How == run.HowLeft
	})
}

// One that ended without a report goes on in its conversation, also when its
// wrapper was killed meanwhile.
func TestGoesOnAfterItsEnd(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for name, killed := range map[string]bool{"at once": false, "when its wrapper was killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("s", nil),
				mt.Script{Name: "s", Turns: []mt.Turn{{mt.Shell("echo made > a.txt; " + commit)}, {mt.Blocked("enough?")}, {mt.Text("at rest")}}},
				mt.Script{Name: "mine", Turns: []mt.Turn{{mt.Report("made it")}, {mt.Text("end")}}})
			p := f.inPane()
			f.label("needs input")
			p.Shows("at rest")
			p.rests()
			p.Types("/exit")
			f.left()
			first := f.Last(run.Conversed).Conversation
			if killed {
				f.killAndRedo()
				if f.Spec.Left == nil {
					t.Fatal("it is forgotten that it ended without a report")
				}
				p = f.inPane()
				f.Eventually("it is a person's again", func() bool {
					r := f.Last(run.Active)
					return r.Attempt == 2 && r.How == run.HowLeft
				})
			}
			if err := f.Dial().Answer(t.Context(), "go on #script:mine"); err != nil {
				t.Fatal(err)
			}
			p.Ends()
			f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "", nil, nil)
			if c := f.Ended().Conversation; c != first {
				t.Errorf("conversation %s, want %s", c, first)
			}
		})
	}
}

func TestEndsByHandHeadless(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for s, exit := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 0} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{{mt.Shell("echo made > a.txt; " + commit)}, {mt.Hold("never")}}})
			wait := f.start()
			f.server.WaitHeld(t, "never", 1)
			f.signal(s)
			wait()
			f.check(run.End{Outcome: dag.Failed, Reason: dag.ReasonNoReport, Detail: "ended without a report", Commits: 1}, "", nil, nil)
			if got := f.Ended().Exit; got != exit {
				t.Errorf("exit %d, want %d", got, exit)
			}
		})
	}
}

// A program that suspends itself has no shell that could wake it.
func TestControlZ(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Blocked("enough?")}, {mt.Text("at rest")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	p := f.inPane()
	f.label("needs input")
	p.Shows("at rest")
	for range 3 {
		p.Keys("C-z")
	}
	if err := f.Dial().Answer(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "needs input, running", nil, nil)
}

// A key that breaks the turn off is a person's, and so is what they say next.
func TestBreaksOff(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for name, keys := range map[string][]string{"control-C": {"C-c"}, "Escape": {"Escape"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("s", nil),
				mt.Script{Name: "s", Turns: []mt.Turn{{mt.Text("begun"), mt.Hold("never")}}},
				mt.Script{Name: "mine", Turns: []mt.Turn{{mt.Text("understood")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
			p := f.inPane()
			f.server.WaitHeld(t, "never", 1)
			p.Shows("begun")
			p.Keys(keys...)
			p.Shows("Interrupted")
			f.label("taken over")
			p.Types("another way #script:mine")
			p.Shows("● understood")
			if err := f.Dial().Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.Ends()
			f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "taken over, running", []string{"You ended your turn without reporting"}, nil)
		})
	}
}

// What a person types while the agent works is theirs when its turn comes.
func TestQueuedPromptTakesOver(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil),
		mt.Script{Name: "s", Turns: []mt.Turn{{mt.Text("begun"), mt.Hold("gate"), mt.Text("so far")}}},
		mt.Script{Name: "mine", Turns: []mt.Turn{{mt.Text("understood")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	p := f.inPane()
	f.server.WaitHeld(t, "gate", 1)
	p.Shows("begun")
	p.Types("and then this #script:mine")
	p.Shows("Queued")
	f.server.Release("gate")
	f.label("taken over")
	p.Shows("● understood")
	if err := f.Dial().Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
}

// A person may begin a new conversation and return to the old one.
func TestClearAndResume(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil),
		mt.Script{Name: "s", Turns: []mt.Turn{{mt.Shell("true")}, {mt.Blocked("help me")}, {mt.Text("waiting")}}},
		mt.Script{Name: "mine", Turns: []mt.Turn{{mt.Text("a new one")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	p := f.inPane()
	f.label("needs input")
	p.Shows("waiting")
	first := f.Last(run.Conversed).Conversation
	p.Types("/clear")
	f.Eventually("the conversation is another", func() bool { return f.Last(run.Conversed).Conversation != first })
	p.Types("from the start #script:mine")
	f.label("taken over")
	p.Shows("● a new one")
	p.Types("report")
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
	if c := f.Ended().Conversation; c == first || c != f.Last(run.Conversed).Conversation {
		t.Errorf("conversation %s, first %s", c, first)
	}
	if got := f.Ended().Used.Counted(); got < 3*120+2*120 {
		t.Errorf("%d tokens: those of the first conversation are forgotten", got)
	}
}

var twoQuestions = mt.ToolUse{Name: "AskUserQuestion", Input: map[string]any{"questions": []any{
	map[string]any{"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []any{map[string]string{"label": "Red", "description": "like fire"}, map[string]string{"label": "Blue", "description": "like the sea"}}},
	map[string]any{"question": "Which size?", "header": "Size", "multiSelect": false,
		"options": []any{map[string]string{"label": "Small", "description": "fits"}, map[string]string{"label": "Large", "description": "shows"}}}}}}

func TestSeveralQuestions(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for name, answer := range map[string]func(p *terminal){
		"by command": func(p *terminal) {
			if err := p.f.Dial().Answer(p.f.T.Context(), "2\nLarge"); err != nil {
				p.f.T.Fatal(err)
			}
		},
		"in the pane": func(p *terminal) {
			p.Keys("2")
			p.Shows("Which size?")
			p.Keys("2")
			p.Shows("Submit answers")
			p.Keys("Enter")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{{twoQuestions}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
			p := f.inPane()
			f.label("needs input")
			if d := f.Last(run.Active).Detail; d != "(1 of 2) Which colour?\n  1. Red: like fire\n  2. Blue: like the sea\n(2 of 2) Which size?\n  1. Small: fits\n  2. Large: shows" {
				t.Errorf("asked %q", d)
			}
			p.Shows("Enter to select")
			answer(p)
			p.Ends()
			f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "needs input, running", nil, nil)
			if got := f.chosen(); !strings.Contains(got, "Blue") || !strings.Contains(got, "Large") {
				t.Errorf("the model was told %q", got)
			}
		})
	}
}

var modeRE = regexp.MustCompile(`(?:⏵⏵|⏸) ([\w ]+) on`)

// mode is the permission mode that the screen names.
func (p *terminal) mode() string {
	if m := modeRE.FindStringSubmatch(p.Screen()); m != nil {
		return m[1]
	}
	return ""
}

// A person turned plan mode on; the plan is theirs to approve, also by command.
func TestPlanMode(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Text("begun"), mt.Hold("gate"), mt.ToolUse{Name: "ExitPlanMode", Input: map[string]string{"plan": "1. do nothing"}}},
		{mt.Report("nothing was needed")}, {mt.Text("end")}}})
	p := f.inPane()
	f.server.WaitHeld(t, "gate", 1)
	p.Shows("begun")
	for mode := p.mode(); mode != "plan mode"; mode = p.mode() {
		p.Keys("BTab")
		f.Eventually("another mode than "+mode, func() bool { m := p.mode(); return m != "" && m != mode })
	}
	f.server.Release("gate")
	f.label("needs input")
	if d := f.Last(run.Active).Detail; !strings.HasPrefix(d, "approve the plan?") {
		t.Errorf("asked %q", d)
	}
	if err := f.Dial().Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "needs input, running", nil, nil)
}

// What is in the way of a message is left as it is, and the message waits until
// a person has cleared it. An answer is refused while a dialog shows. In vim's command mode a paste is text all the same.
func TestMessageWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		before  func(f *fixture)
		block   func(p *terminal) // puts something in the way
		refused bool              // an answer is not kept: what shows is another question
		says    string            // what status says of it; empty: it is not in the way
		still   func(p *terminal) bool
		away    func(p *terminal)
	}{
		{name: "copy mode", block: func(p *terminal) { p.Exec("copy-mode", "-t", p.ID) }, says: "in copy mode",
			still: func(p *terminal) bool {
				return strings.TrimSpace(p.Exec("display-message", "-p", "-t", p.ID, "#{pane_in_mode}")) == "1"
			},
			away: func(p *terminal) { p.Exec("send-keys", "-t", p.ID, "-X", "cancel") }},
		{name: "a menu", block: func(p *terminal) {
			p.Types("/model")
			p.Shows("Select model")
		}, says: "shows a dialog", refused: true,
			still: func(p *terminal) bool { return strings.Contains(p.Screen(), "Select model") },
			away:  func(p *terminal) { p.Keys("Escape") }},
		{name: "the commands of vim", before: func(f *fixture) {
			f.Write(f.home.Claude, "settings.json", `{"skipDangerousModePermissionPrompt":true,"editorMode":"vim"}`)
		}, block: func(p *terminal) {
			p.Shows("-- INSERT --")
			p.Keys("Escape")
			p.f.Eventually("vim takes commands", func() bool { return !strings.Contains(p.Screen(), "-- INSERT --") })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "a menu" {
				testall.Only(t)
			}
			t.Parallel()
			f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
				{mt.Blocked("which one?")}, {mt.Text("waiting")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
			if c.before != nil {
				c.before(f)
			}
			p := f.inPane()
			f.label("needs input")
			p.Shows("waiting")
			p.rests() // else the end of its turn takes the answer
			c.block(p)
			answer := func() error { return f.Dial().Answer(t.Context(), "ignored? the left one") }
			if c.refused {
				if err := answer(); err == nil || !strings.Contains(err.Error(), c.says) || !c.still(p) {
					t.Fatalf("an answer to a dialog: %v\n%s", err, p.Screen())
				}
				c.away(p)
				f.Eventually("the answer is taken", func() bool { return answer() == nil })
			} else if err := answer(); err != nil {
				t.Fatal(err)
			}
			f.Becomes("running")
			if c.says != "" && !c.refused {
				f.label("needs input")
				if d := f.Last(run.Active).Detail; !strings.Contains(d, c.says) {
					t.Errorf("status says %q", d)
				}
				if !c.still(p) {
					t.Errorf("%s is gone:\n%s", c.name, p.Screen())
				}
				c.away(p)
			}
			p.Ends()
			f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
			rs := f.server.Requests()
			if texts := strings.Join(rs[len(rs)-1].UserTexts(), "\n"); !strings.Contains(texts, "ignored? the left one") {
				t.Errorf("the model was told %q", texts)
			}
		})
	}
}

// Dialogs of a first run are named, answered by nobody but a person, and the
// work goes on.
func TestFirstRunDialogs(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for name, c := range map[string]struct {
		change func(config map[string]any)
		asks   string
	}{
		"trust": {func(config map[string]any) { config["projects"] = map[string]any{} }, "trust the folder"},
		"key":   {func(config map[string]any) { delete(config, "customApiKeyResponses") }, "use the API key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{{mt.Report("nothing was needed")}, {mt.Text("end")}}})
			path := filepath.Join(f.home.Claude, ".claude.json")
			var config map[string]any
			b, err := os.ReadFile(path)
			if err != nil || json.Unmarshal(b, &config) != nil {
				t.Fatal(err)
			}
			c.change(config)
			b, _ = json.Marshal(config)
			f.Write(f.home.Claude, ".claude.json", string(b))
			p := f.inPane()
			f.label("needs input")
			if d := f.Last(run.Active).Detail; !strings.Contains(d, c.asks) {
				t.Errorf("asked %q", d)
			}
			p.chooses("Yes")
			p.Ends()
			f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "needs input, running", nil, nil)
		})
	}
}

// Refused credentials are a person's to mend; headless there is none.
func TestRefusedCredentials(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	turns := []mt.Turn{{mt.Shell("echo made > a.txt; " + commit)}, {mt.Fault{Status: 401, Times: 2}, mt.Report("made it")}, {mt.Text("end")}}
	t.Run("in a pane", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: turns})
		p := f.inPane()
		f.label("needs input")
		if d := f.Last(run.Active).Detail; !strings.Contains(d, "refuses it") || !strings.Contains(d, "/login") {
			t.Errorf("asked %q", d)
		}
		if err := f.Dial().Answer(t.Context(), "go on"); err != nil {
			t.Fatal(err)
		}
		p.Ends()
		f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "needs input, running", nil, nil)
	})
	t.Run("headless", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: turns})
		f.start()()
		f.check(run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Detail: "/login", Commits: 1}, "", nil, nil)
	})
}

// A prompt that never fits is asked about, without hours of trying.
func TestPromptThatNeverFits(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	script := mt.Script{Name: "s", Turns: []mt.Turn{{mt.Shell("true")}, {mt.Shell("true")}, {mt.PromptTooLong}}}
	compaction := mt.Script{Name: "c", Match: "create a detailed summary", Compact: mt.Turn{mt.PromptTooLong}}
	t.Run("in a pane", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, node("s", nil), script, compaction, mt.Script{Name: "mine", Turns: []mt.Turn{{mt.Report("nothing was needed")}, {mt.Text("end")}}})
		p := f.inPane()
		f.label("needs input")
		if d := f.Last(run.Active).Detail; !strings.Contains(d, "Prompt is too long") || !strings.Contains(d, "/clear") {
			t.Errorf("asked %q", d)
		}
		p.Types("/clear")
		f.Eventually("the screen is clear", func() bool { return !strings.Contains(p.Screen(), "too long") })
		if err := f.Dial().Answer(t.Context(), "go on #script:mine"); err != nil {
			t.Fatal(err)
		}
		p.Ends()
		f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
	})
	t.Run("headless", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, node("s", nil), script, compaction)
		f.start()()
		f.check(run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Detail: "Prompt is too long"}, "", nil, nil)
	})
}

// A request that is too large stays so: it is asked about at once.
func TestRequestTooLarge(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	script := mt.Script{Name: "s", Turns: []mt.Turn{{mt.Shell("true")}, {mt.Fault{Status: 413}}}}
	compaction := mt.Script{Name: "c", Match: "create a detailed summary", Compact: mt.Turn{mt.Fault{Status: 413}}}
	t.Run("in a pane", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, node("s", nil), script, compaction, mt.Script{Name: "mine", Turns: []mt.Turn{{mt.Report("nothing was needed")}, {mt.Text("end")}}})
		p := f.inPane()
		f.label("needs input")
		if d := f.Last(run.Active).Detail; !strings.Contains(d, "Request too large") || !strings.Contains(d, "/clear") {
			t.Errorf("asked %q", d)
		}
		p.Types("/clear")
		f.Eventually("the screen is clear", func() bool { return !strings.Contains(p.Screen(), "too large") })
		if err := f.Dial().Answer(t.Context(), "go on #script:mine"); err != nil {
			t.Fatal(err)
		}
		p.Ends()
		f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
		f.unsaid("tries again")
	})
	t.Run("headless", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, node("s", nil), script, compaction)
		f.start()()
		f.check(run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Detail: "Request too large"}, "", nil, nil)
		f.unsaid("tries again")
	})
}

// A Stop hook that is gone before the verdict does not make an end of the turn.
func TestStopHookIsCutShort(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", func(n *dag.Node) {
		n.Verify = []string{slowCheck}
	}), mt.Script{Name: "s", Turns: []mt.Turn{{mt.Report("one")}, {mt.Text("so far")}, {mt.Shell("touch fixed; " + commit)}, {mt.Report("two")}, {mt.Text("end")}}})
	p := f.inPane()
	beside := filepath.Dir(f.Tree)
	f.Eventually("the check runs", func() bool { return exists(filepath.Join(beside, "checking")) })
	f.label("checking")
	f.killHook("Stop")
	p.rests()
	f.Write(beside, "go", "")
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "two", Commits: 1}, "checking, running, checking, running", nil, nil)
}

// killHook ends a waiting hook, as its timeout does.
func (f *fixture) killHook(event string) {
	f.T.Helper()
	f.Eventually("the hook waits", func() bool {
		for _, p := range f.Processes() {
			args, err := exec.Command("ps", "-o", "args=", "-p", fmt.Sprint(p.PID)).Output()
			if err == nil && strings.TrimSpace(string(args)) == f.Run.Binary()+" hook "+event {
				return syscall.Kill(p.PID, syscall.SIGTERM) == nil
			}
		}
		return false
	})
}

// A person who breaks off the wait for the verdict has the agent; the verdict
// comes when they give it back.
func TestEscapeWhileChecking(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", func(n *dag.Node) { n.Verify = []string{slowCheck} }), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Report("one")}, {mt.Text("so far")}, {mt.Shell("touch fixed; " + commit)}, {mt.Report("two")}, {mt.Text("end")}}})
	p := f.inPane()
	beside := filepath.Dir(f.Tree)
	f.Eventually("the check runs", func() bool { return exists(filepath.Join(beside, "checking")) })
	p.Shows("so far")
	p.Keys("Escape") // once: another would clear what is typed later
	f.label("taken over")
	p.rests()
	f.Write(beside, "go", "")
	f.Eventually("the check has failed", func() bool { return strings.Contains(f.Log(), "check failed") })
	if n := len(f.server.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	if err := f.Dial().Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "two", Commits: 1}, "", nil, nil)
}

// slowCheck passes when a file is there. The first time it waits for the test
// before it fails.
const slowCheck = "test -e fixed || { touch ../checking; until test -e ../go; do sleep 0.1; done; exit 5; }"

// A turn of a person's that fails is over all the same: given back, the agent
// is sent on.
func TestFailsWhileTakenOver(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for name, fault := range map[string]mt.Fault{"overloaded": {Status: 529, Times: 2}, "limit": {Status: 429, Times: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("s", nil),
				mt.Script{Name: "s", Turns: []mt.Turn{{mt.Blocked("help me")}, {mt.Text("waiting")}}},
				mt.Script{Name: "mine", Turns: []mt.Turn{{fault, mt.Report("nothing was needed")}, {mt.Text("end")}}})
			p := f.inPane()
			f.label("needs input")
			p.Shows("waiting")
			p.rests()
			p.Types("let me see #script:mine")
			f.label("taken over")
			p.Shows("Resend your message")
			if err := f.Dial().Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.Ends()
			f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
		})
	}
}

// asksFor is a sub-agent that may not do what it wants without a person's yes.
func asksFor(name string) mt.Script {
	return mt.Script{Name: name, Turns: []mt.Turn{{mt.Shell("touch " + name)}, {mt.Text("finished")}}}
}

// Sub-agents may ask at the same time: each question is put to a person, and
// nothing is typed into a dialog that is open.
func TestTwoPermissions(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{delegated("one"), delegated("two")}, {mt.Text("waiting")}, {mt.Text("waiting")}, {mt.Report("nothing was needed")}, {mt.Text("end")},
		{mt.Report("nothing was needed")}, {mt.Text("end")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}},
		asksFor("one"), asksFor("two"))
	f.Write(f.home.Claude, "settings.json", `{"permissions":{"ask":["Bash(touch:*)"]}}`)
	p := f.inPane()
	f.label("needs input")
	asked := func() string { return strings.Fields(f.Last(run.Active).Detail + " - - - - - -")[5] } // may it use Bash? touch NAME
	first := asked()
	if err := f.Dial().Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	f.Eventually("the one that was asked about is made", func() bool { return exists(filepath.Join(f.Tree, first)) })
	f.Eventually("the other is asked about", func() bool { name := asked(); return name != first && (name == "one" || name == "two") })
	f.label("needs input")
	if name := asked(); exists(filepath.Join(f.Tree, name)) {
		t.Errorf("%s was made before it was allowed", name)
	}
	if err := f.Dial().Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed", Commits: 1}, "", nil, []string{"one", "two"})
}

// A question about one of several calls of a tool stands while the others end.
func TestPermissionBesideAnotherCall(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	dir := t.TempDir()
	asked, other, read := filepath.Join(dir, "asked"), filepath.Join(dir, "other"), filepath.Join(dir, "read") // hooks hold the other until it may go
	reads := func(file string) mt.ToolUse {
		return mt.ToolUse{Name: "Read", Input: map[string]string{"file_path": file}}
	}
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{reads(asked), reads(other)}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	f.Write(dir, "asked", "x\n")
	f.Write(dir, "other", "y\n")
	f.Write(f.home.Claude, "settings.json", `{"permissions":{"ask":["Read(/`+asked+`)"]},"hooks":{
		"PreToolUse":[{"matcher":"Read","hooks":[{"type":"command","command":"! grep -q `+other+` || until test -e `+dir+`/go; do sleep 0.05; done"}]}],
		"PostToolUse":[{"matcher":"Read","hooks":[{"type":"command","command":"touch `+read+`"}]}]}}`)
	p := f.inPane()
	f.label("needs input")
	f.Write(dir, "go", "")
	f.Eventually("the other file is read", func() bool { return exists(read) })
	if err := f.Dial().Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "needs input, running", nil, nil)
	for _, r := range f.Records() {
		if strings.Contains(r.Detail, "shows a dialog") {
			t.Errorf("asked %q", r.Detail)
		}
	}
}

// cmux reports a dialog of the program that no hook reports, also in a pane that is too
// small for its last line.
func TestUntoldDialog(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for _, height := range []string{"50", "21"} {
		t.Run(height, func(t *testing.T) {
			t.Parallel()
			untoldDialog(t, height)
		})
	}
}

func untoldDialog(t *testing.T, height string) {
	f := newFixture(t, node("s", func(n *dag.Node) { n.AutoAccept = false }), mt.Script{Name: "s", Turns: []mt.Turn{
		{delegated("sub")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}}, sub)
	p := f.inPane()
	p.Exec("resize-window", "-t", p.ID, "-x", "79", "-y", height)
	p.Shows("To get the check back") // its title may be above the pane, too
	f.label("needs input")
	if d := f.Last(run.Active).Detail; !strings.Contains(d, "shows a dialog") {
		t.Errorf("asked %q", d)
	}
	if err := f.Dial().Answer(t.Context(), "yes"); err == nil || !strings.Contains(err.Error(), "Only keys in its pane answer it") {
		t.Errorf("an answer that cannot reach the dialog: %v", err)
	}
	p.Keys("Escape")
	f.Eventually("it goes on or is a person's", func() bool { a := f.Last(run.Active).Activity; return a != dag.NeedsInput })
	if err := f.Dial().Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What a person says to an agent at work waits for the end of its turn, and
// hides no dialog that opens meanwhile.
func TestDialogOpensWhileAMessageWaits(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", func(n *dag.Node) { n.AutoAccept = false }), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Hold("told"), delegated("sub")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}}, sub)
	p := f.inPane()
	f.Eventually("it is at work", func() bool { return len(f.server.Requests()) > 0 })
	if err := f.Dial().Answer(t.Context(), "use the second schema"); err != nil {
		t.Fatal(err)
	}
	f.server.Release("told")
	p.Shows("Auto mode can't check")
	f.label("needs input")
	if d := f.Last(run.Active).Detail; !strings.Contains(d, "shows a dialog") {
		t.Errorf("asked %q", d)
	}
	if err := f.Dial().Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A person who says no in the pane has the agent.
func TestPermissionIsRejectedInThePane(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", func(n *dag.Node) { n.AutoAccept = false }), mt.Script{Name: "s", Turns: []mt.Turn{
		{mt.Shell("touch made")}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	f.Write(f.home.Claude, "settings.json", `{"permissions":{"ask":["Bash(touch:*)"]}}`)
	p := f.inPane()
	f.label("needs input")
	p.Shows("Do you want to")
	p.Keys("Escape")
	f.label("taken over")
	if err := f.Dial().Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Ends()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "needs input, taken over, running", nil, []string{"!made"})
}

// Where the wrapper is gone, nothing is written and nothing hangs.
func TestHooksWithoutWrapper(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	var f *fixture
	f = newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{{mt.Report("nothing was needed")}, {mt.Text("end")}}},
		mt.Script{Name: "alone", Turns: inTree([]mt.Turn{{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/made", "content": "x"}}}, {mt.Shell("touch made")}, {mt.Text("stopped")}}, func() string { return f.Tree })})
	f.start()()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
	cmd := exec.CommandContext(t.Context(), mt.Claude(t), "-p", "--dangerously-skip-permissions", "--settings", f.Run.NodeDir("a")+"/settings-1.json", "--", "do #script:alone")
	cmd.Env = append(f.Env, "CMUX_SOCKET="+f.Run.Socket("a"), "CMUX_NODE=a", "CMUX_TOKEN=secret")
	cmd.Dir = f.Tree
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stopped") {
		t.Errorf("%v: %s", err, out)
	}
	if exists(f.Tree + "/made") {
		t.Error("it was let write")
	}
	rs := f.server.Requests()
	results := rs[len(rs)-1].ToolResults()
	if len(results) != 2 || !strings.Contains(results[0].Text, "its wrapper does not answer") {
		t.Errorf("told %+v", results)
	}
}
