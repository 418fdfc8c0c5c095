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

	"cmux/agents/seal/sealtest"
	"cmux/agents/watchconfig"
	"cmux/server/watch"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

// fake is a World that the watch dies in.
type fake struct {
	now    time.Time
	facts  watch.Facts
	did    map[string][]string // id of an action: its effects
	acts   []watch.Action
	person bool

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

func (w *fake) Person(_ context.Context, a *watch.Agent) { a.Person = w.person }

func (w *fake) Took(_ context.Context, a *watch.Action) (bool, error) {
	return len(w.did[a.ID]) > 0, nil
}

func (w *fake) Do(ctx context.Context, a *watch.Action) error {
	if !slices.ContainsFunc(w.acts, func(o watch.Action) bool { return o.ID == a.ID }) {
		w.acts = append(w.acts, *a)
	}
	if err := w.effect(ctx, a.ID, "order"); err != nil {
		return err
	}
	return w.effect(ctx, a.ID, "word")
}

func (w *fake) Recovered(context.Context, string) error { return nil }
func (w *fake) Changed() <-chan struct{}                { return nil }

func newFake() *fake {
	now := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	w := &fake{now: now, did: map[string][]string{}, facts: watch.Facts{Config: watchconfig.Default()}}
	w.facts.Agents = []watch.Agent{
		{Name: "supervisor", Leads: true, Stand: watch.Idle, Life: 1, Sign: now, Began: now, Todo: []watch.Item{{Key: "a", Text: "t1 is blocked"}}, Backlog: &watch.Item{Key: "b", Text: "t2"}},
		{Name: "w1", Supervisor: "supervisor", Stand: watch.Busy, Life: 1, Sign: now, Began: now},
	}
	return w
}

// play has watches look every minute for an hour and a half: each that dies is
// followed by another one.
func (w *fake) play(t *testing.T, root string) {
	t.Helper()
	var d *dog
	var ctx context.Context
	for range 95 {
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
	w.person = true
	w.play(t, t.TempDir())
	if got := w.rules("supervisor") + "; " + w.rules("w1"); got != "; observation, person in the way" {
		t.Error(got)
	}
}
