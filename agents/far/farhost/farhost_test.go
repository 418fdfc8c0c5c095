package farhost

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/far"
	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/until"
	"cmux/dag"
	"cmux/worktree"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

// carrier is a machine that has written a journal. What home sends is kept.
type carrier struct {
	mu      sync.Mutex
	journal []far.Entry
	cut     int // Follow fails behind so many entries; 0: never
	put     []far.Entry
	closed  []far.Why
	pulse   far.Pulse
	fails   error // of Follow, at the end of the journal
	more    chan struct{}
}

func (c *carrier) Open(context.Context, far.Ref, far.Need, far.Job) error { return nil }

func (c *carrier) Put(_ context.Context, _ far.Ref, entries ...far.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put = append(c.put, entries...)
	for _, e := range entries {
		if e.Kind == far.Order && c.pulse.Silent == 0 {
			c.journal = append(c.journal, far.Entry{Kind: far.Reply, ID: e.ID, Reply: &attempt.Reply{Text: "taken in"}})
			close(c.more)
			c.more = make(chan struct{})
		}
	}
	return nil
}

func (c *carrier) Follow(ctx context.Context, _ far.Ref, from uint64, f func(far.Entry) error) error {
	for at := int(from); ; at++ {
		c.mu.Lock()
		all, more, cut, fails := c.journal, c.more, c.cut, c.fails
		c.mu.Unlock()
		if at == len(all) && fails != nil {
			return fails
		}
		if cut > 0 && at >= cut || at == len(all) {
			select {
			case <-more:
				at--
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		e := all[at]
		e.Seq = uint64(at + 1)
		if err := f(e); err != nil || e.Kind == far.End {
			return err
		}
	}
}

func (c *carrier) Pulse(context.Context, far.Ref) (far.Pulse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pulse, nil
}

func (c *carrier) Close(_ context.Context, _ far.Ref, why far.Why) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why == far.GivenUp && c.pulse.Silent > 0 {
		return errors.New("it cannot be reached")
	}
	c.closed = append(c.closed, why)
	return nil
}

func (c *carrier) Machines(context.Context) ([]far.Machine, error) { return nil, nil }

// nobody is the Host of nodes at home, of which the test has none.
type nobody struct{ host.Host }

func (nobody) Close() error { return nil }

type fixture struct {
	*testing.T
	root  string
	run   *run.Run
	book  *run.Book
	repo  *worktree.Repo
	far   *carrier
	host  *Host
	ended chan ended
	spec  *run.Spec
}

type ended struct {
	ref host.Ref
	end run.End
	err error
}

func (f *fixture) git(args ...string) string {
	f.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Dir = f.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func newFixture(t *testing.T, journal ...far.Entry) *fixture {
	f := &fixture{T: t, root: t.TempDir(), far: &carrier{journal: journal, more: make(chan struct{})}, ended: make(chan ended, 4)}
	f.git("init", "-q", "-b", "main")
	f.git("commit", "-q", "--allow-empty", "-m", "first")
	g, _, err := dag.Parse("test.yml", []byte("session: s\nagents:\n  - {name: a, agent: command, task: 'true', runs_on: any}\n"), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.run, err = run.Create(run.Plan{ID: "20260101-120000.000-abc123", Root: f.root, Base: f.git("rev-parse", "HEAD"), Headless: true, Graph: g, On: []string{"ssh://box"}}, nil, os.Environ(), self)
	if err != nil {
		t.Fatal(err)
	}
	if f.book, err = f.run.OpenBook(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.book.Close() })
	if f.repo, err = worktree.Open(t.Context(), f.root); err != nil {
		t.Fatal(err)
	}
	def := &f.run.Plan.Graph.Nodes[0]
	place := run.Place{Dir: f.root, Branch: "s/a", Commit: f.run.Plan.Base, Far: "ssh://box"}
	f.spec = &run.Spec{Node: "a", Def: def, Frame: f.run.Frame(), Attempt: 1, Token: "x", Place: place}
	if err := f.book.Append(t.Context(), run.Record{Type: run.Started, Node: "a", Attempt: 1, Place: &place}); err != nil {
		t.Fatal(err)
	}
	f.open()
	return f
}

// open makes the Host of a home that has just started.
func (f *fixture) open() {
	f.Helper()
	h, err := New(f.Context(), Config{
		Config: host.Config{
			Run: f.run, Env: os.Environ(), Repo: f.repo, Book: f.book, Log: log.New(io.Discard), Told: f.Context(),
			Ended: func(ref host.Ref, end run.End, err error) { f.ended <- ended{ref, end, err} },
		},
		Home: nobody{}, Carrier: f.far, URL: "ssh://box", Project: "p", Cmux: "dev",
	})
	if err != nil {
		f.Fatal(err)
	}
	f.host = h
	f.Cleanup(func() { h.Close() })
}

func (f *fixture) start() host.Link {
	f.Helper()
	l, err := f.host.Start(f.Context(), f.spec)
	if err != nil {
		f.Fatal(err)
	}
	return l
}

func (f *fixture) end() ended {
	f.Helper()
	select {
	case e := <-f.ended:
		return e
	case <-time.After(time.Minute):
		f.Fatal("it never ended")
		return ended{}
	}
}

// records are the attempt's on record, by type.
func (f *fixture) records() map[run.Type][]run.Record {
	f.Helper()
	all := make(map[run.Type][]run.Record)
	if err := f.run.EachRecord(func(rec *run.Record) { all[rec.Type] = append(all[rec.Type], *rec) }); err != nil {
		f.Fatal(err)
	}
	return all
}

func (f *fixture) file(path string) string {
	f.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	return string(b)
}

func journal() []far.Entry {
	record := func(r run.Record) far.Entry { return far.Entry{Kind: far.Record, Record: &r} }
	return []far.Entry{
		{Kind: far.Claimed, Claim: &far.Claim{Machine: "box"}},
		record(run.Record{Type: run.Began, PID: 1, PIDStart: 7, Pane: "%1"}),
		{Kind: far.Log, Data: []byte("one\n")},
		record(run.Record{Type: run.AttemptEnd, End: &run.End{Outcome: dag.Done}}), // home's alone
		{Kind: "of a later version"},
		{Kind: far.Events, Data: []byte("{\"kind\":\"x\"}\n")},
		record(run.Record{Type: run.Output, Key: "k", Value: "v"}),
		{Kind: far.Log, Offset: 4, Data: []byte("two\n")},
		{Kind: far.End, Record: &run.Record{Type: run.AttemptEnd, End: &run.End{Outcome: dag.Done, Summary: "ok"}}},
	}
}

// Home is killed behind every entry: its successor takes in the rest, and nothing twice.
func TestTakenInOnce(t *testing.T) {
	for cut := range len(journal()) {
		f := newFixture(t, journal()...)
		f.far.cut = cut + 1
		l := f.start()
		f.until("the first part is taken in", func() bool { return cut < 1 || len(f.records()[run.Claimed]) == 1 })
		if err := f.host.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-f.ended: // it was behind the last entry
			if cut < len(journal())-1 {
				t.Fatalf("ended behind entry %d: %+v", cut+1, e)
			}
			continue
		default:
		}
		_ = l
		f.far.mu.Lock()
		f.far.cut = 0
		f.far.mu.Unlock()
		f.open()
		if _, err := f.host.Reach(t.Context(), host.Ref{Node: "a", N: 1}); err != nil && !errors.Is(err, host.ErrGone) { // it may have ended by now
			t.Fatal(err)
		}
		if e := f.end(); e.err != nil || e.end.Summary != "ok" {
			t.Fatalf("behind entry %d: ended %+v", cut+1, e)
		}
		all := f.records()
		for typ, want := range map[run.Type]int{run.Claimed: 1, run.Began: 1, run.Output: 1, run.AttemptEnd: 0} {
			if got := len(all[typ]); got != want && (typ != run.Claimed || got < 1) {
				t.Errorf("behind entry %d: %d records %s, want %d", cut+1, got, typ, want)
			}
		}
		if b := all[run.Began][0]; b.PID != 0 || b.Pane != "" {
			t.Errorf("a process of another machine is on record: %+v", b)
		}
		if got := f.file(f.run.Log("a")); got != "one\ntwo\n" {
			t.Errorf("behind entry %d: the output is %q", cut+1, got)
		}
		if got := strings.Count(f.file(f.run.Events("a")), "\n"); got != 1 {
			t.Errorf("behind entry %d: %d events", cut+1, got)
		}
	}
}

func (f *fixture) until(what string, ok func() bool) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	if !until.True(ctx, ok) {
		f.Fatal("never: " + what)
	}
}

// What is recorded is told to the machine, also by a home that was killed before it told.
func TestCollected(t *testing.T) {
	f := newFixture(t, journal()...)
	f.start()
	f.end()
	if err := f.host.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.book.Append(t.Context(), run.Record{Type: run.AttemptEnd, Node: "a", Attempt: 1, End: &run.End{Outcome: dag.Done}}); err != nil {
		t.Fatal(err)
	}
	f.open()
	f.until("the machine is told", func() bool {
		f.far.mu.Lock()
		defer f.far.mu.Unlock()
		return len(f.far.closed) == 1 && f.far.closed[0] == far.WasCollected
	})
	f.until("nothing is left to tell", func() bool { return !f.host.uncollected(host.Ref{Node: "a", N: 1}) })
}

// An attempt whose journal breaks off is over only when no program of it runs any more.
func TestGivenUpOnceItHasEnded(t *testing.T) {
	f := newFixture(t, journal()[:2]...)
	f.far.fails, f.far.pulse = far.ErrClosed, far.Pulse{State: far.Working, Machine: "box", Silent: time.Hour}
	f.start()
	f.until("it is claimed", func() bool { return len(f.records()[run.Claimed]) == 1 })
	select {
	case e := <-f.ended:
		t.Fatalf("given up while its program may run: %+v", e)
	default:
	}
	f.far.mu.Lock()
	f.far.pulse.State = far.Lost
	f.far.mu.Unlock()
	if e := f.end(); e.err == nil || !strings.Contains(e.err.Error(), "box gave no sign for 30m") {
		t.Fatalf("ended %+v", e)
	}
}

// What a machine says is not believed where it is not about its own attempt.
func TestHostileMachine(t *testing.T) {
	f := newFixture(t, far.Entry{Kind: far.Claimed, Claim: &far.Claim{Machine: "box\x1b[2J"}})
	f.start()
	if e := f.end(); e.err == nil || !strings.Contains(e.err.Error(), "without a name") {
		t.Fatalf("a name with control characters: %+v", e)
	}
	f = newFixture(t)
	main := f.git("rev-parse", "main")
	f.git("commit", "-q", "--allow-empty", "-m", "theirs")
	theirs := f.git("rev-parse", "HEAD")
	f.git("update-ref", "refs/cmux/far/branch", theirs)
	f.git("update-ref", "refs/cmux/snapshots/x", theirs)
	f.git("update-ref", "refs/tags/theirs", theirs)
	path := filepath.Join(t.TempDir(), "b")
	f.git("bundle", "create", "-q", path, "refs/cmux/far/branch", "refs/cmux/snapshots/x", "refs/tags/theirs", "main")
	for _, ref := range []string{"refs/cmux/far/branch", "refs/cmux/snapshots/x", "refs/tags/theirs"} {
		f.git("update-ref", "-d", ref)
	}
	f.git("reset", "-q", "--hard", main)
	if _, err := f.host.follower(host.Ref{Node: "a", N: 1}, f.spec, false); err == nil {
		t.Fatal("a follower without a mark")
	}
	if err := f.host.note(host.Ref{Node: "a", N: 1}); err != nil {
		t.Fatal(err)
	}
	fo, err := f.host.follower(host.Ref{Node: "a", N: 1}, f.spec, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.host.unpack(t.Context(), fo, []byte(f.file(path))); err != nil {
		t.Fatal(err)
	}
	want := "refs/cmux/snapshots/x\nrefs/heads/main\nrefs/heads/s/a"
	if got := f.git("for-each-ref", "--format=%(refname)"); got != want || f.git("rev-parse", "main") != main || f.git("rev-parse", "s/a") != theirs {
		t.Errorf("the refs are\n%s", got)
	}
	// The branch moves forward only.
	f.git("update-ref", "refs/heads/s/a", f.git("commit-tree", "-p", main, "-m", "a person's", "HEAD^{tree}"))
	moved := f.git("rev-parse", "s/a")
	if err := f.host.unpack(t.Context(), fo, []byte(f.file(path))); err != nil || f.git("rev-parse", "s/a") != moved || f.git("rev-parse", fo.left()) != theirs {
		t.Errorf("a branch that moved here: %v", err)
	}
	if end := fo.checked(run.End{Outcome: dag.Done, Tip: theirs}); end.Outcome != dag.Failed || end.Reason != dag.ReasonConflict || !strings.Contains(end.Detail, fo.left()) {
		t.Errorf("its end is %+v", end)
	}
	if end := fo.checked(run.End{Outcome: dag.Done, Tip: strings.Repeat("1", 40)}); end.Outcome != dag.Failed || !strings.Contains(end.Detail, "did not come") {
		t.Errorf("the end with a commit that nobody has: %+v", end)
	}
	if err := f.host.unpack(t.Context(), fo, []byte("no bundle")); err == nil {
		t.Error("no bundle was taken in")
	}
}

// A machine refuses to set the attempt up: the node fails with its reason.
func TestSetupFails(t *testing.T) {
	f := newFixture(t, journal()[0], far.Entry{Kind: far.End, Error: "no space"})
	f.start()
	if e := f.end(); e.err != nil || e.end.Reason != dag.ReasonSetup || e.end.Detail != "no space" {
		t.Fatalf("ended %+v", e)
	}
}

// An order is put into the journal once, and its reply is the machine's.
func TestOrders(t *testing.T) {
	f := newFixture(t, journal()[:2]...)
	l := f.start()
	r, err := l.Say(t.Context(), attempt.Message{Op: attempt.OpAnswer, Text: "yes"})
	if err != nil || r.Text != "taken in" {
		t.Fatalf("the reply is %+v, %v", r, err)
	}
	f.far.mu.Lock()
	f.far.pulse = far.Pulse{State: far.Working, Machine: "box", Silent: 4 * time.Minute}
	f.far.mu.Unlock()
	if _, err := l.Say(t.Context(), attempt.Message{Op: attempt.OpAnswer, Text: "no"}); err == nil || err.Error() != "kept for box, silent for 4m" {
		t.Fatalf("to a silent machine: %v", err)
	}
	orders := 0
	f.far.mu.Lock()
	defer f.far.mu.Unlock()
	for _, e := range f.far.put {
		if e.Kind == far.Order {
			orders++
		}
	}
	if orders != 2 {
		t.Errorf("%d orders were put", orders)
	}
}

// A person sees that a machine is silent, since when, and that it answers again.
func TestSilent(t *testing.T) {
	f := newFixture(t, journal()[:2]...)
	f.start()
	f.until("it is claimed", func() bool { return len(f.records()[run.Claimed]) == 1 })
	f.far.mu.Lock()
	f.far.pulse = far.Pulse{State: far.Working, Machine: "box", Silent: time.Hour}
	f.far.mu.Unlock()
	f.until("it is told", func() bool { return len(f.records()[run.Silent]) == 1 })
	if at, err := time.Parse(time.RFC3339, f.records()[run.Silent][0].Value); err != nil || time.Since(at) < 59*time.Minute {
		t.Errorf("silent since %v, %v", at, err)
	}
	f.far.mu.Lock()
	f.far.pulse.Silent = 0
	f.far.mu.Unlock()
	f.until("it answers again", func() bool { all := f.records()[run.Silent]; return len(all) == 2 && all[1].Value == "" })
}

// A Host is closed while nobody takes an end any more: it does not wait for that.
func TestClosedWhileItEnds(t *testing.T) {
	f := newFixture(t, journal()...)
	for range cap(f.ended) {
		f.ended <- ended{} // its runner leaves
	}
	f.start()
	f.until("all of it is taken in", func() bool { return len(f.records()[run.Output]) == 1 })
	closed := make(chan error, 1)
	go func() { closed <- f.host.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the Host is never closed")
	}
}

// A machine was silent when home was killed, and answers its successor.
func TestSilentAcrossHomes(t *testing.T) {
	f := newFixture(t, journal()[:2]...)
	f.far.pulse = far.Pulse{State: far.Working, Machine: "box", Silent: time.Hour}
	f.start()
	f.until("it is told", func() bool { return len(f.records()[run.Silent]) == 1 })
	if err := f.host.Close(); err != nil {
		t.Fatal(err)
	}
	f.far.mu.Lock()
	f.far.pulse.Silent = 0
	f.far.mu.Unlock()
	f.open()
	if _, err := f.host.Reach(t.Context(), host.Ref{Node: "a", N: 1}); err != nil {
		t.Fatal(err)
	}
	f.until("it answers again", func() bool { all := f.records()[run.Silent]; return len(all) == 2 && all[1].Value == "" })
}

// No login of home's travels with the remote.
func TestRemote(t *testing.T) {
	f := newFixture(t)
	for url, want := range map[string]string{
		"https://x-access-token:ghp_secret@github.com/a/b": "https://github.com/a/b", "ssh://git:secret@host/a": "ssh://git@host/a",
		"git@github.com:a/b.git": "git@github.com:a/b.git", "/srv/git/a": "", "file:///srv/git/a": "", "../a": "",
	} {
		f.git("config", "remote.origin.url", url)
		if got := f.host.remote(); got != want {
			t.Errorf("of %s: %q, want %q", url, got, want)
		}
	}
}

// A bundle leaves out what the machine has, and never the commits that it names.
func TestPack(t *testing.T) {
	f := newFixture(t)
	first := f.run.Plan.Base
	write := func(name string) string {
		if err := os.WriteFile(filepath.Join(f.root, name), []byte(strings.Repeat(name, 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		f.git("add", ".")
		f.git("commit", "-q", "-m", name)
		return f.git("rev-parse", "HEAD")
	}
	second := write("second")
	third := write("third")
	f.spec.Place.Commit = third
	whole, err := f.host.pack(t.Context(), f.spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, has := range [][]string{{first}, {second}, {third}, {third, second, "x; rm", strings.Repeat("0", 40)}} {
		b, err := f.host.pack(t.Context(), f.spec, has)
		if err != nil {
			t.Fatalf("with %v: %v", has, err)
		}
		if len(b) > len(whole) {
			t.Errorf("with %v: %d bytes, whole %d", has, len(b), len(whole))
		}
		path := filepath.Join(t.TempDir(), "b")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		heads := f.git("bundle", "list-heads", path)
		if !strings.Contains(heads, third+" "+refStart) || !strings.Contains(heads, first+" "+refBase) {
			t.Errorf("with %v: the bundle has\n%s", has, heads)
		}
	}
	if refs := f.git("for-each-ref", "refs/cmux/far"); refs != "" {
		t.Errorf("left behind: %s", refs)
	}
}
