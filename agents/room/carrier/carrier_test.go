package carrier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/room"
	"cmux/agents/room/book"
)

// scene is what outlives carriers: the file, and the members' programs with their records.
type scene struct {
	*testing.T
	root    string
	now     time.Time
	members map[string]*member
	told    []string // to the person
	picked  int      // how often notes were picked

	left int // calls until the carrier is killed; below zero: it is not
}

type member struct {
	is      room.Standing
	script  []string // what it answers, one after the other; then [PASS]
	turn    string
	prompts map[string]string // by turn, as its program has them
	taken   []room.What
	since   []room.What
	broken  []string
}

// killed is what a kill panics with.
type killed struct{}

// point is where the carrier may be killed.
func (s *scene) point() {
	if s.left == 0 {
		s.left = -1
		panic(killed{})
	}
	s.left--
}

func (s *scene) clock() time.Time { return s.now }

func newScene(t *testing.T, settings room.Settings, scripts map[string][]string) *scene {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	s := &scene{T: t, root: t.TempDir(), now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), members: map[string]*member{}, left: -1}
	var lines []room.Line
	for _, name := range []string{"a", "b", "c"} {
		s.members[name] = &member{is: room.Off, script: scripts[name], prompts: map[string]string{}}
		lines = append(lines, room.Line{Name: name, Agent: "r." + name})
	}
	if err := s.open().Create(t.Context(), settings, lines...); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *scene) open() *book.Book {
	b, err := book.Open(s.root, "r", s.clock, true)
	if err != nil {
		s.Fatal(err)
	}
	return b
}

func (s *scene) carrier() *Carrier {
	b, err := book.Open(s.root, "r", func() time.Time { s.point(); return s.now }, true)
	if err != nil {
		s.Fatal(err)
	}
	c, err := New(Config{
		Name: "r", File: b, Members: s, Place: func(string) room.Place { return room.Place{Dir: s.root} }, Now: s.clock,
		Notify: func(text string, _ bool) { s.told = append(s.told, text) }, Notes: s,
	})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *scene) Stand(_ context.Context, name string, _ *room.Turn) (room.Stand, []room.What, error) {
	s.point()
	m := s.members[name]
	return room.Stand{Is: m.is}, slices.Concat(m.taken, m.since), nil
}

func (s *scene) Tell(_ context.Context, t *room.Turn, text string, _ []room.File) error {
	s.point()
	name, turn := t.Member, t.ID
	m := s.members[name]
	if _, has := m.prompts[turn]; has {
		return nil
	}
	if m.turn != "" {
		s.Errorf("%s is told %s while it is in %s", name, turn, m.turn)
	}
	m.prompts[turn], m.turn, m.is = text, turn, room.InTurn
	m.taken = append(m.taken, room.Took{Turn: turn})
	s.point()
	return nil
}

func (s *scene) BreakOff(_ context.Context, t *room.Turn) error {
	s.point()
	name, turn := t.Member, t.ID
	m := s.members[name]
	if m.turn == turn {
		m.turn, m.is = "", room.Idle
	}
	m.broken = append(m.broken, turn)
	m.since = append(m.since, room.Failed{Turn: turn, How: room.HowStopped, Text: "so far"})
	return nil
}

func (s *scene) Start(_ context.Context, name string) error {
	s.point()
	s.members[name].is = room.Idle
	return nil
}

func (s *scene) Rest(_ context.Context, name, _ string) error {
	s.point()
	m := s.members[name]
	m.is, m.turn = room.Off, ""
	return nil
}

// Pick picks another note each time.
func (s *scene) Pick(_ *room.State, _ time.Time, member string) []string {
	s.point()
	s.picked++
	return []string{fmt.Sprintf("n%d", s.picked)}
}

func (s *scene) Told(ids []string) (all []string) {
	s.point()
	for _, id := range ids {
		all = append(all, id+": noted")
	}
	return all
}

// work lets every member that is in a turn answer, and reports whether one did.
func (s *scene) work() (worked bool) {
	for _, name := range []string{"a", "b", "c"} {
		m := s.members[name]
		if m.turn == "" {
			continue
		}
		said := "[PASS]"
		if len(m.script) > 0 {
			said, m.script = m.script[0], m.script[1:]
		}
		m.since = append(m.since, room.Replied{Turn: m.turn, Text: said, Used: 10})
		m.turn, m.is, worked = "", room.Idle, true
	}
	return worked
}

func (s *scene) say(text string) {
	s.Helper()
	if _, _, err := s.open().Say(s.Context(), book.Message{By: room.User, Text: text, Key: text}); err != nil {
		s.Fatal(err)
	}
}

// carries goes on until nothing happens any more. A carrier that is killed is followed by
// the next.
func (s *scene) carries() (c *Carrier) {
	for range 200 {
		var next time.Time
		worked := false
		dead := func() (dead bool) {
			defer func() {
				switch r := recover().(type) {
				case nil:
				case killed:
					dead = true
				default:
					panic(r)
				}
			}()
			if c == nil {
				c = s.carrier()
			}
			if err := c.Look(s.Context()); err != nil {
				s.Fatal(err)
			}
			worked = s.work()
			var err error
			if next, err = c.Ring(s.Context()); err != nil {
				s.Fatal(err)
			}
			return false
		}()
		switch {
		case dead:
			c = nil
		case worked:
		case c.State().Phase() == room.AtRest || c.State().Phase() == room.IsCapped:
			return c
		case !next.IsZero():
			s.now = next
		}
	}
	s.Fatal("it does not come to rest")
	return nil
}

func (s *scene) lines() []room.Line {
	s.Helper()
	all, bad, err := s.open().Lines()
	if err != nil || len(bad) > 0 {
		s.Fatal(err, bad)
	}
	for _, b := range room.Check(all) {
		s.Error(b)
	}
	return all
}

// Killed at any of its calls, the room goes on where it stood: each message stands once, no
// turn is taken twice, and what is said is the same as without a kill.
func TestKilled(t *testing.T) {
	said := func(s *scene) string {
		var all []string
		for _, l := range s.lines() {
			if l.Kind == room.KindSaid {
				all = append(all, l.By+": "+l.Text)
			}
		}
		return strings.Join(all, "\n")
	}
	play := func(kill int) (s *scene, calls int) {
		s = newScene(t, room.Defaults(), map[string][]string{"a": {"Postgres.", "@b how many writers?", "+1 b"}, "b": {"SQLite.", "[PASS]", "One."}})
		s.say("which database?")
		const many = 1 << 20
		if s.left = many; kill >= 0 {
			s.left = kill
		}
		s.carries()
		calls = many - s.left
		s.left = -1
		s.say("thanks")
		s.carries()
		return s, calls
	}
	s, calls := play(-1)
	want := said(s)
	if !strings.Contains(want, "One.") || strings.Count(want, "\n") != 6 {
		t.Fatalf("without a kill: %s", want)
	}
	for kill := range calls {
		s, _ := play(kill)
		if got := said(s); got != want {
			t.Fatalf("killed at call %d:\n%s\nand not\n%s", kill, got, want)
		}
		s.noted()
	}
	for name, m := range s.members {
		n := 0
		for _, text := range m.prompts {
			if strings.Contains(text, "You are "+name+" in the room r") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s was told %d times where it is", name, n)
		}
	}
}

// noted checks that the first turn of each member has notes, that its line names those that its
// program has, and that no other turn has any.
func (s *scene) noted() {
	s.Helper()
	first := map[string]bool{}
	for _, l := range s.lines() {
		if l.Kind != room.KindTurn {
			continue
		}
		text := s.members[l.Member].prompts[l.Turn]
		switch {
		case first[l.Member] && (len(l.Notes) > 0 || strings.Contains(text, ": noted")):
			s.Errorf("%s of %s has notes again: %q", l.Turn, l.Member, l.Notes)
		case !first[l.Member] && (len(l.Notes) != 1 || !strings.Contains(text, "earlier rooms: they may be old or wrong.\n> "+l.Notes[0]+": noted\n")):
			s.Errorf("%s of %s: %q and %s", l.Turn, l.Member, l.Notes, text)
		}
		first[l.Member] = true
	}
}

// fullDisk is a file to which nothing can be written for a while.
type fullDisk struct {
	File
	full *bool
}

func (f fullDisk) Append(ctx context.Context, decide func([]room.Line) ([]room.Line, error)) ([]room.Line, int, error) {
	if *f.full {
		return nil, 0, errors.New("no space left on device")
	}
	return f.File.Append(ctx, decide)
}

// An answer that cannot be written waits until it can; the person is told once.
func TestFullDisk(t *testing.T) {
	s := newScene(t, room.Defaults(), map[string][]string{"a": {"one"}})
	s.say("go")
	c := s.carrier()
	for c.State().LastTurn == 0 || slices.ContainsFunc(c.State().Open, func(o room.Turn) bool { return o.Took.IsZero() }) {
		if err := c.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	full := true
	c.File = fullDisk{c.File, &full}
	s.work()
	for range 3 {
		if err := c.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		failed := c.Failed()
		next, err := c.Ring(t.Context())
		if err != nil || failed == nil || next.IsZero() {
			t.Fatalf("with a full disk: %v, %v, %v", c.Failed(), next, err)
		}
		s.now = s.now.Add(retries)
	}
	if len(s.told) != 1 || !strings.Contains(s.told[0], "no space left") {
		t.Errorf("the person was told %q", s.told)
	}
	full = false
	if err := c.Look(t.Context()); err != nil || c.Failed() != nil {
		t.Errorf("with space again: %v, %v", c.Failed(), err)
	}
	for c.State().Phase() != room.AtRest {
		s.work()
		if err := c.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, l := range s.lines() {
		if l.By == "a" && l.Text == "one" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the answer stands %d times", n)
	}
}

// Orders reach the members: a turn that is stopped ends, and a room that is closed rests.
func TestOrders(t *testing.T) {
	settings := room.Defaults()
	settings.Blind = false
	s := newScene(t, settings, map[string][]string{"a": {"one", "two"}})
	s.say("go")
	c := s.carrier()
	if err := c.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.open().Order(t.Context(), "o1", room.DoStop, 0, "a"); err != nil {
		t.Fatal(err)
	}
	if err := c.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := s.members["a"]; len(a.broken) != 1 || a.turn != "" {
		t.Errorf("stopped it stands as %+v", a)
	}
	s.carries()
	if err := s.open().Order(t.Context(), "o2", room.DoClose, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, m := range s.members {
		if m.is != room.Off {
			t.Errorf("in a closed room %s is %v", name, m.is)
		}
	}
	s.lines()
}
