package scripted_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
)

// script keeps what it is given as its conversation. Where the file kill is there, it
// waits to be killed: before it has taken in what it was given, or after that.
const script = `
note() { printf '%s %s\n' "$(date +%s%N)" "$line" >>"$SCRIPTED_CONVERSATION"; }
reached() { touch "$HOME/reached"; while :; do sleep 0.1; done; }
cmux hook turn-ended </dev/null
while read -r line; do
	kill=
	case "$line" in *hello*|*MAKE-IT*) # its brief may come when the test has gone on
		kill=$(cat "$HOME/kill" 2>/dev/null)
		rm -f "$HOME/kill" ;;
	esac
	case "$kill" in before) reached ;; esac
	note
	case "$kill" in after) reached ;; esac
	case "$line" in *MAKE-IT*|*"at work on task T1"*) date >>made; git add made; git commit -qm made; cmux done made ;; esac
	cmux hook turn-ended </dev/null
done
`

// Whoever is killed between the hand-over and the record of it, and whenever: a
// message is in the conversation once and is confirmed, and a task is told and done.
func TestKilledBetweenHandOverAndRecord(t *testing.T) {
	for _, what := range []string{"message", "task"} {
		for _, moment := range []string{"before", "after"} {
			for _, who := range []string{"program", "wrapper", "both"} {
				t.Run(fmt.Sprintf("%s/%s/%s", what, moment, who), func(t *testing.T) {
					t.Parallel()
					killed(t, what, moment, who)
				})
			}
		}
	}
}

func killed(t *testing.T, what, moment, who string) {
	base := t.TempDir()
	file := func(name string) string { return filepath.Join(base, name) }
	env := append(agenttest.GitEnv(), "PATH="+os.Getenv("PATH"), "HOME="+base, scripted.ConversationVar+"="+file("conversation"))
	f := agenttest.New(t, base, agenttest.Node(scripted.Name, script, nil), env)
	f.Stay("You are a worker.")
	cmd, wait := f.Start()
	rests(f)

	if err := os.WriteFile(file("kill"), []byte(moment), 0o644); err != nil {
		t.Fatal(err)
	}
	work := f.Work("T1", "MAKE-IT")
	hand := func() {
		m := attempt.Message{Op: attempt.OpGive, Work: work}
		if what == "message" {
			m = attempt.Message{Op: attempt.OpTell, Key: "m1", Text: agenttest.Envelope("m1", "hello")}
		}
		c := f.Dial()
		defer c.Close()
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	hand()
	f.Eventually("it is killed", func() bool { _, err := os.Stat(file("reached")); return err == nil })
	if who != "program" { // first: it is not to see the program's end
		syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
		wait()
	}
	if who != "wrapper" {
		for _, p := range f.Processes() {
			if strings.Contains(p.Command, "sh") {
				syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
	}
	if who != "program" {
		if what == "message" {
			work = nil
		}
		f.Lives("", work)
		f.Start()
		if what == "message" && f.Last(run.Confirmed) == nil {
			hand() // as who hands the mail out does with the next life
		}
	}

	if what == "task" {
		var end *run.End
		f.Eventually("the task is over", func() bool {
			if r := f.Last(run.WorkEnded); r != nil {
				end = r.End
			}
			return end != nil
		})
		if end.Outcome != dag.Done || end.Summary != "made" {
			t.Errorf("it ended as %+v", end)
		}
	} else {
		f.Eventually("the message is read", func() bool { return f.Last(run.Confirmed) != nil })
	}
	rests(f)
	b, err := os.ReadFile(file("conversation"))
	if err != nil {
		t.Fatal(err)
	}
	confirmed := 0
	for _, r := range f.Records() {
		if r.Type == run.Confirmed {
			confirmed++
		}
	}
	// Who was cut off in the turn that it began may have it quoted besides.
	told := strings.Count(string(b), `<message id="m1"`) - strings.Count(string(b), `> <message id="m1"`)
	switch {
	case what == "message" && (told != 1 || confirmed != 1):
		t.Errorf("it is confirmed %d times, and the conversation is\n%s", confirmed, b)
	case what == "task" && !strings.Contains(string(b), "MAKE-IT"):
		t.Errorf("it was never told of its task:\n%s", b)
	}
}

// rests waits until it has nothing to do.
func rests(f *agenttest.Fixture) {
	f.T.Helper()
	f.Eventually("it rests", func() bool {
		c := f.Dial()
		defer c.Close()
		r, err := c.Send(f.T.Context(), attempt.Message{Op: attempt.OpStand})
		return err == nil && r.Standing != nil && r.Standing.Activity == dag.Resting && r.Standing.Work == "" && len(r.Standing.Waiting) == 0
	})
}
