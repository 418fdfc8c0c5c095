package standing

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/fence"
	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

func TestMain(m *testing.M) {
	inside()
	os.Exit(sealtest.Main(m))
}

// world stands in for windows, worktrees and wrappers. A life holds the agent's
// lock and writes its records, as a wrapper does.
type world struct {
	t    *testing.T
	root string
	r    *run.Run

	kinds    agent.Kinds
	mu       sync.Mutex
	lives    map[string]*life
	specs    []*run.Spec
	tells    map[string][]string // ids of messages
	from     map[string]string   // by id of a message: who wrote it to the agent alone
	gave     map[string][]*run.Work
	awoke    map[string]int      // how often it was told that its limit may be over
	took     map[string][]string // ids of work that was taken back
	ended    map[string]int      // turns that were broken off
	trees    map[string]string   // path to branch
	effects  int                 // so far
	fail     int                 // the effect at which the keeper dies, before and after it in turn; 0: never
	frozen   bool                // lives take no messages
	deaf     bool                // lives do not stop when they are asked to
	wait     time.Duration       // Options.Wait
	stuck    bool                // no tree can be switched
	bell     func()              // Options.Bell
	restored []string            // branch and snapshot
	dirty    string              // command that Switch returns, once; empty: nothing was to be saved
	dies     bool                // lives end as soon as they begin
	ahead    atomic.Int64        // nanoseconds that the keeper's clock is ahead
}

type life struct {
	w    *world
	name string
	n    int
	lock *signals.Lock
	gone chan struct{}

	stands string // what it needs a person or an answer for; empty: it rests
}

var errKilled = errors.New("killed by the test")

func newWorld(t *testing.T, env ...string) *world {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.CreateOrganization(root, "shop", "t", append(env, "HOME="+root, "PATH="+os.Getenv("PATH"), sealtest.Env()), binary)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{kinds: agent.NewKinds(agent.Kind{Name: "scripted", Judge: true}), t: t, root: root, r: r, lives: make(map[string]*life), tells: make(map[string][]string), from: make(map[string]string), gave: make(map[string][]*run.Work), took: make(map[string][]string), ended: make(map[string]int), awoke: make(map[string]int), trees: make(map[string]string)}
	if err := w.org().Set(t.Context(), Settings{Permissions: PermitAsked, WorktreeBase: filepath.Join(root, "trees"), Agent: "scripted", Integration: "main", Verify: []string{"make test"}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, l := range w.lives {
			l.end()
		}
	})
	return w
}

func (w *world) org() *Org {
	w.t.Helper()
	o, err := Open(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// effect is where the keeper can be killed: it never hears of what it did.
func (w *world) effect(do func() error) error {
	w.effects++
	if w.fail == 2*w.effects-1 {
		panic(errKilled)
	}
	if err := do(); err != nil {
		return err
	}
	if w.fail == 2*w.effects {
		panic(errKilled)
	}
	return nil
}

func (w *world) open(_ context.Context, name, _ string, argv []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effect(func() error {
		n, err := strconv.Atoi(argv[len(argv)-3])
		if err != nil {
			return err
		}
		return w.live(name, n)
	})
}

// live begins a life. The caller holds mu.
func (w *world) live(name string, n int) error {
	lock, err := signals.TryLock(w.r.NodeLock(name))
	if err != nil {
		return err
	}
	spec, err := w.r.ReadSpec(name, n)
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	l := &life{w: w, name: name, n: n, lock: lock, gone: make(chan struct{})}
	w.specs, w.lives[name] = append(w.specs, spec), l
	l.record(run.Record{Type: run.Began, PID: 0})
	l.record(run.Record{Type: run.Active, Activity: dag.Resting})
	if w.dies {
		l.end()
	}
	return nil
}

func (l *life) record(rec run.Record) {
	book, err := l.w.r.OpenAgentBook(l.name)
	if err == nil {
		rec.Node, rec.Attempt = l.name, l.n
		err = errors.Join(book.Append(context.Background(), rec), book.Close())
	}
	if err != nil {
		l.w.t.Error(err)
	}
}

// end ends a life as kill -9 does. The caller holds mu.
func (l *life) end() {
	if l.w.lives[l.name] == l {
		delete(l.w.lives, l.name)
		l.lock.Unlock()
		close(l.gone)
	}
}

func (l *life) Say(_ context.Context, m attempt.Message) (attempt.Reply, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if m.Op == attempt.OpStop && !l.w.deaf {
		l.record(run.Record{Type: run.Vanished, How: run.HowStopped})
		l.end()
	}
	if m.Op == attempt.OpTell && l.w.frozen {
		return attempt.Reply{}, context.DeadlineExceeded
	}
	if m.Op == attempt.OpTell {
		l.w.tells[l.name] = append(l.w.tells[l.name], m.Key)
		l.w.from[m.Key] = m.Mail.From
	}
	switch m.Op {
	case attempt.OpStand:
		if l.stands == "" {
			return attempt.Reply{Standing: &attempt.Standing{Activity: dag.Resting}}, nil
		}
		return attempt.Reply{Standing: &attempt.Standing{Activity: dag.NeedsInput, Detail: l.stands}}, nil
	case attempt.OpGive:
		l.w.gave[l.name] = append(l.w.gave[l.name], m.Work)
		l.record(run.Record{Type: run.Given, Key: m.Work.ID, Work: m.Work})
		l.record(run.Record{Type: run.Active, Activity: dag.Working})
	case attempt.OpAwake:
		l.w.awoke[l.name]++
	case attempt.OpEndTurn:
		l.w.ended[l.name]++
	case attempt.OpWithdraw:
		l.w.took[l.name] = append(l.w.took[l.name], m.Key)
	}
	return attempt.Reply{}, nil
}
func (l *life) Gone() <-chan struct{} { return l.gone }
func (l *life) Close()                {}

// place is a host of windows without tmux, whose lives are soon there or never.
type place struct {
	host.Host
	w *world
}

func (w *world) host(c host.Config) (host.Host, error) {
	return place{host.NewWindows(c, w.open), w}, nil
}

func (p place) Probe(ref host.Ref, fresh time.Time) (host.Pulse, func() error, error) {
	if time.Since(fresh) > 50*time.Millisecond {
		fresh = time.Time{}
	}
	return p.Host.Probe(ref, fresh)
}

func (p place) Reach(ctx context.Context, ref host.Ref) (host.Link, error) { return p.w.dial(ctx, ref) }

func (w *world) dial(_ context.Context, ref host.Ref) (host.Link, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.lives[ref.Node]; l != nil && l.n == ref.N {
		return l, nil
	}
	return nil, host.ErrGone
}

func (w *world) Close(_ context.Context, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effect(func() error { return nil })
}
func (w *world) Put(string, string)                               {}
func (w *world) Show(context.Context, string, Word, string) error { return nil }
func (w *world) Screen(_ context.Context, name string) (string, error) {
	return "last words of " + name, nil
}
func (w *world) Broken() <-chan struct{} { return nil }
func (w *world) Err() error              { return nil }

func (w *world) Foreign(path string) bool {
	_, err := os.Stat(filepath.Join(path, "foreign"))
	return err == nil
}

func (w *world) Lend(_ context.Context, path, branch, _, _ string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effect(func() error {
		w.trees[path] = branch
		return os.MkdirAll(path, 0o755)
	})
}

func (w *world) Head(_ context.Context, dir string) (string, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if branch, is := w.trees[dir]; is {
		return branch, "head", nil
	}
	return "main", "head", nil
}

func (w *world) Start(context.Context, string, string, []Contribution) (string, error) {
	return "", nil
}

func (w *world) Switch(_ context.Context, path, branch, _, _ string) (string, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stuck {
		return "", "", errors.New("a merge is in progress")
	}
	for other, has := range w.trees {
		if has == branch && branch != "" && other != path {
			return "", "", errors.New(branch + " is checked out in " + other)
		}
	}
	w.trees[path] = branch
	restore := w.dirty
	w.dirty = ""
	return "base", restore, nil
}

func (w *world) Restore(_ context.Context, path, branch, snapshot string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restored = append(w.restored, branch+" "+snapshot)
	return nil
}

func (w *world) Remove(_ context.Context, path, _, _ string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var restore string
	err := w.effect(func() error {
		if _, ok := w.trees[path]; ok {
			restore = "cmux snapshots restore x"
		}
		delete(w.trees, path)
		return os.RemoveAll(path)
	})
	return restore, err
}

func (w *world) options() Options {
	return Options{
		Root: w.root, Windows: w, Trees: w, Host: w.host, Patience: 50 * time.Millisecond, Wait: w.wait,
		Kinds: w.kinds, Bell: w.bell, Now: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) },
	}
}

// keep runs a keeper until the test, or stop, ends it.
func (w *world) keep() (stop func() error) { return w.keepBy(w.options()) }

func (w *world) keepBy(o Options) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		defer func() {
			if err, ok := recover().(error); ok {
				over <- err
			}
		}()
		over <- Run(ctx, o)
	}()
	stop = sync.OnceValue(func() error { cancel(); return <-over })
	w.t.Cleanup(func() { stop() })
	return stop
}

// ask asks the keeper for something and returns the request's id.
func (w *world) ask(op run.Op, name string, a Ask) string {
	w.t.Helper()
	q, err := Request(op, name, a)
	if err == nil {
		q, err = w.r.Ask(q)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return q.ID
}

func (w *world) spawn(name string) string {
	return w.ask(OpSpawn, name, Ask{Spawn: &Spawn{Name: name, Role: Worker}})
}

// until waits for a fact about the organization.
func (w *world) until(what string, fact func(*Org) bool) *Org {
	w.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		o := w.org()
		if fact(o) {
			return o
		}
		if time.Now().After(deadline) {
			for name, a := range o.Agents {
				w.t.Logf("%s: %+v", name, a.State)
			}
			w.t.Fatalf("%s: did not happen; answers %v", what, o.Answers)
		}
		time.Sleep(time.Millisecond)
	}
}

func (w *world) answered(id string) Answer {
	w.t.Helper()
	o := w.until("the answer to "+id, func(o *Org) bool { _, ok := o.Answers[id]; return ok })
	return o.Answers[id]
}

func (w *world) lives1(name string, n int) func(*Org) bool {
	return func(o *Org) bool {
		a := o.Agents[name]
		return a != nil && a.Life.N == n && !a.Life.Began.IsZero() && a.Life.On()
	}
}

func TestAgentGoesOn(t *testing.T) {
	w := newWorld(t)
	w.keep()
	if a := w.answered(w.spawn("api")); a.Refused != "" {
		t.Fatal(a.Refused)
	}
	w.until("a life", w.lives1("api", 1))
	w.mu.Lock()
	l := w.lives["api"]
	l.record(run.Record{Type: run.Conversed, Conversation: "c1"})
	l.record(run.Record{Type: run.Given, Work: &run.Work{ID: "t1", Def: &dag.Node{Name: "api"}}})
	l.end()
	w.mu.Unlock()
	w.until("the next life", w.lives1("api", 2))
	w.mu.Lock()
	spec := w.specs[len(w.specs)-1]
	w.mu.Unlock()
	if spec.Conversation != "c1" || spec.Work == nil || spec.Work.ID != "t1" || spec.Member == nil || spec.Def.Env["CMUX_AGENT_NAME"] != "api" {
		t.Errorf("the agent continues with %+v", spec)
	}
	b, err := os.ReadFile(filepath.Join(w.root, ".cmux", "worker-contexts", "api-context.md"))
	if err != nil || !strings.Contains(string(b), "- You are api (id ") {
		t.Errorf("%v: its context does not say who it is: %s", err, b)
	}
	var registry map[string]Entry
	b, err = os.ReadFile(filepath.Join(w.root, ".cmux", "agent_registry.json"))
	if err == nil {
		err = json.Unmarshal(b, &registry)
	}
	if e := registry["api"]; err != nil || e.Role != Worker || e.Branch != "shop/api" || e.ID == "" {
		t.Errorf("%v: the registry: %s", err, b)
	}
}

func TestRefusedRequests(t *testing.T) {
	w := newWorld(t)
	if err := w.org().Join(t.Context(), run.Member{Name: Supervisor, Role: Supervisor, ID: "ag_1", Dir: w.root, Kind: "scripted"}, ""); err != nil {
		t.Fatal(err)
	}
	w.keep()
	w.answered(w.spawn("api"))
	for want, id := range map[string]string{
		`not a name for an agent: "API": api has it`:                       w.spawn("API"),
		`not a name for an agent: "user": it is an address of the mailbox`: w.spawn("user"),
		`there is no kind of agent "nonsense"`:                             w.ask(OpSpawn, "b", Ask{Spawn: &Spawn{Name: "b", Role: Worker, Kind: "nonsense"}}),
		"a spawn without an agent":                                         w.ask(OpSpawn, "b", Ask{}),
		`there is no agent "nobody": there are supervisor, api`:            w.ask(OpKill, "nobody", Ask{}),
		"the supervisor stays as long as the organization does":            w.ask(OpKill, Supervisor, Ask{Force: true}),
		`this version of cmux does not know the request "nonsense"`:        w.ask("nonsense", "api", Ask{}),
	} {
		if a := w.answered(id); a.Refused != want {
			t.Errorf("refused with %q, want %q", a.Refused, want)
		}
	}
	perm := w.ask(OpSpawn, "perm-x", Ask{Spawn: &Spawn{Name: "perm-x", Role: PermanentWorker, Permanent: true}})
	w.answered(perm)
	if a := w.answered(w.ask(OpKill, "perm-x", Ask{})); a.Refused != "perm-x is a permanent worker, which is not removed by the way" {
		t.Errorf("kill of a permanent worker: %q", a.Refused)
	}
	if a := w.answered(w.ask(OpKill, "perm-x", Ask{Force: true})); a.Refused != "" {
		t.Errorf("kill of a permanent worker by force: %q", a.Refused)
	}
}

// Another project's worktree may stand where a worker's would. The worktree's name then
// contains the project, unless another worker has that path.
func TestSpawnBesideAnotherProject(t *testing.T) {
	w := newWorld(t)
	names := run.MachineNames(w.r.Plan.Session, w.root)
	like := filepath.Base(w.root) + "-api" // its worktree has the path that api would take next
	for _, name := range []string{"api", "db"} {
		dir := w.org().besides(names[0]) + name
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "foreign"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	w.keep()
	for _, test := range []struct{ name, want string }{
		{"web", names[0] + "-web"}, {"db", names[1] + "-db"}, {like, names[0] + "-" + like}, {"api", names[2] + "-api"},
	} {
		if a := w.answered(w.spawn(test.name)); a.Refused != "" {
			t.Fatalf("%s: %s", test.name, a.Refused)
		}
		if m := w.org().Agents[test.name].Member; filepath.Base(m.Tree) != test.want || m.Dir != m.Tree {
			t.Errorf("%s works in %s and its worktree is %s, want %s", test.name, m.Dir, m.Tree, test.want)
		}
	}
}

func TestCrashLoop(t *testing.T) {
	w := newWorld(t)
	w.mu.Lock()
	w.dies = true
	w.mu.Unlock()
	if err := w.org().Join(t.Context(), run.Member{Name: "api", Role: Worker, ID: "ag_1", Dir: w.root, Kind: "scripted"}, ""); err != nil {
		t.Fatal(err)
	}
	// Four deaths are on record already, in a minute that is now.
	var recs []run.Record
	for n := 1; n <= 4; n++ {
		then := time.Now().Add(-20 * time.Second)
		recs = append(recs, run.Record{Type: run.Started, Attempt: n, At: then}, run.Record{Type: run.Vanished, Attempt: n, How: run.HowLost, At: then})
	}
	if err := w.org().RecordOf(t.Context(), "api", recs...); err != nil {
		t.Fatal(err)
	}
	w.keep()
	w.until("a crash loop", func(o *Org) bool { a := o.Agents["api"]; return a.Life.N == 5 && !a.Life.On() && a.Crashing() })
	w.mu.Lock()
	w.dies = false
	w.mu.Unlock()
	w.answered(w.ask(OpWake, "api", Ask{}))
	w.until("a life after a person said so", w.lives1("api", 6))
}

func TestStopAndAgain(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		w := newWorld(t)
		stop := w.keep()
		w.answered(w.spawn("api"))
		w.answered(w.spawn("web"))
		w.until("both", func(o *Org) bool { return w.lives1("api", 1)(o) && w.lives1("web", 1)(o) })
		w.mu.Lock()
		w.deaf = deaf // before it is asked: the keeper is quick
		w.mu.Unlock()
		id := w.ask(run.OpStop, "", Ask{})
		if deaf {
			w.until("the order", func(o *Org) bool { return o.Stopped })
			if _, known := w.org().Answers[id]; known {
				t.Error("answered with agents at work")
			}
			w.mu.Lock()
			for _, l := range slices.Collect(maps.Values(w.lives)) {
				l.end() // as by KILL
			}
			w.mu.Unlock()
		}
		w.answered(id)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		o := w.org()
		if !o.Stopped || o.Agents["api"].Life.On() || len(w.specs) != 2 {
			t.Fatalf("after a stop: %+v, %d lives", o, len(w.specs))
		}
		w.deaf = false
		if err := o.Record(t.Context(), run.Record{Type: run.Resumed}); err != nil {
			t.Fatal(err)
		}
		w.keep()
		w.until("both again", func(o *Org) bool { return w.lives1("api", 2)(o) && w.lives1("web", 2)(o) })
	}
}

func TestReset(t *testing.T) {
	w := newWorld(t)
	w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))
	w.mu.Lock()
	w.lives["api"].record(run.Record{Type: run.Conversed, Conversation: "c1"})
	w.lives["api"].record(run.Record{Type: run.Given, Work: &run.Work{ID: "t1", Def: &dag.Node{Name: "api"}}})
	w.mu.Unlock()
	if a := w.answered(w.ask(OpReset, "api", Ask{})); a.Refused != "" {
		t.Fatal(a.Refused)
	}
	w.until("the next life", w.lives1("api", 2))
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.specs[len(w.specs)-1]; s.Conversation != "" || s.Work == nil {
		t.Errorf("after a reset the agent continues with %+v", s)
	}
	kept, err := filepath.Glob(filepath.Join(w.root, ".cmux", "archives", "api", "*", screenFile))
	if err != nil || len(kept) != 1 {
		t.Errorf("%v: kept %v", err, kept)
	}
}

// A relaunch goes on in the conversation, once for each request.
func TestRelaunch(t *testing.T) {
	w := newWorld(t)
	w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))
	w.mu.Lock()
	w.lives["api"].record(run.Record{Type: run.Conversed, Conversation: "c1"})
	w.lives["api"].record(run.Record{Type: run.Given, Work: &run.Work{ID: "t1", Def: &dag.Node{Name: "api"}}})
	w.mu.Unlock()
	q, err := Request(OpRelaunch, "api", Ask{By: "monitor"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // as by one who was killed before they knew that they had asked
		if err := w.r.AskOnce("watch-1", q); err != nil {
			t.Fatal(err)
		}
	}
	if a := w.answered("watch-1"); a.Refused != "" {
		t.Fatal(a.Refused)
	}
	o := w.until("the next life", w.lives1("api", 2))
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.specs[len(w.specs)-1]; s.Conversation != "c1" || s.Work == nil || len(w.specs) != 2 || len(o.Agents["api"].Deaths) > 0 {
		t.Errorf("%d lives, the last one in %+v; deaths %v", len(w.specs), s, o.Agents["api"].Deaths)
	}
}

// The next task of a permanent worker waits for a reset that is due, and no longer
// than a while.
func TestResetsFirst(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)
	o := &Org{}
	a := &Agent{State: State{Member: run.Member{Role: PermanentWorker}, Born: now.Add(-time.Hour), Tasks: 5, Last: &Finished{At: now}}}
	for _, c := range []struct {
		what string
		with func()
		want bool
	}{
		{"five tasks", func() {}, true},
		{"four tasks", func() { a.Tasks = 4 }, false},
		{"an old conversation", func() { a.Born = now.Add(-4 * time.Hour) }, true},
		{"a reset since", func() { a.ResetAt = now.Add(-time.Minute) }, false},
		{"a lower bound", func() { o.Settings.Watch = map[string]string{"reset_tasks": "2"} }, true},
		{"quiet hours", func() { o.Settings.Watch["quiet_hours"] = "11:00-13:00" }, false},
		{"no resets", func() { o.Settings.Watch = map[string]string{"resets": "false"} }, false},
	} {
		c.with()
		if got := o.resetsFirst(a); got.After(now) != c.want {
			t.Errorf("%s: waits until %v", c.what, got)
		}
	}
}

// Killed before or after any effect, the next keeper comes to the same end: one
// agent for a spawn, one archive for a kill, one answer for each.
func TestKilledAtAnyEffect(t *testing.T) {
	effects := 0
	for fail := 0; fail <= 2*effects; fail++ {
		w := newWorld(t)
		w.fail = fail
		first, second := "", ""
		settle := func(fact func(*Org) bool) {
			for {
				stop := w.keep()
				deadline := time.Now().Add(20 * time.Second)
				for {
					if fact(w.org()) {
						if err := stop(); err != nil && !errors.Is(err, errKilled) {
							t.Fatal(err)
						}
						return
					}
					if w.keeperDied() {
						stop()
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("killed at %d: %+v", fail, w.org().Answers)
					}
					time.Sleep(time.Millisecond)
				}
			}
		}
		first = w.spawn("api")
		settle(func(o *Org) bool {
			_, ok := o.Answers[first]
			return ok && o.Agents["api"] != nil && o.Agents["api"].Life.On() && !o.Agents["api"].Life.Began.IsZero()
		})
		second = w.ask(OpKill, "api", Ask{})
		settle(func(o *Org) bool { _, ok := o.Answers[second]; return ok && o.Agents["api"] == nil })
		o := w.org()
		archives, _ := filepath.Glob(filepath.Join(w.root, ".cmux", "archives", "api", "*", removalFile))
		log, _ := os.ReadFile(filepath.Join(w.root, ".cmux", "archives", deletionsFile))
		if lines := strings.Count(string(log), "\n"); lines != 1 {
			t.Errorf("killed at %d: the deletion log has %d lines", fail, lines)
		}
		if len(o.Agents) != 0 || len(archives) != 1 || len(w.trees) != 0 || o.Answers[first].Refused != "" || o.Answers[second].Refused != "" {
			t.Errorf("killed at %d: agents %d, archives %v, trees %v, answers %v", fail, len(o.Agents), archives, w.trees, o.Answers)
		}
		if pending, err := w.r.Pending(); err != nil || len(pending) > 0 {
			t.Errorf("killed at %d: %v, %v", fail, pending, err)
		}
		if fail == 0 {
			effects = w.effects
			if effects < 3 {
				t.Fatalf("only %d effects", effects)
			}
		}
	}
}

// keeperDied reports whether nobody holds the organization's lock.
func (w *world) keeperDied() bool {
	_, held, err := signals.ReadHolder(w.r.LockPath())
	if err != nil {
		w.t.Fatal(err)
	}
	return !held && w.past()
}

// past reports whether the effect at which the keeper dies is over.
func (w *world) past() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fail > 0 && 2*w.effects >= w.fail
}

// What a graph runs need not be in a fence.
func TestFencedAgentOrdersNoRun(t *testing.T) {
	if _, err := fence.Support(); err != nil {
		t.Skip(err)
	}
	w := newWorld(t)
	set := w.org().Settings
	set.Permissions, set.Fence = PermitAll, dag.Fence{Mode: dag.FenceRequire}
	if err := w.org().Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	w.keep()
	if a := w.answered(w.ask(OpSpawn, Supervisor, Ask{Spawn: &Spawn{Name: Supervisor, Role: Supervisor, Dir: w.root}})); a.Refused != "" {
		t.Fatal(a.Refused)
	}
	w.until("a life", w.lives1(Supervisor, 1))
	a := w.answered(w.ask(OpRun, "", Ask{By: Supervisor, Run: &RunOrder{Config: filepath.Join(w.root, ".cmux/graphs/x.yml")}}))
	if want := "a graph can hold commands that run in no fence, and supervisor works in one: a person starts the run"; !strings.HasPrefix(a.Refused, want) {
		t.Errorf("refused with %q, want %q", a.Refused, want)
	}
}
