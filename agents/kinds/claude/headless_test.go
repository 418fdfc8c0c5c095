package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
)

const commit = "git add -A && git commit -q -m work"

// scenario is a conversation that comes to its end without a person, in a pane
// as well as headless.
type scenario struct {
	name string
	// anywhere says that what it is about is the same in a pane, where a program
	// costs twice as much: it is played headless alone.
	anywhere bool
	// always says that make test plays it too, headless.
	always bool
	change func(*dag.Node)
	before func(f *fixture) // it starts; may be nil
	turns  []mt.Turn        // {tree} in a Shell or a path stands for the worktree
	want   run.End
	was    string           // activities; empty: any
	log    []string         // in the log
	files  []string         // in the worktree; with a leading ! not there
	more   func(f *fixture) // looked at beside; may be nil
}

// test plays the scenario.
func (c scenario) test(t *testing.T, pane bool) {
	if pane && c.anywhere {
		return
	}
	t.Run(c.name, func(t *testing.T) {
		if !c.always {
			testall.Only(t)
		}
		t.Parallel()
		var f *fixture
		tree := func() string { return f.Spec.Place.Dir }
		scripts := []mt.Script{{Name: "s", Turns: inTree(c.turns, tree)}}
		for _, h := range helpers {
			scripts = append(scripts, mt.Script{Name: h.Name, Turns: inTree(h.Turns, tree)})
		}
		f = newFixture(t, node("s", c.change), scripts...)
		if c.before != nil {
			c.before(f)
		}
		if pane {
			f.inPane().Ends()
		} else {
			f.start()()
		}
		f.check(c.want, c.was, c.log, c.files)
		if c.more != nil {
			c.more(f)
		}
	})
}

// everyEnd is what Claude Code has of its own beside what every kind must do.
var everyEnd = []scenario{
	{name: "is sent back until it reports", anywhere: true,
		turns: []mt.Turn{{mt.Shell("echo made > a.txt; " + commit)}, {mt.Text("finished")}, {mt.Text("really")}, {mt.Report("made it")}, {mt.Text("bye")}},
		want:  run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, log: []string{"You ended your turn without reporting"}},
	{name: "works in a folder of its worktree", change: func(n *dag.Node) {
		n.AutoAccept, n.Dir, n.Verify = false, "web", []string{"test -f a.txt && test -f ../README"}
	},
		before: func(f *fixture) {
			if err := os.Mkdir(filepath.Join(f.Tree, "web"), 0o755); err != nil {
				f.T.Fatal(err)
			}
		},
		turns: []mt.Turn{{mt.ToolUse{Name: "Read", Input: map[string]string{"file_path": "{tree}/README"}}},
			{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/web/a.txt", "content": "made\n"}}},
			{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/top.txt", "content": "made\n"}}},
			{mt.Shell("test -f a.txt && test -f ../README")}, {mt.Shell("git add -A && git commit -q -m work")}, {mt.Report("made it")}, {mt.Text("bye")}},
		want: run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, files: []string{"web/a.txt", "top.txt"}},
	{name: "mends what a check found", anywhere: true, change: func(n *dag.Node) { n.Verify = []string{"test -e fixed || { echo not fixed yet; exit 5; }"} },
		turns: []mt.Turn{{mt.Shell("echo made > a.txt; " + commit)}, {mt.Report("one")}, {mt.Text("end")}, {mt.Report("two")}, {mt.Text("end")},
			{mt.Shell("touch fixed; " + commit)}, {mt.Report("three")}, {mt.Text("end")}},
		want: run.End{Outcome: dag.Done, Summary: "three", Commits: 2}, was: "checking, running, checking, running, checking, running", log: []string{"not fixed yet"}},
	{name: "cannot mend it", change: func(n *dag.Node) { n.Verify = []string{"exit 5"}; n.VerifyAttempts = 2 },
		turns: []mt.Turn{{mt.Report("one")}, {mt.Text("end")}, {mt.Report("two")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Detail: "exit 5"}},
	{name: "writes out of its scope", anywhere: true, always: true, change: func(n *dag.Node) { n.Scope = []string{"src/"} },
		turns: []mt.Turn{{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/other.txt", "content": "no\n"}}},
			{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/src/a.txt", "content": "yes\n"}}},
			{mt.Shell("echo no > stray; " + commit)}, {mt.Report("one")}, {mt.Text("end")},
			{mt.Shell("git rm -q stray && git commit -q -m mended")}, {mt.Report("two")}, {mt.Text("end")}},
		want: run.End{Outcome: dag.Done, Summary: "two", Commits: 2}, files: []string{"src/a.txt", "!other.txt", "!stray"},
		log: []string{"outside your scope"}},
	{name: "reviews", anywhere: true, change: func(n *dag.Node) { n.Role, n.Branch = dag.RoleReview, "" },
		turns: []mt.Turn{{mt.ToolUse{Name: "Bash", Input: map[string]string{"command": "echo x > README", "description": "write"}}}, {mt.Report("looks good")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "looks good"}},
	{name: "meets a limit",
		turns: []mt.Turn{{mt.Fault{Status: 429, Message: "Rate limited. Please try again in 1 second.", Times: 2}, mt.Report("nothing was needed")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "nothing was needed"}, was: "limited, running"},
	{name: "meets a limit that does not say when",
		turns: []mt.Turn{{mt.Fault{Status: 429, Times: 2}, mt.Report("nothing was needed")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "nothing was needed"}, was: "limited, running"},
	{name: "meets a service in trouble",
		turns: []mt.Turn{{mt.Fault{Status: 529, Times: 2}, mt.Report("nothing was needed")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "nothing was needed"}, log: []string{"the model failed"}},
	{name: "meets a service that is down", turns: []mt.Turn{{mt.ServerError}},
		want: run.End{Outcome: dag.Failed, Detail: "the model failed 6 times in a row"}},
	{name: "waits for its sub-agent", always: true,
		turns: []mt.Turn{{mt.ToolUse{Name: "Agent", Input: map[string]any{"description": "sub", "prompt": "do #script:sub", "subagent_type": "general-purpose", "run_in_background": true}}},
			{mt.Text("waiting for it")}, {mt.Shell(commit)}, {mt.Report("with help")}, {mt.Text("end")}},
		want: run.End{Outcome: dag.Done, Summary: "with help", Commits: 1}, files: []string{"sub.txt"}},
}

// sub is the script of a sub-agent.
var sub = mt.Script{Name: "sub", Turns: []mt.Turn{{mt.Shell("echo sub > sub.txt")}, {mt.Text("sub finished")}}}

func (f *fixture) check(want run.End, was string, log, files []string) {
	f.T.Helper()
	end := f.Ended()
	if end.Outcome != want.Outcome || end.Reason != want.Reason || end.Summary != want.Summary || end.Commits != want.Commits ||
		!strings.Contains(end.Detail, want.Detail) {
		f.T.Errorf("end %+v\nwant %+v", *end, want)
	}
	if was != "" && f.Activities() != was {
		f.T.Errorf("was %q, want %q", f.Activities(), was)
	}
	got := f.Log()
	for _, l := range log {
		if !strings.Contains(got, l) {
			f.T.Errorf("not in the log: %s", l)
		}
	}
	for _, name := range files {
		name, not := strings.CutPrefix(name, "!")
		if exists(filepath.Join(f.Tree, name)) == not {
			f.T.Errorf("%s: there %v", name, !not)
		}
	}
	if strays := f.server.Strays(); len(strays) > 0 {
		f.T.Logf("also asked for: %q", strays)
	}
}

// inTree puts the worktree's path into turns that name it.
func inTree(turns []mt.Turn, tree func() string) []mt.Turn {
	var out []mt.Turn
	for _, turn := range turns {
		out = append(out, mt.Turn{mt.Func(func(mt.Request) mt.Turn {
			var t mt.Turn
			for _, step := range turn {
				if use, ok := step.(mt.ToolUse); ok {
					if in, ok := use.Input.(map[string]string); ok {
						put := map[string]string{}
						for k, v := range in {
							put[k] = strings.ReplaceAll(v, "{tree}", tree())
						}
						step = mt.ToolUse{Name: use.Name, Input: put}
					}
				}
				t = append(t, step)
			}
			return t
		})})
	}
	return out
}

func TestEveryEndHeadless(t *testing.T) {
	t.Parallel()
	for _, c := range everyEnd {
		c.test(t, false)
	}
}

func TestHeadlessQuestionIsRefused(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{
		{question}, {mt.Report("nothing was needed")}, {mt.Text("end")}}})
	f.start()()
	f.check(run.End{Outcome: dag.Done, Summary: "nothing was needed"}, "", nil, nil)
	for _, tool := range f.server.Requests()[0].Tools {
		if tool == "AskUserQuestion" || tool == "EnterPlanMode" {
			t.Errorf("%s is offered", tool)
		}
	}
}

// A conversation whose wrapper was killed goes on where it was.
func TestResumesHeadless(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("s", nil), resumable)
	f.start()
	f.server.WaitHeld(t, "gate", 1)
	f.killAndRedo()
	wait := f.start()
	f.server.WaitHeld(t, "gate", 1)
	f.server.Release("gate")
	wait()
	f.resumed()
}

// killProgram kills Claude Code and leaves its wrapper alone.
func (f *fixture) killProgram() {
	f.T.Helper()
	f.Eventually("the conversation is recorded", func() bool { return f.Last(run.Conversed) != nil })
	f.signal(syscall.SIGKILL)
}

// signal sends Claude Code a signal.
func (f *fixture) signal(s syscall.Signal) {
	f.T.Helper()
	all := f.Processes()
	i := slices.IndexFunc(all, func(p proc.Process) bool { return p.Command == "claude" })
	if i < 0 {
		f.T.Fatalf("no claude among %v", all)
	}
	if err := syscall.Kill(all[i].PID, s); err != nil {
		f.T.Fatal(err)
	}
}

// redoLost redoes an attempt that knows itself that its program was killed.
func (f *fixture) redoLost() {
	f.T.Helper()
	f.Eventually("the attempt is lost", func() bool { return f.Last(run.Vanished) != nil })
	if v := f.Last(run.Vanished); v.How != run.HowLost || !strings.Contains(v.Detail, "signal 9") {
		f.T.Errorf("recorded %+v", v)
	}
	f.Lost()
}

// The program closes a turn that was broken off with a message of its own, which
// counts as one of the model's.
var resumable = mt.Script{Name: "s", Turns: []mt.Turn{
	{mt.Shell("echo made > a.txt; " + commit)}, {mt.Hold("gate"), mt.Report("too early")}, {mt.Hold("gate"), mt.Report("made it")}, {mt.Text("end")}}}

// killAndRedo kills the wrapper and prepares the attempt that redoes it, as the
// runner does.
func (f *fixture) killAndRedo() {
	f.T.Helper()
	f.Eventually("the conversation is recorded", func() bool { return f.Last(run.Conversed) != nil })
	began := f.Last(run.Began)
	kill(f.T, began.PID)
	f.Eventually("the program that was asking is gone", func() bool { return f.server.Held("gate") == 0 })
	f.Lost()
}

// resumed checks that the redone attempt went on in the same conversation.
func (f *fixture) resumed() {
	f.T.Helper()
	f.check(run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, "", nil, []string{"a.txt"})
	if c := f.Ended().Conversation; c != f.Spec.Conversation {
		f.T.Errorf("conversation %s, want %s", c, f.Spec.Conversation)
	}
	rs := f.server.Requests()
	for _, r := range rs {
		if r.Session != f.Spec.Conversation {
			f.T.Errorf("request %d is of another conversation, %s", r.Seq, r.Session)
		}
	}
	if texts := rs[len(rs)-1].UserTexts(); !strings.Contains(strings.Join(texts, "\n"), "You were interrupted") {
		f.T.Errorf("it was not told: %q", texts)
	}
}

func TestStopsWhenTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t, node("s", nil), mt.Script{Name: "s", Turns: []mt.Turn{{mt.Hold("never")}}})
	wait := f.start()
	f.server.WaitHeld(t, "never", 1)
	c := f.Dial()
	if err := c.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 130 {
		t.Errorf("exit %d", code)
	}
	f.Eventually("the program is gone", func() bool { return f.server.Held("never") == 0 })
	if end := f.Ended(); end.Exit != 143 {
		t.Errorf("it was not ended by TERM: exit %d", end.Exit)
	}
}
