package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
)

func standingFixture(t *testing.T) *fixture {
	n := node("brief", nil)
	f := newFixture(t, n,
		mt.Script{Name: "brief", Turns: []mt.Turn{{mt.Text("hello")}}},
		mt.Script{Name: "mail", Turns: []mt.Turn{{mt.Text("thanks")}}},
		mt.Script{Name: "talk", Turns: []mt.Turn{{mt.Text("nice weather")}}},
		mt.Script{Name: "first", Turns: []mt.Turn{
			{mt.Shell("echo made > a.txt; " + commit)}, {mt.Report("one")}, {mt.Text("end")},
			{mt.Shell("touch fixed; " + commit)}, {mt.Report("two")}, {mt.Text("end")}, {mt.Text("end")}, {mt.Text("end")}}},
		mt.Script{Name: "second", Turns: []mt.Turn{{mt.Shell("echo more > b.txt; " + commit)}, {mt.Report("more")}, {mt.Text("end")}, {mt.Text("end")}}},
	)
	f.Stay("You are a worker. #script:brief")
	return f
}

func (f *fixture) ordered(m attempt.Message) *attempt.Standing {
	f.T.Helper()
	c := f.Dial()
	defer c.Close()
	r, err := c.Send(f.T.Context(), m)
	if err != nil {
		f.T.Fatal(err)
	}
	return r.Standing
}

func (f *fixture) restsIdle() {
	f.T.Helper()
	f.Eventually("it rests", func() bool {
		s := f.ordered(attempt.Message{Op: attempt.OpStand})
		return s.Activity == dag.Resting && s.Work == ""
	})
}

func (f *fixture) over(id string) *run.End {
	f.T.Helper()
	var end *run.End
	f.Eventually(id+" is over", func() bool {
		for _, r := range f.Records() {
			if r.Type == run.WorkEnded && r.Key == id {
				end = r.End
			}
		}
		return end != nil
	})
	return end
}

// hears waits until a message was read.
func (f *fixture) hears(id, text string) {
	f.T.Helper()
	f.ordered(attempt.Message{Op: attempt.OpTell, Key: id, Text: agenttest.Envelope(id, text)})
	f.Eventually(id+" is confirmed", func() bool {
		for _, r := range f.Records() {
			if r.Type == run.Confirmed && r.Key == id {
				return true
			}
		}
		return false
	})
}

// works has it do two pieces of work, with messages before and in between, and
// its program killed after the first.
func (f *fixture) works() {
	f.T.Helper()
	f.restsIdle()
	f.hears("m1", "good morning #script:mail")
	f.restsIdle()

	first := f.Work("T1", "Make it. #script:first", "test -e fixed || { echo not fixed yet; exit 5; }")
	f.ordered(attempt.Message{Op: attempt.OpGive, Work: first})
	made := f.over("T1")
	if made.Outcome != dag.Done || made.Summary != "two" || made.Commits != 2 || len(made.Checks) != 1 {
		f.T.Errorf("the first ended as %+v", made)
	}
	f.restsIdle()
	conversation := f.Last(run.Conversed).Conversation

	before := len(f.server.Requests())
	for _, p := range f.Processes() {
		if p.Command == "claude" || strings.Contains(p.Command, "node") {
			syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	f.Eventually("its program is started again", func() bool {
		starts := 0
		for _, r := range f.Records() {
			if r.Type == run.Active && strings.Contains(r.Detail, "starts again") {
				starts++
			}
		}
		return starts == 1
	})
	f.restsIdle()
	if n := len(f.server.Requests()) - before; n != 0 {
		f.T.Errorf("%d requests because its program was started again, with nothing to do", n)
	}
	f.hears("m2", "welcome back #script:mail")
	f.restsIdle()
	if c := f.Last(run.Conversed).Conversation; c != conversation {
		f.T.Errorf("it went on in conversation %s, not in %s", c, conversation)
	}

	second := f.Work("T2", "Make more. #script:second")
	second.Place.Commit = f.Git(f.Tree, "rev-parse", "HEAD")
	f.ordered(attempt.Message{Op: attempt.OpGive, Work: second})
	more := f.over("T2")
	if more.Outcome != dag.Done || more.Summary != "more" || more.Commits != 1 {
		f.T.Errorf("the second ended as %+v", more)
	}
	f.restsIdle()
	// Each piece of work counts what it used itself. The messages used the rest, which is
	// recorded now and then.
	f.Eventually("the life has used more than its pieces of work", func() bool {
		return made.Used.Counted()+more.Used.Counted() < f.Last(run.Used).Used.Counted()
	})
	if more.Used.Counted() == 0 {
		f.T.Error("the second piece of work used nothing")
	}
}

func (f *fixture) stopped(wait func() int) {
	f.T.Helper()
	f.ordered(attempt.Message{Op: attempt.OpStop})
	if wait != nil {
		wait()
	}
	f.Eventually("it has left", func() bool { return f.Last(run.Vanished) != nil })
}

func TestStandingHeadless(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := standingFixture(t)
	wait := f.start()
	f.works()
	f.stopped(wait)
}

func TestStandingInAPane(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := standingFixture(t)
	p := f.inPane()
	f.works()
	p.Types("hello #script:talk")
	p.Shows("nice weather")
	f.restsIdle()
	if s := f.ordered(attempt.Message{Op: attempt.OpStand}); s.Taken {
		t.Error("a person who talks to it took it over")
	}
	f.hears("m3", "go on #script:mail")
	f.restsIdle()
	f.stopped(nil)
}

// At work in its pane it asks with its own tool: no dialog opens in front of
// nobody, the question goes to its supervisor, and the answer comes as a message,
// with which the work goes on.
func TestAsksWhileItStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, node("brief", nil),
		mt.Script{Name: "brief", Turns: []mt.Turn{{mt.Text("hello")}}},
		mt.Script{Name: "ask", Turns: []mt.Turn{{question}, {mt.Text("I wait.")}}},
		mt.Script{Name: "blue", Turns: []mt.Turn{{mt.Shell("echo blue > a.txt; " + commit)}, {mt.Report("it is blue")}, {mt.Text("end")}}},
	)
	if err := signals.Init(f.Root); err != nil {
		t.Fatal(err)
	}
	f.Stay("You are a worker. #script:brief")
	f.inPane()
	f.restsIdle()
	f.ordered(attempt.Message{Op: attempt.OpGive, Work: f.Work("T1", "Paint it. #script:ask")})
	f.Eventually("it waits for its supervisor", func() bool {
		a := f.Last(run.Active)
		return a.Activity == dag.NeedsInput && strings.HasPrefix(a.Detail, "asked supervisor: ")
	})
	if s := f.ordered(attempt.Message{Op: attempt.OpStand}); s.Work != "T1" {
		t.Errorf("while it asks it stands as %+v", s)
	}
	mail, err := os.ReadFile(filepath.Join(f.Root, ".cmux/mailbox"))
	if err != nil || strings.Count(string(mail), "\n") != 1 || !strings.Contains(string(mail), "Blue: like the sea") {
		t.Errorf("its supervisor is sent %s, %v", mail, err)
	}
	f.hears("m1", "Blue #script:blue")
	if end := f.over("T1"); end.Outcome != dag.Done || end.Summary != "it is blue" || end.Commits != 1 {
		t.Errorf("T1 ended as %+v", end)
	}
	f.restsIdle()
	f.stopped(nil)
}

// What it left running is waited for only while it is at work on a task.
func TestBackgroundWhileItStays(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	f := newFixture(t, node("brief", nil),
		mt.Script{Name: "brief", Turns: []mt.Turn{{mt.Text("hello")}}},
		mt.Script{Name: "serve", Turns: []mt.Turn{{inBackground("while :; do sleep 1; done")}, {mt.Text("it serves")}}},
		mt.Script{Name: "mail", Turns: []mt.Turn{{mt.Text("thanks")}}},
		mt.Script{Name: "wait", Turns: []mt.Turn{{mt.Text("waiting for it")}}},
		mt.Script{Name: "make", Turns: []mt.Turn{{mt.Shell("echo made > a.txt; " + commit)}, {mt.Report("made it")}, {mt.Text("end")}}},
	)
	f.Stay("You are a worker. #script:brief")
	f.inPane()
	f.restsIdle()
	f.hears("m1", "serve it #script:serve")
	f.restsIdle()
	f.hears("m2", "hi #script:mail")
	f.restsIdle()
	f.ordered(attempt.Message{Op: attempt.OpGive, Work: f.Work("T1", "Make it. #script:wait")})
	f.Eventually("it waits in words", func() bool { return f.Last(run.Active).Detail == "waits for 1 background command" })
	f.hears("m3", "go on #script:make")
	if end := f.over("T1"); end.Outcome != dag.Done || end.Summary != "made it" {
		t.Errorf("T1 ended as %+v", end)
	}
	f.restsIdle()
	f.stopped(nil)
}

// It is told to compact at rest: how it stands is kept first, its program confirms
// it, and an order that is said again changes nothing. What comes meanwhile waits.
func TestCompactsByOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, node("brief", nil),
		mt.Script{Name: "brief", Turns: []mt.Turn{{mt.Usage{Input: 1000, Output: 20, CacheRead: 119_000}, mt.Text("hello")}}},
		mt.Script{Name: "mail", Turns: []mt.Turn{{mt.Usage{Input: 2000, Output: 20, CacheRead: 125_000}, mt.Text("thanks")}}},
		mt.Script{Name: "sum", Match: "create a detailed summary", Compact: mt.Turn{mt.Hold("summary"), mt.Text("<summary>we said hello</summary>")}},
		mt.Script{Name: "after", Turns: []mt.Turn{{mt.Usage{Input: 5000, Output: 20}, mt.Text("good")}}},
	)
	f.Stay("You are a worker. #script:brief")
	f.inPane()
	f.restsIdle()
	f.hears("m1", "good morning #script:mail")
	f.restsIdle()
	f.hears("m2", "and again #script:mail")
	f.restsIdle()
	f.Eventually("its context is known", func() bool {
		for _, r := range f.Records() {
			if r.Type == run.Filled && r.Context.Tokens == 120_020 && r.Context.Window == 1_000_000 {
				return true
			}
		}
		return false
	})
	f.ordered(attempt.Message{Op: attempt.OpCompact, Key: "c1"})
	f.server.WaitHeld(t, "summary", 1)
	f.ordered(attempt.Message{Op: attempt.OpCompact, Key: "c1"})
	f.ordered(attempt.Message{Op: attempt.OpTell, Key: "m3", Text: agenttest.Envelope("m3", "meanwhile #script:after")})
	f.server.Release("summary")
	f.Eventually("m3 is confirmed", func() bool { return f.Last(run.Confirmed).Key == "m3" })
	f.restsIdle()
	var said []string
	for _, r := range f.Records() {
		switch {
		case r.Type == run.Compacting, r.Type == run.Compacted:
			said = append(said, string(r.Type)+" "+r.Key+" "+r.Detail)
		case r.Type == run.Confirmed:
			said = append(said, r.Key)
		}
	}
	if got, want := strings.Join(said, ", "), "m1, m2, compacts c1 ordered, compacted c1 ordered, m3"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	compactions := 0
	for _, r := range f.server.Requests() {
		if r.Compaction() {
			compactions++
		}
	}
	if compactions != 1 {
		t.Errorf("%d requests for a summary, want 1", compactions)
	}
	f.remembers("You have no task of your own now.")
	f.Eventually("less of its context is in use", func() bool { return f.Last(run.Filled).Context.Tokens < 20_000 })
}

// A message that interrupts breaks a headless turn off, while the model speaks and while a
// command runs. What is said next answers that message, and no earlier one.
func TestBreaksOffHeadless(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string][]mt.Turn{
		"while the model speaks": {{mt.Text("begun"), mt.Hold("never")}},
		"in a command":           {{mt.Shell("echo $$ > ../began; exec sleep 1000")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, node("brief", nil),
				mt.Script{Name: "brief", Turns: []mt.Turn{{mt.Text("hello")}}},
				mt.Script{Name: "long", Turns: busy},
				mt.Script{Name: "next", Turns: []mt.Turn{{mt.Text("the answer to what is new")}}},
				mt.Script{Name: "last", Turns: []mt.Turn{{mt.Text("the answer to the last")}}},
			)
			f.Stay("You are a worker. #script:brief")
			f.Spec.Terms.Replies = true
			wait := f.start()
			f.restsIdle()
			f.ordered(attempt.Message{Op: attempt.OpTell, Key: "m1", Text: agenttest.Envelope("m1", "work on this #script:long")})
			if name == "in a command" {
				f.Eventually("the command runs", func() bool {
					_, err := os.Stat(filepath.Join(f.Tree, "../began"))
					return err == nil
				})
			} else {
				f.server.WaitHeld(t, "never", 1)
			}
			f.ordered(attempt.Message{Op: attempt.OpTell, Key: "m2", Text: agenttest.Envelope("m2", "no, this #script:next"), Urgency: mailbox.Interrupt})
			said := func() (all []string) {
				for _, r := range f.Records() {
					if r.Type == run.Replied && r.Key != "" {
						all = append(all, strings.TrimSpace(r.Key+" "+r.How+" "+r.Detail))
					}
				}
				return all
			}
			f.Eventually("it answers what is new", func() bool { return len(said()) == 2 })
			f.restsIdle()
			f.hears("m3", "and this #script:last")
			f.Eventually("it answers the last", func() bool { return len(said()) == 3 })
			got := said()
			got[0] = strings.TrimSuffix(got[0], " begun") // as far as it is known what it had said
			if want := []string{"m1 broken off", "m2  the answer to what is new", "m3  the answer to the last"}; !slices.Equal(got, want) {
				t.Errorf("it has said %q", got)
			}
			if n := f.server.Held("never"); n != 0 {
				t.Errorf("%d answers of the turn that was broken off are still awaited", n)
			}
			f.restsIdle()
			f.stopped(wait)
		})
	}
}
