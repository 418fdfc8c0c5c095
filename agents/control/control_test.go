package control

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/hint"
)

// scratch is a project with a repository and a clock of its own. Nothing runs
// in it: what has happened is what the test records.
type scratch struct {
	*Project
	t   *testing.T
	run *run.Run

	mu  sync.Mutex
	now time.Time
}

// clock is the time of the scratch, put forward.
func (s *scratch) clock(forward time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(forward)
	return s.now
}

func newScratch(t *testing.T, config string) *scratch {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "repo")
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_SYSTEM", "/dev/null")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "test")
		t.Setenv("GIT_"+who+"_EMAIL", "test@localhost")
	}
	s := &scratch{t: t, now: time.Now().Add(-time.Hour)}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	s.gitIn(root, "init", "-q", "-b", "main")
	s.write(filepath.Join(root, "README"), "hello\n")
	s.gitIn(root, "add", ".")
	s.gitIn(root, "commit", "-q", "-m", "first")
	s.write(filepath.Join(root, runner.DefaultConfig), config)
	s.Project, err = Open(t.Context(), project.Caller{Dir: root, Env: os.Environ(), Now: func() time.Time { return s.clock(0) }, Kinds: agent.NewKinds(command.Kind())})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// begun is a scratch whose run is there, of these nodes.
func begun(t *testing.T, nodes string) *scratch {
	t.Helper()
	s := newScratch(t, "session: scratch\ndefaults: {agent: command, role: review}\nagents:\n"+nodes)
	s.begin(runner.StartOptions{Headless: true})
	return s
}

// begin makes the run.
func (s *scratch) begin(o runner.StartOptions) {
	s.t.Helper()
	o.Root, o.Binary, o.Env, o.Kinds = s.Root, "/bin/true", s.Env, s.Kinds
	l, err := runner.Plan(s.t.Context(), o)
	if err == nil {
		s.run, err = l.Create(s.t.Context())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scratch) gitIn(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *scratch) write(path, content string) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// record appends records, each a second after the one before.
func (s *scratch) record(recs ...run.Record) {
	s.t.Helper()
	for i := range recs {
		recs[i].At = s.clock(time.Second)
	}
	book, err := s.run.OpenBook()
	if err == nil {
		err = errors.Join(book.Append(s.t.Context(), recs...), book.Close())
	}
	if err != nil {
		s.t.Error(err)
	}
}

func started(node string) run.Record {
	return run.Record{Type: run.Started, Node: node, Attempt: 1, Place: &run.Place{}}
}

func ended(node string, o dag.Outcome, reason dag.Reason) run.Record {
	end := &run.End{Outcome: o, Reason: reason}
	if o == dag.Failed {
		end.Exit = 1
	}
	return run.Record{Type: run.AttemptEnd, Node: node, Attempt: 1, End: end}
}

func asking(node, question string) run.Record {
	return run.Record{Type: run.Active, Node: node, Attempt: 1, Activity: dag.NeedsInput, Detail: question}
}

// hold has this process carry the run, as a runner does, until the test ends.
// Requests are answered in their order with these details; empty: carried out.
func (s *scratch) hold(details ...string) {
	s.t.Helper()
	lock, err := s.run.TryLock()
	if err != nil {
		s.t.Fatal(err)
	}
	s.record(run.Record{Type: run.RunnerUp})
	w := signals.Watch(s.t.Context(), s.run.Requests())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer lock.Unlock()
		for len(details) > 0 {
			qs, err := s.run.Pending()
			if err != nil {
				s.t.Error(err)
				return
			}
			for _, q := range qs {
				s.record(run.Record{Type: run.Requested, Request: q.ID, Node: q.Node, How: string(q.Op), Detail: details[0]})
				details = details[1:]
				if err := s.run.Answered(q); err != nil {
					s.t.Error(err)
				}
			}
			if len(qs) == 0 {
				if _, open := <-w.C; !open {
					return
				}
			}
		}
		<-s.t.Context().Done()
	}()
	s.t.Cleanup(func() { <-done; w.Close() })
}

// pending is what waits for a runner, as OP NODE.
func (s *scratch) pending() string {
	s.t.Helper()
	qs, err := s.run.Pending()
	if err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, q := range qs {
		all = append(all, strings.TrimSpace(string(q.Op)+" "+q.Node))
	}
	return strings.Join(all, ", ")
}

// refused checks what an error says, and its way out.
func refused(t *testing.T, err error, text, try string) {
	t.Helper()
	got, way := hint.Explain(err)
	if got != text || way != try {
		t.Errorf("%q, try %q; want %q, try %q", got, way, text, try)
	}
}

// carry carries the run to its end, headless.
func (s *scratch) carry(want dag.RunState) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	state, err := runner.Run(ctx, runner.Options{Run: s.run, How: runner.HowStart, Kinds: s.Kinds})
	if err != nil || state != want {
		s.t.Fatalf("the run is %s, %v; want %s", state, err, want)
	}
	s.clock(time.Since(s.clock(0)))
}

// worked is a scratch in which the nodes a and b have each added a file.
func worked(t *testing.T) *scratch {
	t.Helper()
	s := newScratch(t, `session: scratch
defaults: {agent: command}
agents:
  - {name: a, task: "echo told; echo one > a", verify: ["test -e a"]}
  - {name: b, task: "echo two > b", depends_on: [a], verify: ["test -e b"]}
`)
	s.begin(runner.StartOptions{Headless: true})
	s.carry(dag.RunDone)
	return s
}
