package wrapper_test

import (
	"strings"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
)

const hook = "cmux hook "

// anyExit is for a program that may end by itself before it is ended.
const anyExit = -1

func scriptedNode(task string, change func(*dag.Node)) dag.Node {
	// A gate has no worktree, and with it verify runs where the script does.
	n := dag.Node{Agent: scripted.Name, Role: dag.RoleGate, Task: "set -e\n" + task, VerifyAttempts: 3, VerifyTimeout: dag.Duration(time.Minute)}
	if change != nil {
		change(&n)
	}
	return n
}

// Every end that an agent can cause without a person.
func TestConversationsHeadless(t *testing.T) {
	for _, c := range []struct {
		name       string
		task       string
		change     func(*dag.Node)
		want       run.End
		activities string
		log        string
	}{
		{"reports", "cmux done 'made it'; sleep 1000", nil,
			run.End{Outcome: dag.Done, Summary: "made it", Exit: 143}, "", ""},
		{"is sent back until it reports",
			"for i in 1 2 3; do " + hook + "turn-ended </dev/null; read -r line; echo \"told: $line\"; done; cmux done ok; sleep 1000", nil,
			run.End{Outcome: dag.Done, Summary: "ok", Exit: 143}, "", "told: You ended your turn without reporting"},
		{"never reports", "while :; do " + hook + "turn-ended </dev/null; read -r line; done", nil,
			run.End{Outcome: dag.Failed, Reason: dag.ReasonNoReport, Exit: 143, Detail: "ended 4 turns"}, "", ""},
		{"waits for its sub-agents",
			"echo '{\"background\":1}' | " + hook + "turn-ended; " + hook + "turn-ended </dev/null; read -r line; echo \"told: $line\"; cmux done ok; sleep 1000", nil,
			run.End{Outcome: dag.Done, Summary: "ok", Exit: 143}, "", "told: You ended"},
		{"mends what a check found", "cmux done one; read -r line; echo \"told: $line\"; touch fixed; cmux done two; sleep 1000",
			func(n *dag.Node) { n.Verify = []string{"test -e fixed || { echo not fixed yet; exit 5; }"} },
			run.End{Outcome: dag.Done, Summary: "two", Exit: 143}, "checking, running, checking, running", "not fixed yet"},
		{"cannot mend it", "while :; do cmux done again; read -r line; done",
			func(n *dag.Node) { n.Verify = []string{"exit 5"}; n.VerifyAttempts = 2 },
			run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Exit: 143, Detail: "exit 5"}, "checking, running, checking, running", ""},
		{"is blocked", "cmux blocked 'no credentials'; sleep 1000", nil,
			run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Exit: 143, Detail: "no credentials"}, "", ""},
		{"asks", "echo '{\"text\":\"which one?\"}' | " + hook + "question; sleep 1000", nil,
			run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Exit: 143, Detail: "which one?"}, "", ""},
		{"asks and nobody answers in time", "echo '{\"text\":\"which one?\"}' | " + hook + "question; sleep 1000",
			func(n *dag.Node) { n.InputTimeout = dag.Duration(50 * time.Millisecond) },
			run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Exit: 143, Detail: "nobody answered"}, "needs input", ""},
		{"leaves without a word", "exit 0", nil,
			run.End{Outcome: dag.Failed, Reason: dag.ReasonNoReport, Detail: "without a report (exit 0)"}, "", ""},
		{"is ended without a word", "kill -TERM $$; sleep 1000", nil,
			run.End{Outcome: dag.Failed, Reason: dag.ReasonNoReport, Exit: 143, Detail: "without a report"}, "", ""},
		{"leaves without a word, and nobody decides in time", "exit 0",
			func(n *dag.Node) { n.InputTimeout = dag.Duration(50 * time.Millisecond) },
			run.End{Outcome: dag.Failed, Reason: dag.ReasonNoReport, Detail: "nobody decided"}, "needs input", ""},
		{"crashes", "exit 7", nil, run.End{Outcome: dag.Failed, Exit: 7, Detail: "without a report"}, "", ""},
		{"reports and leaves", "cmux done bye; exit 0", nil, run.End{Outcome: dag.Done, Summary: "bye", Exit: anyExit}, "", ""},
		{"meets a limit that ends", "echo '{\"until\":\"2020-01-01T00:00:00Z\"}' | " + hook + "limited; read -r line; echo \"told: $line\"; cmux done ok; sleep 1000", nil,
			run.End{Outcome: dag.Done, Summary: "ok", Exit: 143}, "limited, wants, running", "told: The limit is over"},
		{"meets a limit that does not say when", hook + "limited </dev/null; read -r line; " + hook + "limited </dev/null; read -r line; cmux done ok; sleep 1000", nil,
			run.End{Outcome: dag.Done, Summary: "ok", Exit: 143}, "limited, wants, running, limited, wants, running", ""},
		{"goes on by itself", "echo '{\"until\":\"2100-01-01T00:00:00Z\"}' | " + hook + "limited; " + hook + "resumed </dev/null; cmux done ok; sleep 1000", nil,
			run.End{Outcome: dag.Done, Summary: "ok", Exit: 143}, "", ""},
		{"spends too much", "echo '{\"used\":{\"input\":500,\"output\":500,\"cache_read\":5000,\"cache_create\":1}}' | " + hook + "usage; sleep 1000",
			func(n *dag.Node) { n.Budget.Tokens = 1000 },
			run.End{Outcome: dag.Failed, Reason: dag.ReasonBudget, Exit: 143, Used: dag.Usage{Input: 500, Output: 500, CacheRead: 5000, CacheCreate: 1}, Detail: "1001 of its budget of 1000"}, "", ""},
		{"spends too much while it is judged, and passes",
			"cmux done one; echo '{\"used\":{\"input\":1001}}' | " + hook + "usage; touch used; sleep 1000",
			func(n *dag.Node) {
				n.Budget.Tokens, n.Verify = 1000, []string{"until test -e used; do sleep 0.1; done"}
			},
			run.End{Outcome: dag.Done, Summary: "one", Exit: 143, Used: dag.Usage{Input: 1001}}, "checking, running", ""},
		{"spends too much while it is judged, and does not pass",
			"cmux done one; echo '{\"used\":{\"input\":1001}}' | " + hook + "usage; touch used; sleep 1000",
			func(n *dag.Node) {
				n.Budget.Tokens, n.Verify = 1000, []string{"until test -e used; do sleep 0.1; done; exit 5"}
			},
			run.End{Outcome: dag.Failed, Reason: dag.ReasonBudget, Exit: 143, Used: dag.Usage{Input: 1001}, Detail: "1001 of its budget"}, "checking, running", ""},
		{"is idle", "sleep 1000", func(n *dag.Node) { n.IdleTimeout = dag.Duration(50 * time.Millisecond) },
			run.End{Outcome: dag.Failed, Reason: dag.ReasonIdle, Exit: 143}, "", ""},
		{"runs past its timeout", "while :; do echo .; sleep 0.01; done", func(n *dag.Node) { n.Timeout = dag.Duration(50 * time.Millisecond) },
			run.End{Outcome: dag.Failed, Reason: dag.ReasonTimeout, Exit: 143}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, scriptedNode(c.task, c.change))
			_, out, wait := f.start()
			code := wait()
			rec := f.Last(run.AttemptEnd)
			if rec == nil {
				t.Fatalf("no end\n%s\n%s", out, f.Log())
			}
			end := rec.End
			if end.Outcome != c.want.Outcome || end.Reason != c.want.Reason || c.want.Exit != anyExit && end.Exit != c.want.Exit ||
				end.Summary != c.want.Summary || end.Used != c.want.Used || !strings.Contains(end.Detail, c.want.Detail) {
				t.Errorf("end %+v\nwant %+v\nlog:\n%s", *end, c.want, f.Log())
			}
			if code != end.Marker() {
				t.Errorf("exit %d, marker %d", code, end.Marker())
			}
			if c.activities != "" && f.activities() != c.activities {
				t.Errorf("was %q, want %q", f.activities(), c.activities)
			}
			if !strings.Contains(f.Log(), c.log) {
				t.Errorf("log:\n%s\nwant %q in it", f.Log(), c.log)
			}
		})
	}
}

func (f *fixture) inPane() *fixture {
	f.Spec.Headless, f.Spec.Terms.Unattended = false, false
	f.WriteSpec()
	return f
}

func (f *fixture) becomes(activities string) {
	f.T.Helper()
	f.Eventually("it becomes "+activities, func() bool { return f.activities() == activities })
}

func TestNeedsInput(t *testing.T) {
	f := newFixture(t, scriptedNode("cmux blocked 'which one?'; read -r line; echo \"told: $line\"; cmux done \"$line\"; sleep 1000", nil)).inPane()
	// A runner lives, so the slot it gave back has to be granted again.
	runner, err := f.Run.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Unlock()
	_, _, wait := f.start()
	c := f.Dial()
	f.becomes("needs input")
	if a := f.Last(run.Active); !strings.Contains(a.Detail, "which one?") {
		t.Errorf("%+v", a)
	}
	if err := c.Answer(t.Context(), "the left one"); err != nil {
		t.Fatal(err)
	}
	f.becomes("needs input, wants")
	if err := c.Ping(t.Context()); err != nil || strings.Contains(f.Log(), "told:") {
		t.Errorf("continued without a slot: %v\n%s", err, f.Log())
	}
	if err := c.Granted(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 0 || !strings.Contains(f.Log(), "told: the left one") {
		t.Errorf("exit %d\n%s", code, f.Log())
	}
	if f.activities() != "needs input, wants, running" {
		t.Error(f.activities())
	}
}

// Without a runner nobody can grant a slot, and one that dies while the
// attempt waits for it holds nothing up.
func TestWithoutARunnerASlotIsNotWaitedFor(t *testing.T) {
	f := newFixture(t, scriptedNode("cmux blocked q; read -r line; cmux done ok; sleep 1000", nil)).inPane()
	runner, err := f.Run.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	_, _, wait := f.start()
	c := f.Dial()
	f.becomes("needs input")
	if err := c.Answer(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	f.becomes("needs input, wants")
	runner.Unlock()
	if code := wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, f.Log())
	}
}

func TestTakenOver(t *testing.T) {
	f := newFixture(t, scriptedNode(
		"echo '{\"text\":\"a person typed this\"}' | "+hook+"prompt; "+hook+"turn-ended </dev/null\n"+
			"while [ ! -e released ]; do sleep 0.1; done\n"+
			hook+"turn-ended </dev/null; read -r line; echo \"told: $line\"\n"+
			"printf '{\"text\":\"%s\"}' \"<pasted>$(printf %s \"$line\" | sed 's/\"/\\\\\"/g')</pasted>\" | "+hook+"prompt; cmux done ok; sleep 1000",
		func(n *dag.Node) { n.IdleTimeout = dag.Duration(30 * time.Second) })).inPane()
	_, _, wait := f.start()
	c := f.Dial()
	f.becomes("taken over")
	if err := c.Answer(t.Context(), "x"); err == nil {
		t.Error("an answer was typed into a person's conversation")
	}
	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(f.Log(), "told:") {
		t.Error("it was handed back while a person had it")
	}
	if err := c.Release(t.Context()); err == nil {
		t.Error("released twice")
	}
	_, _, err := hookAs(t, f, "activity")
	if err != nil {
		t.Fatal(err)
	}
	touch(t, f, "released")
	if code := wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, f.Log())
	}
	// The prompt that was cmux's own did not take it over again.
	if f.activities() != "taken over, running" {
		t.Error(f.activities())
	}
}

// One that a person takes over while it waits for its slot is the person's
// still when it gets the slot: it is not timed out, and nothing is handed to it.
func TestTakenOverWhileItWaitsForASlot(t *testing.T) {
	f := newFixture(t, scriptedNode(
		"cmux blocked q; while [ ! -e typed ]; do sleep 0.1; done\n"+
			"echo '{\"text\":\"a person typed this\"}' | "+hook+"prompt; while [ ! -e reported ]; do sleep 0.1; done; cmux done ok; sleep 1000", nil)).inPane()
	runner, err := f.Run.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Unlock()
	_, _, wait := f.start()
	c := f.Dial()
	f.becomes("needs input")
	if err := c.Answer(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	f.becomes("needs input, wants")
	touch(t, f, "typed")
	f.becomes("needs input, wants, taken over")
	if err := c.Granted(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	f.becomes("needs input, wants, taken over, taken over")
	touch(t, f, "reported")
	if code := wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, f.Log())
	}
}

func TestAPersonEndsTheAgent(t *testing.T) {
	f := newFixture(t, scriptedNode("exit 0", func(n *dag.Node) { n.Verify = []string{"touch checked"} })).inPane()
	_, _, wait := f.start()
	f.Eventually("its checks have run and a person is asked", func() bool {
		r := f.Last(run.Active)
		return r != nil && strings.Contains(r.Detail, "ended without a report (exit 0)") && strings.Contains(r.Detail, "its checks pass")
	})
	if err := f.Dial().Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	if code := wait(); code != 130 {
		t.Errorf("exit %d", code)
	}

	f = newFixture(t, scriptedNode("exit 3", func(n *dag.Node) { n.Verify = []string{"touch checked"} })).inPane()
	_, _, wait = f.start()
	if code := wait(); code != 3 || f.activities() != "" {
		t.Errorf("exit %d, %q", code, f.activities())
	}
}

func TestOverriddenAgentIsLeftAlone(t *testing.T) {
	f := newFixture(t, scriptedNode("echo up; while [ ! -e go ]; do sleep 0.1; done; "+hook+"turn-ended </dev/null; cmux done 'after all'; sleep 1000",
		func(n *dag.Node) { n.Verify = []string{"false"} })).inPane()
	_, _, wait := f.start()
	c := f.Dial()
	f.Eventually("it is up", func() bool { return strings.Contains(f.Log(), "up\n") })
	if err := c.Overridden(t.Context()); err != nil {
		t.Fatal(err)
	}
	touch(t, f, "go")
	wait()
	end := f.Last(run.AttemptEnd)
	if end == nil || end.End.Outcome != dag.Done || end.End.Summary != "after all" || len(end.End.Checks) > 0 || f.marker() != "none" {
		t.Errorf("%+v, marker %s", end, f.marker())
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	for name, task := range map[string]string{
		"needs input": "cmux blocked q; sleep 1000",
		"limited":     "echo '{\"until\":\"2100-01-01T00:00:00Z\"}' | " + hook + "limited; sleep 1000",
		"checking":    "cmux done x; sleep 1000",
		"taken over":  "echo '{\"text\":\"me\"}' | " + hook + "prompt; sleep 1000",
	} {
		f := newFixture(t, scriptedNode(task, func(n *dag.Node) { n.Verify = []string{"sleep 1000"} })).inPane()
		_, _, wait := f.start()
		c := f.Dial()
		f.becomes(name)
		if err := c.Cancel(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if code := wait(); code != 130 || f.marker() != "130" {
			t.Errorf("%s: exit %d, marker %s", name, code, f.marker())
		}
	}
}
