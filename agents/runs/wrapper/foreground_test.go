package wrapper_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// frontName is a kind whose script has the terminal to itself and whose hooks
// Stop and Ask wait for an answer.
const frontName = "front"

func frontKind() agent.Kind {
	return agent.Kind{Name: frontName, Judge: true, New: func(s *agent.Stage) (agent.Agent, error) { return &front{stage: s}, nil }}
}

type front struct {
	stage   *agent.Stage
	program *agent.Program
	mu      sync.Mutex
	over    bool
}

func (a *front) Start(context.Context) (err error) {
	a.program, err = a.stage.Foreground(exec.Command("/bin/sh", "-c", a.stage.Task))
	return err
}

func (a *front) Deliver(_ context.Context, text string) error {
	return errors.New("nothing should have been delivered: " + text)
}

func (a *front) Hook(event string, _ json.RawMessage) ([]news.Event, agent.HookReply, error) {
	switch event {
	case "Stop":
		a.mu.Lock()
		a.over = true
		a.mu.Unlock()
		if err := os.WriteFile(filepath.Join(a.stage.Dir, "held"), nil, 0o644); err != nil {
			return nil, agent.HookReply{}, err
		}
		return []news.Event{news.TurnEnded{Hold: true}}, agent.HookReply{}, nil
	case "Ask":
		return []news.Event{news.Asked{Question: question.New("which?"), Hold: true}}, agent.HookReply{}, nil
	}
	return nil, agent.HookReply{Stdout: "heard"}, nil
}

func (a *front) HandBack(text string) agent.HookReply {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = false
	return agent.HookReply{Stdout: "told: " + strings.ReplaceAll(text, "\n", " ")}
}

func (a *front) Asks(event string) bool { return event == "Ask" }

func (a *front) Busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.over
}

func (a *front) Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	return a.program.Finish(ctx, grace)
}
func (a *front) Ended() <-chan struct{} { return a.program.Exited() }
func (a *front) Exit() proc.Exit        { return a.program.Exit() }

func frontNode(task string, change func(*dag.Node)) dag.Node {
	n := scriptedNode("", change)
	n.Agent, n.Task = frontName, task
	return n
}

func TestForeground(t *testing.T) {
	f := newFixture(t, frontNode(`trap 'echo interrupted' INT
echo "in front"; stty -echo
until read -r line; do :; done; echo "got $line"
(kill -TSTP 0; echo "woken")
cmux done ok; sleep 1000`, func(n *dag.Node) { n.Verify = []string{"echo from the check"} })).inPane()
	_, wait := f.StartOnTerminal()
	f.Eventually("it is in front", func() bool { return strings.Contains(f.Shown(), "in front") })
	f.Type("\x03")
	f.Eventually("^C reaches it alone", func() bool { return strings.Contains(f.Shown(), "interrupted") })
	f.Type("typed\n")
	for _, fact := range []string{"got typed", "woken"} {
		f.Eventually(fact, func() bool { return strings.Contains(f.Shown(), fact) })
	}
	if code := wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, f.Shown())
	}
	got := f.Shown()
	for _, want := range []string{"got typed", "woken", "── a: done"} {
		if !strings.Contains(got, want) {
			t.Errorf("not shown: %q\n%s", want, got)
		}
	}
	if strings.Contains(got, "from the check") {
		t.Errorf("its terminal was written to:\n%s", got)
	}
	if b, _ := os.ReadFile(filepath.Join(f.Run.NodeDir("a"), "log")); !strings.Contains(string(b), "from the check") {
		t.Errorf("log:\n%s", b)
	}
}

// The end of a turn waits for the verdict, and a question for its answer, in
// the hooks that tell of them.
func TestHooksAreHeld(t *testing.T) {
	f := newFixture(t, frontNode(`echo "first: $(cmux hook Stop </dev/null)"
cmux done one; echo "second: $(cmux hook Stop </dev/null)"
echo "third: $(cmux hook Ask </dev/null)"
echo "other: $(cmux hook Other </dev/null)"
touch fixed; cmux done two; cmux hook Stop </dev/null; sleep 1000`,
		func(n *dag.Node) { n.Verify = []string{"test -e fixed || { echo not fixed; false; }"} })).inPane()
	_, wait := f.StartOnTerminal()
	f.becomes("checking, running, needs input")
	if err := f.Dial().Answer(t.Context(), "the left one"); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, f.Shown())
	}
	for _, want := range []string{"first: told: You ended your turn without reporting", "second: told: The check", "third: told: the left one", "other: heard"} {
		if !strings.Contains(f.Shown(), want) {
			t.Errorf("not shown: %q\n%s", want, f.Shown())
		}
	}
	if end := f.Last(run.AttemptEnd); end == nil || end.End.Summary != "two" {
		t.Errorf("%+v", end)
	}
}

// What cmux sends an agent on with is no answer to the question that one of its
// sub-agents has open meanwhile.
func TestAHandBackIsNoAnswer(t *testing.T) {
	f := newFixture(t, frontNode(`(cmux hook Ask </dev/null >asked; touch let-go) &
while [ ! -e go ]; do sleep 0.1; done
cmux done one
while [ ! -e let-go ]; do sleep 0.1; done
echo "asked: $(cat asked)."; echo "stop: $(cmux hook Stop </dev/null)"
touch fixed; cmux done two; sleep 1000`,
		func(n *dag.Node) { n.Verify = []string{"test -e fixed || { echo not fixed; false; }"} })).inPane()
	_, wait := f.StartOnTerminal()
	f.becomes("needs input")
	touch(t, f, "go")
	if code := wait(); code != 0 || !strings.Contains(f.Shown(), "asked: .") || !strings.Contains(f.Shown(), "stop: told: The check") {
		t.Errorf("exit %d\n%s", code, f.Shown())
	}
}

// An answer is one to what was shown, not to a question that comes before the
// answer could be handed over.
func TestAnAnswerIsToWhatWasShown(t *testing.T) {
	f := newFixture(t, frontNode(`cmux blocked "may I?"
while [ ! -e go ]; do sleep 0.1; done
echo "asked: $(cmux hook Ask </dev/null)"; echo "stop: $(cmux hook Stop </dev/null)"
cmux done ok; sleep 1000`, nil)).inPane()
	_, wait := f.StartOnTerminal()
	f.becomes("needs input")
	c := f.Dial()
	if err := c.Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	f.Eventually("the answer waits for the end of the turn", func() bool { return strings.HasSuffix(f.activities(), "running") })
	touch(t, f, "go")
	f.Eventually("the other question is shown", func() bool {
		r := f.Last(run.Active)
		return r.Activity == dag.NeedsInput && r.Detail == "which?"
	})
	if err := c.Answer(t.Context(), "no"); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 0 || !strings.Contains(f.Shown(), "asked: told: no") || !strings.Contains(f.Shown(), "stop: told: yes") {
		t.Errorf("exit %d\n%s", code, f.Shown())
	}
}

// A turn whose hook has gone is over all the same: what must be said has to be
// delivered.
func TestGoneHookIsNotAnswered(t *testing.T) {
	f := newFixture(t, frontNode(`cmux done one
cmux hook Stop </dev/null >/dev/null 2>&1 & hook=$!
while [ ! -e held ]; do sleep 0.1; done
kill $hook; wait $hook; touch killed; sleep 1000`,
		func(n *dag.Node) {
			n.Verify = []string{"while [ ! -e killed ]; do sleep 0.1; done; exit 5"}
		})).inPane()
	_, wait := f.StartOnTerminal()
	wait()
	if end := f.Last(run.AttemptEnd); end == nil || !strings.Contains(end.End.Detail, "nothing should have been delivered") {
		t.Errorf("%+v\n%s", end, f.Shown())
	}
}

// Once a person has decided the node, questions are left to the pane: no hook
// waits for an answer that nobody can give.
func TestOverriddenAgentIsNotHeld(t *testing.T) {
	f := newFixture(t, frontNode(`echo "first: $(cmux hook Ask </dev/null)"
echo "second: $(cmux hook Ask </dev/null)"
cmux done ok; sleep 1000`, nil)).inPane()
	_, wait := f.StartOnTerminal()
	f.becomes("needs input")
	if err := f.Dial().Overridden(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait()
	end := f.Last(run.AttemptEnd)
	if end == nil || end.End.Outcome != dag.Done || end.End.Summary != "ok" || !strings.Contains(f.Shown(), "second: ") {
		t.Errorf("%+v\n%s", end, f.Shown())
	}
}
