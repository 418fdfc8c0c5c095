package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/platform/tmux/tmuxtest"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// each runs a test headless and in tmux.
func each(t *testing.T, f func(t *testing.T, headless bool)) {
	for _, headless := range []bool{true, false} {
		t.Run(fmt.Sprintf("headless=%v", headless), func(t *testing.T) {
			t.Parallel()
			f(t, headless)
		})
	}
}

// waits is a task that runs until the file go is there.
func (w *world) waits(exit int) string {
	return fmt.Sprintf("echo x >> %[1]s/$CMUX_NODE; while ! test -e %[1]s/go; do sleep 0.1; done; exit %[2]d", w.path("log"), exit)
}

func (w *world) let() {
	w.t.Helper()
	if err := os.WriteFile(w.path("log/go"), nil, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// ran is how often a task of waits was begun.
func (w *world) ran(node string) int {
	b, _ := os.ReadFile(w.path("log/" + node))
	return strings.Count(string(b), "x")
}

func (w *world) becomes(want string) {
	w.t.Helper()
	want = strings.TrimSpace(want) + "\n"
	got := ""
	if !until(w.t, "labels\n"+want, 60*time.Second, func() bool { got = labels(w.view()); return got == want }) {
		w.t.Fatalf("labels:\n%s%s", got, w.report())
	}
}

// start starts the run and waits until a node has come so far.
func (w *world) start(config, node string, times int) {
	w.t.Helper()
	w.write(".cmux-agents.yml", config)
	if err := w.carry("start", "--yes"); err != nil {
		w.t.Fatal(err)
	}
	w.awaitRun(node, times)
}

func (w *world) awaitRun(node string, times int) {
	w.t.Helper()
	if !until(w.t, fmt.Sprintf("%s to begin %d times", node, times), 30*time.Second, func() bool { return w.ran(node) >= times }) {
		w.t.Fatal(w.report())
	}
}

func (w *world) only(what string) []process {
	var of []process
	for _, p := range w.processes() {
		if p.what == what {
			of = append(of, p)
		}
	}
	return of
}

func two(w *world, more string) string {
	return "session: s\ndefaults: {agent: command, role: review}\nagents:\n  - {name: a, task: '" + w.waits(0) + "'" + more + "}\n  - {name: b, task: 'true', depends_on: a}\n"
}

// A killed node's program has ended: by signal 9, which is what is recorded.
func TestKilledProgramHasFailed(t *testing.T) {
	each(t, func(t *testing.T, headless bool) {
		w := newWorld(t, headless, "")
		w.start(two(w, ""), "a", 1)
		for _, p := range w.only("other") {
			if strings.Contains(p.args, "/bin/sh -c -- echo x") {
				syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
		w.becomes("a: failed (exit 137)\nb: blocked (a failed)")
	})
}

// The runner killed in a pane is started again by tmux, and the agents never
// notice. The fifth death within a minute is the last.
func TestTmuxRespawnsTheRunner(t *testing.T) {
	t.Parallel()
	tmuxtest.Retry(t, func(t *testing.T, failed func(string, ...any)) {
		w := newWorld(t, false, "")
		w.start(two(w, ""), "a", 1)
		ups := func() int {
			n := 0
			w.run().Replay(run.NewHistory(w.run().Plan.Graph), 0, func(rec *run.Record) {
				if rec.Type == run.RunnerUp {
					n++
				}
			})
			return n
		}
		// What a crash of tmux takes comes back at resume, as
		// TestEverythingKilledAtOnce has it, but there is nobody left to respawn.
		alive := func() {
			if _, err := w.try("tmux", "-L", "t", "list-sessions"); err != nil {
				failed("its server has died: %v", err)
			}
		}
		for i := 1; i <= 5; i++ {
			if !until(t, fmt.Sprintf("runner %d", i), 30*time.Second, func() bool {
				alive()
				return ups() == i && len(w.only("runner")) == 1
			}) {
				t.Fatal(w.report())
			}
			w.kill(w.only("runner"))
		}
		said := ""
		if !until(t, "the fifth death to be the last", 30*time.Second, func() bool {
			alive()
			said, _ = w.try("tmux", "-L", "t", "list-panes", "-a", "-F", "#{@cmux_label}")
			return strings.Contains(said, "the runner died five times in a minute: cmux agents resume")
		}) {
			t.Fatalf("%s\n%s", said, w.report())
		}
		if n := len(w.only("runner")); n != 0 {
			t.Errorf("%d runners live", n)
		}
		alive()
		if v := w.view(); v.RunState != dag.RunNoRunner || v.Nodes[0].Status.Label.State != dag.NodeRunning {
			t.Errorf("%s:\n%s", v.RunState, labels(v))
		}
		if err := w.carry("resume"); err != nil {
			t.Fatal(err)
		}
		w.let()
		w.becomes("a: done\nb: done")
		if n := w.ran("a"); n != 1 {
			t.Errorf("a ran %d times, want 1: its wrapper was never touched", n)
		}
	})
}

// What is left of an attempt is ended before it is done again.
func TestKilledOwnerIsDoneAgain(t *testing.T) {
	each(t, func(t *testing.T, headless bool) {
		w := newWorld(t, headless, "")
		w.start(two(w, ""), "a", 1)
		what := "wrapper"
		if headless {
			what = "runner"
		}
		for i := 1; i <= dag.MaxLosses; i++ {
			w.kill(w.only(what))
			if headless {
				w.wg.Wait()
				if err := w.carry("resume"); err != nil {
					t.Fatal(err)
				}
			}
			w.awaitRun("a", i+1)
		}
		w.kill(w.only(what))
		if headless {
			w.wg.Wait()
			if err := w.carry("resume"); err != nil {
				t.Fatal(err)
			}
			w.becomes("a: failed (lost)\nb: blocked (a failed)")
		} else {
			w.becomes("a: lost\nb: waiting")
			w.let()
			if _, err := w.cmux("agents", "retry", "a"); err != nil {
				t.Fatal(err)
			}
			w.becomes("a: done\nb: done")
		}
	})
}

// SIGTERM and SIGHUP to a wrapper leave no marker: the node is done again.
func TestSignalledWrapperIsDoneAgain(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, false, "")
			w.start(two(w, ""), "a", 1)
			for _, p := range w.only("wrapper") {
				syscall.Kill(p.PID, sig)
			}
			w.awaitRun("a", 2)
			if _, err := os.Stat(w.marker("a")); err == nil {
				t.Error("an interruption left a marker")
			}
			w.let()
			w.becomes("a: done\nb: done")
		})
	}
}

// on_lost: ask leaves it to a person.
func TestLostAndAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false, "")
	w.start(two(w, ", on_lost: ask"), "a", 1)
	w.kill(w.only("wrapper"))
	w.becomes("a: lost\nb: waiting")
	w.let()
	if _, err := w.cmux("agents", "retry", "a"); err != nil {
		t.Fatal(err)
	}
	w.becomes("a: done\nb: done")
}

// Everything at once, as in a power cut, and at the moments that are hardest.
func TestEverythingKilledAtOnce(t *testing.T) {
	each(t, func(t *testing.T, headless bool) {
		w := newWorld(t, headless, "")
		w.start(two(w, ""), "a", 1)
		w.kill(w.processes())
		until(t, "all to be gone", 10*time.Second, func() bool { return len(w.processes()) == 0 })
		w.becomes("a: lost\nb: waiting")
		until(t, "nobody to hold the run", 10*time.Second, func() bool { return w.view().RunState == dag.RunNoRunner })
		if out, err := w.cmux("agents", "status"); err != nil || !strings.Contains(out, "no runner: cmux agents resume") {
			t.Errorf("status: %v\n%s", err, out)
		}
		if err := w.carry("resume"); err != nil {
			t.Fatal(err)
		}
		w.awaitRun("a", 2)
		w.let()
		w.becomes("a: done\nb: done")
	})
}

// The connection to tmux killed: the runner comes again with another, and no
// node is lost for it.
func TestKilledTmuxClient(t *testing.T) {
	t.Parallel()
	tmuxtest.Retry(t, func(t *testing.T, failed func(string, ...any)) {
		w := newWorld(t, false, "")
		w.start(two(w, ""), "a", 1)
		runners := w.only("runner")
		if len(runners) != 1 {
			t.Fatalf("%d runners\n%s", len(runners), w.report())
		}
		killed := 0
		for _, p := range w.only("tmux") {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
			_, rest, _ := strings.Cut(string(stat), ") ") // the name may hold spaces
			if f := strings.Fields(rest); len(f) > 1 && f[1] == fmt.Sprint(runners[0].PID) {
				syscall.Kill(p.PID, syscall.SIGKILL)
				killed++
			}
		}
		if killed != 1 {
			t.Fatalf("%d clients of the runner were killed, want 1\n%s", killed, w.report())
		}
		if !until(t, "another runner", 30*time.Second, func() bool {
			if _, err := w.try("tmux", "-L", "t", "list-sessions"); err != nil {
				failed("its server has died: %v", err)
			}
			now := w.only("runner")
			return len(now) == 1 && now[0].PID != runners[0].PID
		}) {
			t.Fatal(w.report())
		}
		w.let()
		w.becomes("a: done\nb: done")
		if n := w.ran("a"); n != 1 {
			t.Errorf("a ran %d times", n)
		}
	})
}

// stop reaches every agent, with a runner and without one, and one that was
// cancelled with its runner killed at that moment is cancelled all the same.
func TestStopAndCancel(t *testing.T) {
	each(t, func(t *testing.T, headless bool) {
		w := newWorld(t, headless, "")
		w.start(two(w, ""), "a", 1)
		if _, err := w.cmux("agents", "stop"); err != nil {
			t.Fatal(err)
		}
		until(t, "the agents to have ended", 10*time.Second, func() bool { return len(w.only("wrapper")) == 0 && len(w.only("runner")) == 0 })
		if v := w.view(); v.RunState != dag.RunStopped || v.Nodes[0].Status.Label.State != dag.NodeLost {
			t.Errorf("%s:\n%s", v.RunState, labels(v))
		}
		if _, err := os.Stat(w.marker("a")); err == nil {
			t.Error("stop left a marker")
		}
		// A request that finds no runner stands.
		if _, err := w.cmux("agents", "stop", "a"); err != nil {
			t.Fatal(err)
		}
		if err := w.carry("resume"); err != nil {
			t.Fatal(err)
		}
		w.becomes("a: failed (cancelled)\nb: blocked (a cancelled)")
		until(t, "the marker to hold 130", 10*time.Second, func() bool {
			b, _ := os.ReadFile(w.marker("a"))
			return string(b) == "130\n"
		})
		until(t, "the request to be taken away", 10*time.Second, func() bool {
			left, _ := filepath.Glob(filepath.Join(w.run().Requests(), "*"))
			return len(left) == 0
		})
		if n := w.ran("a"); n != 1 {
			t.Errorf("a ran %d times although it was cancelled", n)
		}
	})
}

// resume at the very moment of a kill waits until the killed runner is gone,
// and one that was told to end until its nodes have ended.
func TestResumeRightAfterAKill(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, true, "")
			w.start("session: s\ndefaults: {agent: command, role: review}\nagents:\n  - {name: a, task: 'trap \"\" TERM; "+w.waits(0)+"'}\n", "a", 1)
			const times = 2
			for i := range times {
				runners := w.only("runner")
				if len(runners) != 1 {
					t.Fatalf("%d runners\n%s", len(runners), w.report())
				}
				syscall.Kill(runners[0].PID, sig)
				if err := w.carry("resume"); err != nil {
					t.Fatal(err)
				}
				w.awaitRun("a", i+2)
			}
			w.let()
			w.becomes("a: done")
			if n := w.ran("a"); n != times+1 {
				t.Errorf("a ran %d times", n)
			}
		})
	}
}
