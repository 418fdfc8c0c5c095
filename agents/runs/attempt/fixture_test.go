package attempt_test

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

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/owner"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// eventually waits until the fact holds and says what was missing otherwise.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !fact() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		}
	}
}

// fixture is one node of one run in a folder of its own.
type fixture struct {
	t       *testing.T
	r       *run.Run
	job     attempt.Job
	inbox   chan attempt.Message
	root    string
	mu      sync.Mutex
	records []run.Record
}

func newFixture(t *testing.T, node dag.Node) *fixture {
	t.Helper()
	root := filepath.Join(t.TempDir(), "project with spaces é")
	if err := os.MkdirAll(filepath.Join(root, ".cmux"), 0o755); err != nil {
		t.Fatal(err)
	}
	return fixtureIn(t, root, node)
}

func fixtureIn(t *testing.T, root string, node dag.Node) *fixture {
	t.Helper()
	if node.Name == "" {
		node.Name = "a"
	}
	if node.Agent == "" {
		node.Agent = dag.KindCommand
	}
	if node.Role == "" {
		node.Role = dag.RoleReview
	}
	if node.VerifyTimeout == 0 {
		node.VerifyTimeout = dag.Duration(time.Minute)
	}
	r := &run.Run{
		Paths: run.Paths{Dir: filepath.Join(root, ".cmux", "runs", "r1")},
		Plan:  run.Plan{ID: run.NewID(time.Now()), Root: root, Headless: true},
	}
	if err := os.MkdirAll(r.NodeDir(node.Name), 0o755); err != nil {
		t.Fatal(err)
	}
	spawner, err := proc.NewSpawner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(spawner.Close)
	f := &fixture{t: t, r: r, root: root, inbox: make(chan attempt.Message)}
	f.job = attempt.Job{
		Spec:    &run.Spec{Node: node.Name, Frame: r.Frame(), Def: &node, Attempt: 1, Token: "secret", Headless: true, Place: run.Place{Dir: root, Slot: 3, PortBase: 20060}, Terms: owner.Terms{Keeps: true, Unattended: node.InputTimeout == 0, Group: "agents"}},
		Paths:   r.Paths,
		Home:    keyless{r, f},
		Env:     cleanEnv(t),
		Kinds:   agent.NewKinds(command.Kind()),
		Spawner: spawner,
		Inbox:   f.inbox,
		Record: func(rec run.Record) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.records = append(f.records, rec)
			return nil
		},
		Limits: attempt.Limits{Grace: 2 * time.Second, Doubt: attempt.Doubt{Signal: 10 * time.Millisecond, Other: time.Millisecond, Ending: 10 * time.Millisecond}},
	}
	return f
}

// keyless is a run without a key, which therefore keeps its records in memory.
type keyless struct {
	*run.Run
	f *fixture
}

func (k keyless) Tell(_ context.Context, detail string, grave bool) (bool, error) {
	rec := run.Record{Type: run.Noted, How: run.IncidentShared, Detail: detail}
	if grave {
		rec.Type = run.Incident
	}
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	k.f.records = append(k.f.records, rec)
	return true, nil
}

// cleanEnv keeps the machine's git configuration and identity out of a test.
func cleanEnv(t *testing.T) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.org",
	}
}

// plan changes the run's plan, as the attempt gets it.
func (f *fixture) plan(change func(*run.Plan)) {
	change(&f.r.Plan)
	f.job.Spec.Frame = f.r.Frame()
}

func (f *fixture) run() run.End {
	f.t.Helper()
	end, err := attempt.Run(f.t.Context(), f.job)
	if err != nil {
		f.t.Fatalf("Run: %v\nlog:\n%s", err, f.log())
	}
	return end
}

// start runs the attempt beside the test; the returned function waits for it.
func (f *fixture) start(ctx context.Context) (wait func() (run.End, error)) {
	var (
		end  run.End
		err  error
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		end, err = attempt.Run(ctx, f.job)
	}()
	return func() (run.End, error) { <-done; return end, err }
}

// say sends a message and returns the reply.
func (f *fixture) say(m attempt.Message) attempt.Reply {
	f.t.Helper()
	got := make(chan attempt.Reply, 1)
	select {
	case f.inbox <- m.WithReply(func(r attempt.Reply) error { got <- r; return nil }):
	case <-time.After(30 * time.Second):
		f.t.Fatalf("nobody took %+v", m)
	}
	return <-got
}

func (f *fixture) log() string {
	b, err := os.ReadFile(f.r.Log(f.job.Spec.Def.Name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Error(err)
	}
	return string(b)
}

func (f *fixture) notes() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, r := range f.records {
		if r.Type == run.Noted {
			b.WriteString(r.Detail + "\n")
		}
	}
	return b.String()
}

// leaveNothing checks that no process of the attempt lives.
func (f *fixture) leaveNothing() {
	f.t.Helper()
	ps, err := proc.Descendants(attempt.Mark(&f.job))
	if err != nil || len(ps) > 0 {
		f.t.Errorf("left running: %v, %v", ps, err)
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, cleanEnv(t)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
