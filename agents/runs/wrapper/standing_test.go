package wrapper_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/kinds/question"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// obeys is a standing agent that does what it is told: it runs what stands after
// "run:" in a line, and ends its turn.
const obeys = `while read -r line; do
	echo "told: $line"
	cmux hook prompt </dev/null
	case "$line" in *run:*) work=${line#*run:}; eval "${work%%</task>*}";; esac
	cmux hook turn-ended </dev/null
done`

// standing is a standing agent of a script.
func standing(t *testing.T, brief string) *fixture {
	f := newFixture(t, scriptedNode(obeys, nil))
	f.Stay(brief)
	return f
}

// stands waits until the agent stands as it should.
func (f *fixture) stands(what string, is func(*attempt.Standing) bool) *attempt.Standing {
	f.T.Helper()
	var last *attempt.Standing
	c := f.Dial()
	f.Eventually("it "+what, func() bool {
		r, err := c.Send(context.Background(), attempt.Message{Op: attempt.OpStand})
		last = r.Standing
		return err == nil && last != nil && is(last)
	})
	return last
}

func rests(s *attempt.Standing) bool { return s.Activity == dag.Resting }

func (f *fixture) order(m attempt.Message) error {
	f.T.Helper()
	_, err := f.Dial().Send(context.Background(), m)
	return err
}

func (f *fixture) give(w *run.Work) {
	f.T.Helper()
	if err := f.order(attempt.Message{Op: attempt.OpGive, Work: w}); err != nil {
		f.T.Fatal(err)
	}
}

// over waits for the end of a piece of work.
func (f *fixture) over(id string) *run.End {
	f.T.Helper()
	var end *run.End
	f.Eventually(id+" is over", func() bool {
		for _, r := range f.Records() {
			if r.Type == run.WorkEnded && r.Key == id {
				end = r.End
				return true
			}
		}
		return false
	})
	return end
}

func (f *fixture) confirmed(id string) int {
	n := 0
	for _, r := range f.Records() {
		if r.Type == run.Confirmed && r.Key == id {
			n++
		}
	}
	return n
}

func TestStandingAgent(t *testing.T) {
	f := standing(t, "you are a")
	_, out, wait := f.start()
	f.stands("rests when it has been told who it is", rests)
	if !strings.Contains(out.String(), "told: you are a") {
		t.Errorf("it was not told who it is: %s", out)
	}

	t.Run("a message is read once and confirmed", func(t *testing.T) {
		for range 3 { // as by a router that is killed each time before it writes that down
			if err := f.order(attempt.Message{Op: attempt.OpTell, Key: "m1", Text: "hello there"}); err != nil {
				t.Fatal(err)
			}
		}
		f.Eventually("it is confirmed", func() bool { return f.confirmed("m1") > 0 })
		f.Eventually("it has read it", func() bool { return strings.Contains(out.String(), "told: hello there") })
		f.stands("rests", rests)
		if n := strings.Count(out.String(), "told: hello there"); n != 1 {
			t.Errorf("it was told %d times", n)
		}
	})
	t.Run("there is nothing to report on", func(t *testing.T) {
		if err := f.order(attempt.Message{Op: attempt.OpTell, Key: "m2", Text: "run:cmux done nothing 2>&1 || true"}); err != nil {
			t.Fatal(err)
		}
		f.Eventually("it is refused", func() bool { return strings.Contains(out.String(), "no task to report on") })
	})
	t.Run("work is judged, handed back and accepted", func(t *testing.T) {
		f.stands("rests", rests)
		f.give(f.Work("T1", "run:if test -e fixed; then cmux done second; else touch fixed.soon; cmux done first; fi", "test -e fixed.soon && touch fixed"))
		if end := f.over("T1"); end.Outcome != dag.Done || len(end.Checks) != 1 {
			t.Errorf("it ended as %+v", end)
		}
		f.stands("rests after its work", func(s *attempt.Standing) bool { return rests(s) && s.Work == "" })
	})
	t.Run("work that cannot be done is given back", func(t *testing.T) {
		f.give(f.Work("T2", "run:cmux blocked 'no key'"))
		if end := f.over("T2"); end.Outcome != dag.Failed || end.Reason != dag.ReasonReported || end.Detail != "no key" {
			t.Errorf("it ended as %+v", end)
		}
	})
	t.Run("one piece of work at a time, which can be taken back", func(t *testing.T) {
		f.stands("rests", rests)
		f.give(f.Work("T3", "run:touch at-work; while ! test -e go; do sleep 0.1; done"))
		f.Eventually("it is at work", func() bool { _, err := os.Stat(filepath.Join(f.Root, "at-work")); return err == nil })
		if err := f.order(attempt.Message{Op: attempt.OpGive, Work: f.Work("T4", "run:true")}); err == nil || !strings.Contains(err.Error(), "at work on T3") {
			t.Errorf("a second piece of work: %v", err)
		}
		if err := f.order(attempt.Message{Op: attempt.OpWithdraw, Key: "T3", Text: "another has it"}); err != nil {
			t.Fatal(err)
		}
		if end := f.over("T3"); end.Outcome != dag.Cancelled {
			t.Errorf("it ended as %+v", end)
		}
		os.WriteFile(filepath.Join(f.Root, "go"), nil, 0o600)
		f.Eventually("it is told", func() bool {
			return strings.Contains(out.String(), "told: [TASK-CANCEL] Your task was taken back: another has it")
		})
		f.stands("rests", rests)
	})
	t.Run("a stop ends it without an end", func(t *testing.T) {
		if err := f.order(attempt.Message{Op: attempt.OpStop}); err != nil {
			t.Fatal(err)
		}
		if code := wait(); code != 130 {
			t.Errorf("the wrapper ended with %d", code)
		}
		if r := f.Last(run.Vanished); r == nil || r.How != run.HowStopped {
			t.Errorf("recorded: %+v", r)
		}
	})
}

// forgets is a standing agent that is compacted when its work is handed back, and
// when it is told to be.
const forgets = `while read -r line; do
	cmux hook prompt </dev/null
	case "$line" in
	*"Fix the cause"*) cmux hook compacted </dev/null; touch mended; cmux done second ;;
	*MAKE-IT*) touch made; cmux done first ;;
	*COMPACT*) cmux hook compacted </dev/null ;;
	esac
	cmux hook turn-ended </dev/null
done`

// What an agent is reminded of when its conversation is gone is its task at that
// moment, or that it has none.
func TestStandingAgentIsReminded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, scriptedNode(forgets, nil))
	f.Stay("you are a")
	_, out, wait := f.start()
	f.stands("rests", rests)
	const none = "You have no task of your own now."
	compact := func(id string) {
		t.Helper()
		before := strings.Count(out.String(), none)
		if err := f.order(attempt.Message{Op: attempt.OpTell, Key: id, Text: "COMPACT"}); err != nil {
			t.Fatal(err)
		}
		f.Eventually("it is told that it has no task", func() bool { return strings.Count(out.String(), none) == before+1 })
		f.stands("rests", rests)
	}
	compact("m1")
	if strings.Contains(out.String(), "You are at work on") {
		t.Errorf("it has no task, and the reminder names one: %s", out)
	}
	f.give(f.Work("T1", "MAKE-IT", "test -e mended"))
	if end := f.over("T1"); end.Outcome != dag.Done || end.Summary != "second" {
		t.Errorf("it ended as %+v", end)
	}
	f.stands("rests", rests)
	got := out.String()
	for _, want := range []string{
		"You are at work on task T1. Only this task counts. You work in " + f.Spec.Place.Dir, "Your last report was handed back with this.", "> The check `test -e mended` failed",
		"This is the task, word for word", "<task>\nMAKE-IT\n</task>", "## Rules", "cmux done",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("at work on T1 it is not told %q:\n%s", want, got)
		}
	}
	compact("m2") // T1 is over
	if n := strings.Count(out.String(), "at work on task T1."); n != strings.Count(got, "at work on task T1.") {
		t.Error("after T1 it is reminded of T1")
	}
	if err := f.order(attempt.Message{Op: attempt.OpStop}); err != nil {
		t.Fatal(err)
	}
	wait()
}

// Killed at work, with its program or without, the agent continues its work
// and does it once.
func TestStandingAgentGoesOn(t *testing.T) {
	f := standing(t, "you are a")
	task := "run:if test -e again; then cmux done ok; else touch again; echo $$ > pid; while ! test -e never; do sleep 0.1; done; fi"
	work := f.Work("T1", task)
	cmd, _, wait := f.start()
	f.stands("rests", rests)
	f.give(work)
	again := filepath.Join(f.Root, "again")
	f.Eventually("it is at work", func() bool { _, err := os.Stat(again); return err == nil })
	syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
	wait()

	f.Lives("", work)
	_, out, wait := f.start()
	if end := f.over("T1"); end.Outcome != dag.Done || end.Summary != "ok" {
		t.Errorf("it ended as %+v", end)
	}
	f.stands("rests", func(s *attempt.Standing) bool { return rests(s) && s.Work == "" })
	if got := out.String(); !strings.Contains(got, "may have begun task T1") {
		t.Errorf("it was not sent on: %s", got)
	}

	// Its program alone is killed: it is started again, and told who it is.
	before := strings.Count(out.String(), "told: you are a")
	for _, p := range f.Processes() {
		if p.PID != 0 && p.PID != syscall.Getpid() {
			syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	f.Eventually("its program is there again", func() bool { return strings.Count(out.String(), "told: you are a") > before })
	f.give(f.Work("T2", "run:cmux done more"))
	if end := f.over("T2"); end.Outcome != dag.Done || end.Summary != "more" {
		t.Errorf("it ended as %+v", end)
	}
	if err := f.order(attempt.Message{Op: attempt.OpStop}); err != nil {
		t.Fatal(err)
	}
	wait()
}

// Killed in the middle of a turn without a task, with its program or without, the agent
// is told so once it is back, and what it was told last. Killed at rest it is not.
func TestStandingAgentIsCutOff(t *testing.T) {
	t.Parallel()
	f := standing(t, "you are a")
	cmd, out, wait := f.start()
	f.stands("rests", rests)
	const cut, wish = "Your program was cut off in the middle of a turn", "run:if test -e half; then touch whole; else touch half; while ! test -e never; do sleep 0.1; done; fi</task>"
	there := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(f.Root, name)); return err == nil }
	}
	kill := func() {
		for _, p := range f.Processes() {
			if p.PID != 0 && p.PID != syscall.Getpid() && p.PID != cmd.Process.Pid {
				syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
	}
	if err := f.order(attempt.Message{Op: attempt.OpTell, Key: "m1", Text: wish}); err != nil {
		t.Fatal(err)
	}
	f.Eventually("it is in a turn", there("half"))
	kill()
	f.Eventually("it continues what it was told", there("whole"))
	f.stands("rests", rests)
	if n := strings.Count(out.String(), cut); n != 1 || !strings.Contains(out.String(), "> run:if test -e half") {
		t.Errorf("it was told %d times that it was cut off:\n%s", n, out)
	}
	before := strings.Count(out.String(), "told: you are a")
	kill()
	f.Eventually("its program is there again", func() bool { return strings.Count(out.String(), "told: you are a") > before })
	f.stands("rests", rests)
	if n := strings.Count(out.String(), cut); n != 1 {
		t.Errorf("killed at rest it was told that it was cut off:\n%s", out)
	}
	syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
	wait()

	f.Lives("", nil)
	f.Spec.Lost, f.Spec.Midway, f.Spec.LastTold = "its wrapper was killed", true, "run:touch third</task>"
	_, out, wait = f.start()
	f.Eventually("its next life continues what the last one was told", there("third"))
	f.stands("rests", rests)
	if n := strings.Count(out.String(), cut); n != 2 || !strings.Contains(out.String(), "its program ended in the middle of a turn and starts again: its wrapper was killed") {
		t.Errorf("both lives were told %d times that they were cut off:\n%s", n, out)
	}
	if err := f.order(attempt.Message{Op: attempt.OpStop}); err != nil {
		t.Fatal(err)
	}
	wait()
}

// The question that an agent put by a message outlives its wrapper and its program.
func TestStandingAgentStillAsks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, scriptedNode(`while read -r line; do echo "told: $line"; cmux hook turn-ended </dev/null; done`, nil))
	f.Stay("you are a")
	f.Spec.Posed = &question.Posed{Question: question.New("which color?"), To: "user"}
	f.Spec.Posed.Message = "m1"
	asks := func(s *attempt.Standing) bool {
		return s.Activity == dag.NeedsInput && s.Detail == "asked user: which color?"
	}
	cmd, out, wait := f.start()
	f.stands("asks again", asks)
	if q := f.Last(run.Active).Question; q == nil || q.Message != "m1" {
		t.Errorf("a person is shown %+v", q)
	}
	for _, p := range f.Processes() {
		if p.PID != 0 && p.PID != syscall.Getpid() && p.PID != cmd.Process.Pid {
			syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	f.Eventually("its program starts again", func() bool { return f.Last(run.Active).How == run.HowRevived })
	f.stands("asks again", asks)
	if err := f.order(attempt.Message{Op: attempt.OpAnswer, Text: "blue"}); err != nil {
		t.Fatal(err)
	}
	f.Eventually("the answer says what it is for", func() bool { return strings.Contains(out.String(), `subject="re: which color?"`) })
	f.stands("rests", rests)
	if p := f.Last(run.Posed).Posed; p != nil {
		t.Errorf("its next life asks %+v", p)
	}
	if err := f.order(attempt.Message{Op: attempt.OpStop}); err != nil {
		t.Fatal(err)
	}
	wait()
}

// A program that cannot start is tried a bounded number of times. Then the agent
// needs input, with what the program said last, and a retry starts it again.
func TestStandingAgentThatCannotStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, scriptedNode(`echo began >> starts; test -e mended || { echo "no login here" >&2; exit 7; }; `+obeys, nil))
	f.Stay("you are a")
	_, out, wait := f.start()
	asks := func(s *attempt.Standing) bool { return s.Activity == dag.NeedsInput }
	s := f.stands("needs input", asks)
	for _, want := range []string{"ended 5 times in a row", "exit 7", "no login here"} {
		if !strings.Contains(s.Detail, want) {
			t.Errorf("a person is told %q, without %q", s.Detail, want)
		}
	}
	if !strings.Contains(out.String(), "cmux workers wake a") {
		t.Errorf("its window does not name the way out: %s", out)
	}
	starts := func() int {
		b, err := os.ReadFile(filepath.Join(f.Root, "starts"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "began")
	}
	if n := starts(); n != 5 {
		t.Errorf("it was started %d times", n)
	}
	if err := os.WriteFile(filepath.Join(f.Root, "mended"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.order(attempt.Message{Op: attempt.OpRetry}); err != nil {
		t.Fatal(err)
	}
	f.stands("rests", rests)
	f.give(f.Work("T1", "run:cmux done ok"))
	if end := f.over("T1"); end.Outcome != dag.Done || end.Summary != "ok" {
		t.Errorf("it ended as %+v", end)
	}
	if n := starts(); n != 6 {
		t.Errorf("it was started %d times in all", n)
	}
	if err := f.order(attempt.Message{Op: attempt.OpStop}); err != nil {
		t.Fatal(err)
	}
	wait()
}

// Where the owner asks for replies, what a turn said is in the records before the program
// gets the next message. The owner reads it there.
func TestRepliesAreRecordedFirst(t *testing.T) {
	f := newFixture(t, scriptedNode(`n=0
while read -r line; do
	echo "told: $line, $(grep -c '"t":"replied"' "$CMUX_RUN_DIR/a/records.jsonl") replies"
	n=$((n+1))
	echo "{\"text\":\"answer $n\"}" | cmux hook turn-ended
done`, nil))
	f.Stay("you are a")
	f.Spec.Terms.Replies = true
	_, out, wait := f.start()
	for i, id := range []string{"m1", "m2"} {
		f.stands("rests", rests)
		if err := f.order(attempt.Message{Op: attempt.OpTell, Key: id, Text: "hello " + id}); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("told: hello %s, %d replies", id, i+1)
		f.Eventually(want, func() bool { return strings.Contains(out.String(), want) })
	}
	said := map[string]string{}
	f.Eventually("the owner reads the replies", func() bool {
		_, err := f.Run.EachAgentRecord(f.Node.Name, 0, func(r *run.Record) {
			if r.Type == run.Replied {
				said[r.Key] = r.Detail
			}
		})
		return err == nil && said[""] == "answer 1" && said["m1"] == "answer 2" && said["m2"] == "answer 3"
	})
	if err := f.order(attempt.Message{Op: attempt.OpStop}); err != nil {
		t.Fatal(err)
	}
	wait()
}
