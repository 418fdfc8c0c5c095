package watchdog

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/org/watchconfig"
	"cmux/agents/platform/seal/sealtest"
	"cmux/server/watch"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

// fake is a World that the watch dies in.
type fake struct {
	now    time.Time
	facts  watch.Facts
	did    map[string][]string // id of an action: its effects
	acts   []watch.Action
	person func(agent string) bool
	broken error // result of every action, before any effect
	closed map[string]string
	deaf   int // so many times nothing can be closed

	effects int
	fail    int // the effect at which the watch dies, before and after it in turn; 0: never
	kill    context.CancelFunc
}

var errKilled = errors.New("killed")

// effect is something that is done, once for each name, unless the watch dies.
func (w *fake) effect(ctx context.Context, id, name string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.effects++
	if w.fail > 0 && w.effects == (w.fail+1)/2 && w.fail%2 == 1 {
		w.kill()
		return errKilled
	}
	if !slices.Contains(w.did[id], name) {
		w.did[id] = append(w.did[id], name)
	}
	if w.fail > 0 && w.effects == (w.fail+1)/2 {
		w.kill()
		return errKilled
	}
	return nil
}

func (w *fake) Facts(context.Context, func(string) bool) (watch.Facts, error) {
	f := w.facts
	f.Agents = slices.Clone(f.Agents)
	return f, nil
}

func (w *fake) Person(_ context.Context, a *watch.Agent) {
	a.Person = w.person != nil && w.person(a.Name)
}

func (w *fake) Took(_ context.Context, a *watch.Action) (bool, error) {
	return w.did == nil || len(w.did[a.ID]) > 0, nil
}

func (w *fake) Do(ctx context.Context, a *watch.Action) error {
	if !slices.ContainsFunc(w.acts, func(o watch.Action) bool { return o.ID == a.ID }) {
		w.acts = append(w.acts, *a)
	}
	if w.broken != nil {
		return w.broken
	}
	if err := w.effect(ctx, a.ID, "order"); err != nil {
		return err
	}
	return w.effect(ctx, a.ID, "word")
}

func (w *fake) Recovered(_ context.Context, agent, why string) error {
	if w.deaf--; w.deaf >= 0 {
		return errors.New("no room")
	}
	if w.closed == nil {
		w.closed = map[string]string{}
	}
	w.closed[agent] = why
	return nil
}

func (w *fake) Changed() <-chan struct{} { return nil }

func newFake() *fake {
	now := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	w := &fake{now: now, did: map[string][]string{}, facts: watch.Facts{Config: watchconfig.Default()}}
	w.facts.Agents = []watch.Agent{
		{Name: "supervisor", Leads: true, Stand: watch.Idle, Life: 1, Sign: now, Began: now, Looked: true, Todo: []watch.Item{{Key: "a", Text: "t1 is blocked"}}, Backlog: &watch.Item{Key: "b", Text: "t2"}},
		{Name: "w1", Supervisor: "supervisor", Stand: watch.Busy, Life: 1, Sign: now, Began: now},
	}
	return w
}

// play has watches look every minute for an hour and a half: each that dies is
// followed by another one.
func (w *fake) play(t *testing.T, root string) { w.playFor(t, root, 95) }

func (w *fake) playFor(t *testing.T, root string, looks int) {
	t.Helper()
	var d *dog
	var ctx context.Context
	for range looks {
		w.now = w.now.Add(time.Minute)
		if d == nil {
			ctx, w.kill = context.WithCancel(t.Context())
			var err error
			if d, err = open(ctx, Options{Root: root, World: w, Log: log.New(io.Discard), Now: func() time.Time { return w.now }}); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.look(ctx); err != nil {
			if ctx.Err() == nil {
				t.Fatal(err)
			}
			d = nil
		}
	}
	w.kill()
}

// rules are the rules of the actions that took place, by agent.
func (w *fake) rules(agent string) string {
	var all []string
	for _, a := range w.acts {
		if a.Agent == agent && len(w.did[a.ID]) > 0 {
			all = append(all, a.Rule)
		}
	}
	return strings.Join(all, ", ")
}

// Killed before or after any effect of any action, the next watch comes to the
// same end: nothing half done, and nothing twice.
func TestKilledAtAnyEffect(t *testing.T) {
	effects := 0
	for fail := 0; fail <= 2*effects; fail += 1 + fail%2*2 { // before the odd effects and after the even ones
		root := t.TempDir()
		w := newFake()
		w.fail = fail
		w.play(t, root)
		for _, a := range w.acts {
			if n := len(w.did[a.ID]); n == 1 {
				t.Errorf("killed at %d: %s of %s was done by half", fail, a.Rule, a.Agent)
			}
		}
		if got := w.rules("supervisor"); got != "nudge, nudge, nudge, injection, frozen" && !strings.HasPrefix(got, "nudge, nudge, nudge, injection, frozen, nudge") {
			t.Errorf("killed at %d: %s", fail, got)
		}
		if got := w.rules("w1"); got != "observation, frozen, new start, given up" {
			t.Errorf("killed at %d: %s", fail, got)
		}
		b, err := openBook(root)
		if err != nil {
			t.Fatal(err)
		}
		if l, err := b.List(); err != nil || len(l.pending) > 0 || l.bad > 0 {
			t.Errorf("killed at %d: %+v, %v", fail, l, err)
		}
		if fail == 0 {
			if effects = w.effects; effects < 12 {
				t.Fatalf("only %d effects", effects)
			}
		}
	}
}

// A person who is found in the way stops what would meet them, and is told.
func TestPersonInTheWay(t *testing.T) {
	w := newFake()
	w.person = func(string) bool { return true }
	w.play(t, t.TempDir())
	if got := w.rules("supervisor") + "; " + w.rules("w1"); got != "; observation, person in the way" {
		t.Error(got)
	}
}

// leads has the world be that of two supervisors in a turn.
func (w *fake) leads() {
	w.facts.Agents = []watch.Agent{w.facts.Agents[1], w.facts.Agents[1]}
	for i, name := range []string{"a", "b"} {
		w.facts.Agents[i].Name, w.facts.Agents[i].Leads = name, true
	}
}

// A person is looked for in every agent that an action would meet, also in one that
// it is about because another one was barred.
func TestPersonInTheWayOfTheNext(t *testing.T) {
	w := newFake()
	w.leads()
	w.person = func(string) bool {
		return strings.Contains(w.rules("a"), "frozen") && strings.Contains(w.rules("b"), "frozen")
	}
	w.play(t, t.TempDir())
	want := "observation, frozen, person in the way"
	if a, b := w.rules("a"), w.rules("b"); a != want || b != want {
		t.Errorf("a: %s; b: %s", a, b)
	}
}

// An order that cannot be given does not count, also for the watch that comes next;
// one of which something took place does.
func TestFailedOrders(t *testing.T) {
	w := newFake()
	w.facts.Agents = w.facts.Agents[1:]
	w.broken = errors.New("no space left on device")
	root := t.TempDir()
	w.playFor(t, root, 22)
	if n := len(w.acts); n < 2 || w.acts[n-1].Rule != "frozen" {
		t.Fatalf("%+v", w.acts)
	}
	w.broken = nil
	w.playFor(t, root, 15) // a new watch sees it again
	if got := w.rules("w1"); !strings.HasSuffix(got, "frozen") || strings.Contains(got, "new start") {
		t.Error(got)
	}

	w = newFake()
	w.facts.Agents = w.facts.Agents[1:]
	w.broken = errors.New("it is asked, and nobody can be told")
	w.did = nil // every action leaves something
	w.playFor(t, t.TempDir(), 60)
	var rules []string
	for _, a := range w.acts {
		rules = append(rules, a.Rule)
	}
	if got := strings.Join(rules, ", "); got != "observation, frozen, new start" {
		t.Error(got)
	}
}

// What was opened about an agent is closed when it gets on, and when it is removed;
// where that cannot be written, at a later look.
func TestCloses(t *testing.T) {
	for _, removed := range []bool{false, true} {
		w := newFake()
		w.facts.Agents = w.facts.Agents[1:]
		root := t.TempDir()
		w.play(t, root)
		if got := w.rules("w1"); !strings.HasSuffix(got, "given up") || len(w.closed) > 0 {
			t.Fatalf("%s; closed %v", got, w.closed)
		}
		want := "it gets on again"
		if w.deaf = 2; removed {
			w.facts.Agents, want = nil, "it was removed"
		} else {
			w.facts.Agents[0].Sign = w.now
		}
		w.playFor(t, root, 5) // of a server that begins
		if w.closed["w1"] != want {
			t.Errorf("closed %v, after %d attempts that failed", w.closed, 2-w.deaf)
		}
	}
}

// Looks that fail come less and less often, and say so once.
func TestPause(t *testing.T) {
	var out strings.Builder
	d := &dog{Options: Options{Log: log.New(&out)}, every: leastEvery}
	total := time.Duration(0)
	for range 100 {
		total += d.pause(errors.New("no tasks"))
	}
	if n := strings.Count(out.String(), "no tasks"); n != 1 || total < 90*time.Minute {
		t.Errorf("%d lines, %s", n, total)
	}
	if d.pause(errors.New("another")); !strings.Contains(out.String(), "another") {
		t.Error(out.String())
	}
	if got := d.pause(nil); got != leastEvery || !strings.Contains(out.String(), "looks again") {
		t.Errorf("%s: %s", got, out.String())
	}
	if got := d.pause(errors.New("no tasks")); got > time.Second {
		t.Error(got)
	}
}

// Quiet hours are those of the clock on the wall.
func TestQuietHoursAreLocal(t *testing.T) {
	was := time.Local
	defer func() { time.Local = was }()
	for _, offset := range []int{0, 12} {
		time.Local = time.FixedZone("there", offset*3600)
		w := newFake() // at nine in UTC
		w.facts.Config.Quiet = watchconfig.Hours{From: 20 * 60, To: 23 * 60}
		w.facts.Agents = []watch.Agent{{Name: "perm-docs", Permanent: true, Stand: watch.Idle, Life: 1, Sign: w.now, Began: w.now, Tasks: 100, Next: true}}
		w.playFor(t, t.TempDir(), 1)
		if quiet := w.rules("perm-docs") == ""; quiet != (offset == 12) {
			t.Errorf("%d hours from UTC: quiet is %v", offset, quiet)
		}
	}
}
