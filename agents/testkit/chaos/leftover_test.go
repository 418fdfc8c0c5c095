package chaos

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/platform/proc"
	"cmux/dag"
)

// strays is a task that leaves a stubborn process behind, in a session of its
// own, and then waits as waits does.
func (w *world) strays(how string) string {
	return fmt.Sprintf(`%ssetsid sh -c 'trap "" TERM; echo $$ >> %s/strays; while :; do sleep 0.1; done' < /dev/null > /dev/null 2>&1 &
while ! test -s %[2]s/strays; do sleep 0.1; done
%s`, how, w.path("log"), w.waits(0))
}

// left are the strays that live.
func (w *world) left() []proc.Identity {
	b, _ := os.ReadFile(w.path("log/strays"))
	var left []proc.Identity
	for f := range strings.FieldsSeq(string(b)) {
		id := proc.Identity{}
		fmt.Sscan(f, &id.PID)
		if start, err := proc.StartTime(id.PID); err == nil {
			id.Start = start
			if id.Alive() {
				left = append(left, id)
			}
		}
	}
	return left
}

func (w *world) straying(how, more string) string {
	w.t.Cleanup(func() {
		for _, id := range w.left() {
			syscall.Kill(id.PID, syscall.SIGKILL)
		}
	})
	return "session: s\ndefaults: {agent: command, role: review}\nagents:\n  - name: a\n" + more + "    task: |\n" + indent(w.strays(how)+"\n")
}

// A node that is lost and not done again leaves nothing running, and it is not
// called failed before that is so.
func TestLostLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, headless bool) {
		w := newWorld(t, headless, "")
		w.start(w.straying("", "    on_lost: ask\n"), "a", 1)
		what, label := "wrapper", "a: lost"
		if headless {
			what, label = "runner", "a: failed (lost)"
		}
		w.kill(w.only(what))
		if headless {
			w.wg.Wait()
			if len(w.left()) != 1 {
				t.Fatal("the test is of nothing: its owner's death ended the stray")
			}
			if err := w.carry("resume"); err != nil {
				t.Fatal(err)
			}
		}
		w.becomes(label)
		if headless && len(w.left()) > 0 {
			t.Errorf("failed, and left: %v\n%s", w.left(), w.report())
		}
		until(t, "the stray to be ended", 20*time.Second, func() bool { return len(w.left()) == 0 })
	})
}

// stop and cleanup, without a runner, end what a killed owner left.
func TestStopWithoutARunnerLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, headless bool) {
		w := newWorld(t, headless, "")
		w.start(w.straying("", ""), "a", 1)
		for _, what := range []string{"tmux", "runner", "wrapper"} {
			w.kill(w.only(what))
		}
		w.wg.Wait()
		if len(w.left()) != 1 {
			t.Fatal("the test is of nothing")
		}
		if out, err := w.cmux("agents", "stop"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if l := w.left(); len(l) > 0 {
			t.Errorf("left: %v", l)
		}
	})
}

// What a headless node left with an environment and a session of its own ends
// with the run, at the latest.
func TestOrphansEndWithTheRun(t *testing.T) {
	each(t, func(t *testing.T, headless bool) {
		w := newWorld(t, headless, "")
		w.start(w.straying(`env -i PATH="$PATH" `, ""), "a", 1)
		if len(w.left()) != 1 {
			t.Fatal("the test is of nothing")
		}
		w.let()
		w.becomes("a: done")
		until(t, "the run to have ended", 20*time.Second, func() bool {
			return w.view().RunState == dag.RunDone && len(w.only("wrapper")) == 0 && (!headless || len(w.only("runner")) == 0)
		})
		if l := w.left(); len(l) > 0 {
			t.Errorf("left: %v\n%s", l, w.report())
		}
	})
}

// If nothing proves that a process belongs to a node, cleanup names it and continues with
// the other worktrees. After a person has ended the process, cleanup removes its tree.
func TestCleanupStepsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false, "")
	config := strings.Replace(w.straying(`env -i PATH="$PATH" `, ""), ", role: review", "", 1) +
		"  - {name: b, task: echo b > b.txt}\n"
	w.start(config, "a", 1)
	until(t, "b to be done", 20*time.Second, func() bool { return strings.Contains(labels(w.view()), "b: done") })
	for _, what := range []string{"tmux", "runner", "wrapper"} {
		w.kill(w.only(what))
	}
	if len(w.left()) != 1 {
		t.Skip("its wrapper had the time to end it")
	}
	if out, err := w.cmux("agents", "stop"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := w.cmux("agents", "cleanup", "--yes")
	for _, want := range []string{fmt.Sprintf("(pid %d)", w.left()[0].PID), "kill PID", "Removed " + w.path("s-b")} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("want %q: %v\n%s", want, err, out)
		}
	}
	syscall.Kill(w.left()[0].PID, syscall.SIGKILL)
	until(t, "it to be gone", 10*time.Second, func() bool { return len(w.left()) == 0 })
	if out, err := w.cmux("agents", "cleanup", "--yes"); err != nil || !strings.Contains(out, "Removed "+w.path("s-a")) {
		t.Errorf("%v\n%s", err, out)
	}
}
