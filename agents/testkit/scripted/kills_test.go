package scripted_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
	"cmux/signals/mailbox"
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

// answering says that each turn is over in its conversation, and then by hook. Where the
// file kill is there, it waits in the turn to be killed, or between the two.
const answering = `
note() { printf '%s %s\n' "$(date +%s%N)" "$line" >>"$SCRIPTED_CONVERSATION"; }
reached() { touch "$HOME/reached"; while :; do sleep 0.1; done; }
n=0
while read -r line; do
	note
	kill= n=$((n+1))
	case "$line" in *hello*)
		kill=$(cat "$HOME/kill" 2>/dev/null)
		rm -f "$HOME/kill" ;;
	esac
	case "$kill" in in) reached ;; esac
	said="$$ said $n"
	echo "said $said" >>"$SCRIPTED_CONVERSATION"
	case "$kill" in over) reached ;; esac
	echo "{\"text\":\"$said\"}" | cmux hook turn-ended
done
`

// Whoever is killed in a turn, or between its end and the record of what it said: one
// reply names the message. If the turn was over, the reply is what it said, and nothing
// was sent to the program in between.
func TestReplyIsRecordedOnce(t *testing.T) {
	for _, moment := range []string{"in", "over"} {
		for _, who := range []string{"program", "wrapper", "both"} {
			t.Run(moment+"/"+who, func(t *testing.T) {
				t.Parallel()
				replied(t, moment, who)
			})
		}
	}
}

func replied(t *testing.T, moment, who string) {
	base := t.TempDir()
	file := func(name string) string { return filepath.Join(base, name) }
	read := func(name string) string {
		b, err := os.ReadFile(file(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	env := append(agenttest.GitEnv(), "PATH="+os.Getenv("PATH"), "HOME="+base, scripted.ConversationVar+"="+file("conversation"))
	f := agenttest.New(t, base, agenttest.Node(scripted.Name, answering, nil), env)
	f.Stay("You are a member.")
	f.Spec.Terms.Replies = true
	cmd, wait := f.Start()
	tell := func(id, text string) {
		c := f.Dial()
		defer c.Close()
		if _, err := c.Send(t.Context(), attempt.Message{Op: attempt.OpTell, Key: id, Text: agenttest.Envelope(id, text)}); err != nil {
			t.Fatal(err)
		}
	}
	rests(f)
	tell("m0", "good morning")
	rests(f)

	if err := os.WriteFile(file("kill"), []byte(moment), 0o644); err != nil {
		t.Fatal(err)
	}
	tell("m1", "hello")
	f.Eventually("it is killed", func() bool { _, err := os.Stat(file("reached")); return err == nil })
	before := read("conversation")
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
	confirmed := func() (n int) {
		for _, r := range f.Records() {
			if r.Type == run.Confirmed && r.Key == "m1" {
				n++
			}
		}
		return n
	}
	if who != "program" {
		f.Lives("", nil)
		f.Spec.Lost = "its wrapper was killed"
		f.Start()
		if confirmed() == 0 {
			tell("m1", "hello") // as the keeper sends it to the next life
		}
	}
	replies := func(id string) (all []string) {
		for _, r := range f.Records() {
			if r.Type == run.Replied && slices.Contains(mailbox.IDs(r.Key), id) {
				all = append(all, r.Detail)
			}
		}
		return all
	}
	f.Eventually("the reply is recorded", func() bool { return len(replies("m1")) > 0 })
	rests(f)
	tell("m2", "good night")
	f.Eventually("the next reply is recorded", func() bool { return len(replies("m2")) > 0 })
	rests(f)

	for _, id := range []string{"m0", "m1", "m2"} {
		if all := replies(id); len(all) != 1 || !strings.Contains(all[0], " said ") {
			t.Errorf("the replies to %s are %q", id, all)
		}
	}
	if n := confirmed(); n != 1 {
		t.Errorf("m1 is confirmed %d times", n)
	}
	after := strings.TrimPrefix(read("conversation"), before)
	switch said := replies("m1")[0]; {
	case moment == "over" && !strings.HasSuffix(before, "said "+said+"\n"):
		t.Errorf("the reply is %q, and the turn ended so:\n%s", said, before)
	case moment == "in" && !strings.Contains(after, "said "+said+"\n"):
		t.Errorf("the reply is %q, and the turn went on so:\n%s", said, after)
	case strings.Contains(after, "cut off") != (moment == "in"), strings.Contains(after, `<message id="m1"`) && moment == "over":
		t.Errorf("it was told after that:\n%s", after)
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
