package attempt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

func TestCommandEnds(t *testing.T) {
	const soon = dag.Duration(100 * time.Millisecond)
	for _, c := range []struct {
		name   string
		node   dag.Node
		want   run.End
		marker int
		log    string
	}{
		{"success", dag.Node{Task: "echo out; echo err >&2"}, run.End{Outcome: dag.Done}, 0, "out\nerr\n"},
		{"exit code", dag.Node{Task: "exit 7"}, run.End{Outcome: dag.Failed, Exit: 7}, 7, ""},
		{"99 is kept in the record", dag.Node{Task: "exit 99"}, run.End{Outcome: dag.Failed, Exit: 99}, 1, ""},
		{"signal", dag.Node{Task: "kill -9 $$"}, run.End{Outcome: dag.Failed, Exit: 137}, 137, ""},
		{"not found", dag.Node{Task: "no-such-program-here"}, run.End{Outcome: dag.Failed, Exit: 127}, 127, "no-such-program-here"},
		{"dash first", dag.Node{Task: "-x 2>/dev/null; echo ran"}, run.End{Outcome: dag.Done}, 0, "ran\n"},
		{"timeout", dag.Node{Task: "sleep 1000", Timeout: soon}, run.End{Outcome: dag.Failed, Exit: 143, Reason: dag.ReasonTimeout}, 124, "timeout"},
		{"idle", dag.Node{Task: "sleep 1000", IdleTimeout: soon}, run.End{Outcome: dag.Failed, Exit: 143, Reason: dag.ReasonIdle}, 1, "no output"},
		{"a stubborn program", dag.Node{Task: "trap '' TERM; sleep 1000 & wait; wait; wait", Timeout: soon}, run.End{Outcome: dag.Failed, Exit: 137, Reason: dag.ReasonTimeout}, 124, ""},
		{"checks pass", dag.Node{Task: "true", Verify: []string{"echo one", "echo two"}}, run.End{Outcome: dag.Done}, 0, "one\n"},
		{"checks fail", dag.Node{Task: "true", Verify: []string{"true", "echo broken; exit 3", "echo never"}}, run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks}, 1, "broken"},
		{"a check times out", dag.Node{Task: "true", Verify: []string{"sleep 1000"}, VerifyTimeout: soon}, run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks}, 1, "no end within"},
		{"retried", dag.Node{Task: "exit 5", Retries: dag.Retries{Max: 1}}, run.End{Outcome: dag.Failed, Exit: 5, Retry: true}, 5, ""},
		{"no such kind", dag.Node{Task: "x", Agent: "nobody"}, run.End{Outcome: dag.Failed, Reason: dag.ReasonSetup}, 1, "nobody"},
		{"unknown on_complete", dag.Node{Task: "true", OnComplete: []string{"dance"}}, run.End{Outcome: dag.Failed, Reason: dag.ReasonOnComplete}, 1, "dance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A node with verify has a worktree; these tests look at the steps alone.
			f := newFixture(t, c.node)
			if c.node.Verify != nil {
				f.job.Spec.Def.Role = dag.RoleGate
			}
			if c.name == "a stubborn program" {
				f.job.Limits.Grace = 50 * time.Millisecond
			}
			got := f.run()
			if got.Outcome != c.want.Outcome || got.Exit != c.want.Exit || got.Reason != c.want.Reason || got.Retry != c.want.Retry {
				t.Errorf("end %+v, want %+v", got, c.want)
			}
			if m := got.Marker(); m != c.marker {
				t.Errorf("marker %d, want %d", m, c.marker)
			}
			if log := f.log(); !strings.Contains(log, c.log) || strings.Contains(log, "\nnever\n") {
				t.Errorf("log:\n%s\nwant %q in it", log, c.log)
			}
			if got.Outcome == dag.Failed && got.Reason != dag.ReasonExit && got.Detail == "" {
				t.Error("a failure without a word about it")
			}
			f.leaveNothing()
		})
	}
}

func TestCancelStopInterrupt(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*fixture, context.CancelCauseFunc)
		err  error
		want dag.Outcome
	}{
		{"cancel", func(f *fixture, _ context.CancelCauseFunc) { f.say(attempt.Message{Op: attempt.OpCancel}) }, nil, dag.Cancelled},
		{"stop", func(f *fixture, _ context.CancelCauseFunc) { f.say(attempt.Message{Op: attempt.OpStop}) }, attempt.ErrStopped, 0},
		{"signal", func(_ *fixture, cancel context.CancelCauseFunc) { cancel(nil) }, attempt.ErrInterrupted, 0},
		{"runner stops", func(_ *fixture, cancel context.CancelCauseFunc) { cancel(attempt.ErrStopped) }, attempt.ErrStopped, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, dag.Node{Task: "echo up; sleep 1000", Retries: dag.Retries{Max: 3}})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			wait := f.start(ctx)
			eventually(t, "the program printed", func() bool { return strings.Contains(f.log(), "up\n") })
			c.do(f, cancel)
			end, err := wait()
			if !errors.Is(err, c.err) || end.Outcome != c.want || end.Retry {
				t.Errorf("end %+v, %v; want %v, %v", end, err, c.want, c.err)
			}
			f.leaveNothing()
		})
	}
}

// A task arrives byte for byte, whatever its size.
func TestTaskByteForByte(t *testing.T) {
	body := strings.Repeat("'quoted' \"double\" `tick` $(id) $HOME \\n \\ 🙂 é\n\ttab\n", 4500)
	for name, text := range map[string]string{"argument": body[:50_000], "file": body} {
		t.Run(name, func(t *testing.T) {
			text := strings.ToValidUTF8(text, "")
			f := newFixture(t, dag.Node{Task: "cat > got <<'E_O_F'\n" + text + "\nE_O_F\n"})
			if end := f.run(); end.Outcome != dag.Done {
				t.Fatalf("end %+v\n%s", end, f.log())
			}
			got, err := os.ReadFile(filepath.Join(f.root, "got"))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != text+"\n" {
				t.Errorf("%d bytes arrived, %d sent, and they differ", len(got), len(text)+1)
			}
		})
	}
}

// What a program leaves running is ended and named, and a pipe held open by it
// does not hang the end.
func TestLeftovers(t *testing.T) {
	for name, task := range map[string]string{
		"holds the pipe": "sleep 1000 & echo started",
		"own session":    "setsid sleep 1000 >/dev/null 2>&1 & echo started",
		"orphan":         "(setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 &) ; echo started",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, dag.Node{Task: task})
			end := f.run()
			if end.Outcome != dag.Done {
				t.Errorf("end %+v", end)
			}
			if n := f.notes(); !strings.Contains(n, "(pid ") {
				t.Errorf("not named: %q", n)
			}
			f.leaveNothing()
		})
	}
}

// The redo of an attempt whose owner was killed first ends what is left of it.
func TestLeftoversOfAnEarlierAttempt(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "echo again"})
	earlier := *f.job.Spec
	old := f.job
	old.Spec = &earlier
	p := leaveBehind(t, f, attempt.Mark(&old))
	f.job.Spec.Attempt = 2
	if end := f.run(); end.Outcome != dag.Done {
		t.Errorf("end %+v", end)
	}
	eventually(t, "the leftover is gone", func() bool { return !p.Alive() })
	if !strings.Contains(f.notes(), "earlier attempt") {
		t.Errorf("not named: %q", f.notes())
	}
}

func TestEnvironment(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "env", Env: map[string]string{"MINE": "a=b", "CMUX_SLOT": "77"}})
	f.job.Spec.Place.Branch, f.job.Spec.Place.Commit = "b/x", "head"
	f.plan(func(p *run.Plan) { p.Base = "base" })
	f.job.Socket = "/run/sock"
	f.job.Env = append(f.job.Env, "TMUX=/tmp/t,1,2", "TMUX_PANE=%1", "CDPATH=/elsewhere", "GIT_DIR=/elsewhere", "GIT_INDEX_FILE=x", "CMUX_TOKEN=outer", "CMUX_PANE=%9", "KEPT=yes", "PAGER=less", "GIT_PAGER=delta")
	if end := f.run(); end.Outcome != dag.Done {
		t.Fatalf("end %+v", end)
	}
	got := map[string]string{}
	for line := range strings.Lines(f.log()) {
		if k, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			got[k] = v
		}
	}
	r := f.r
	for k, want := range map[string]string{
		"MINE": "a=b", "KEPT": "yes", "CMUX_RUN": r.Plan.ID, "CMUX_RUN_DIR": r.Dir, "CMUX_ROOT": f.root, "CMUX_NODE": "a",
		"CMUX_ATTEMPT": r.Plan.ID + "/a/1", "CMUX_TOKEN": "secret", "CMUX_SOCKET": "/run/sock", "CMUX_SLOT": "3",
		"CMUX_PORT_BASE": "20060", "CMUX_BRANCH": "b/x", "CMUX_BASE": "base", "CMUX_HEAD": "head", "PWD": f.root,
		"PAGER": "cat", "GIT_PAGER": "cat",
	} {
		if got[k] != want {
			t.Errorf("%s=%q, want %q", k, got[k], want)
		}
	}
	for _, k := range []string{"TMUX", "TMUX_PANE", "CDPATH", "GIT_DIR", "GIT_INDEX_FILE", "CMUX_PANE", "CMUX_STEP"} {
		if v, ok := got[k]; ok {
			t.Errorf("%s=%q is still there", k, v)
		}
	}
	if !strings.HasPrefix(got["PATH"], filepath.Dir(r.Binary())+":") {
		t.Errorf("PATH=%s does not begin with the run's", got["PATH"])
	}
	if entries, err := os.ReadDir(got["TMUX_TMPDIR"]); err != nil || len(entries) > 0 {
		t.Errorf("TMUX_TMPDIR=%s: %v, %v", got["TMUX_TMPDIR"], entries, err)
	}
}

// A program that prints without end costs neither memory nor disk.
func TestLogIsBounded(t *testing.T) {
	const head, keep, total = 1 << 16, 1 << 20, 200 << 20
	f := newFixture(t, dag.Node{Task: "echo first; yes 0123456789abcde | head -c 209715200; echo last"})
	f.job.Limits.LogHead, f.job.Limits.LogTail = head, keep
	if end := f.run(); end.Outcome != dag.Done {
		t.Fatalf("end %+v", end)
	}
	log := f.log()
	if len(log) > head+keep+400 || len(log) < head+keep-400 {
		t.Errorf("log of %d bytes", len(log))
	}
	if !strings.Contains(log[:200], "first\n0123") || !strings.HasSuffix(log, "0123456789abcde\nlast\n") {
		t.Errorf("begins %q, ends %q", log[:100], log[len(log)-100:])
	}
	if !strings.Contains(log, "bytes of output left out") || strings.Contains(log, "newest output ends here") {
		t.Error("the truncation is not said as it should be")
	}
}

func TestOverriddenGoesOnUnchecked(t *testing.T) {
	f := newFixture(t, dag.Node{Task: "echo up; while [ ! -e go ]; do sleep 0.1; done", Verify: []string{"false"}, Retries: dag.Retries{Max: 1}})
	f.job.Spec.Def.Role = dag.RoleGate
	wait := f.start(t.Context())
	eventually(t, "the program printed", func() bool { return strings.Contains(f.log(), "up\n") })
	f.say(attempt.Message{Op: attempt.OpOverridden})
	if err := os.WriteFile(filepath.Join(f.root, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	end, err := wait()
	if err != nil || end.Outcome != dag.Done || len(end.Checks) > 0 {
		t.Errorf("end %+v, %v", end, err)
	}
}
