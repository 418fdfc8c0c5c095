package rooms

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/kinds/agent"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/signals"
)

func newRooms(t testing.TB) *Rooms {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	p := &project.Project{Root: root, Caller: project.Caller{Now: time.Now, Dir: root, Person: true, Kinds: agent.NewKinds(agent.Kind{Name: "scripted", Judge: true, Can: agent.Capability{Headless: "yes"}})}}
	return &Rooms{Project: p, Records: &records.Records{Project: p}, Up: func(context.Context) error { return nil }}
}

func (p *Rooms) made(t testing.TB, name string) *book.Book {
	t.Helper()
	b, err := book.Open(p.Root, name, time.Now, true)
	if err == nil {
		err = b.Create(t.Context(), room.Defaults(), room.Line{Name: "ann", Agent: "scripted"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A project has so many open rooms at most; a closed one makes place.
func TestMostRooms(t *testing.T) {
	p := newRooms(t)
	for n := range mostRooms {
		p.made(t, fmt.Sprintf("r%d", n))
	}
	start := Start{Name: "one-more", Members: []string{"scripted=ann"}}
	if _, err := p.Plan(t.Context(), start); err == nil || !strings.Contains(err.Error(), "50 rooms are open") {
		t.Fatalf("another one: %v", err)
	}
	if _, err := p.Order(t.Context(), "r7", Order{Do: room.DoClose}); err != nil {
		t.Fatal(err)
	}
	s, err := p.Plan(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := p.Create(t.Context(), s); err != nil || v.Room.Label != "new" || len(v.Members) != 1 || v.Members[0].State != "off" {
		t.Fatalf("%+v, %v", v, err)
	}
}

// Without a monitor, messages and orders stand in the file, once each; members get all of
// them later.
func TestSayWithoutMonitor(t *testing.T) {
	p := newRooms(t)
	p.made(t, "r")
	for range 2 {
		said, err := p.Say(t.Context(), "r", Say{Text: "Which?", Key: "k"})
		if err != nil || said.Message != 3 || len(said.Wakes) != 1 {
			t.Fatalf("%+v, %v", said, err)
		}
	}
	for _, bad := range []Say{{Text: " "}, {Text: "x", To: "carl"}, {Text: strings.Repeat("x", book.MaxText+1)}} {
		if _, err := p.Say(t.Context(), "r", bad); !errors.Is(err, project.ErrUsage) {
			t.Errorf("%.20q to %q: %v", bad.Text, bad.To, err)
		}
	}
	if _, err := p.Show("none"); !errors.Is(err, project.ErrMissing) {
		t.Errorf("no room: %v", err)
	}
	if _, err := p.Order(t.Context(), "r", Order{Do: room.DoPause, ID: "o"}); err != nil {
		t.Fatal(err)
	}
	v, err := p.Order(t.Context(), "r", Order{Do: room.DoPause, ID: "o"})
	if err != nil || v.Room.Phase != room.IsPaused || v.Members[0].Unread != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	if lines, _, err := p.Lines("r"); err != nil || len(lines) != 4 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	want := []Wait{{"the room is paused", "cmux rooms resume r", "", WayOrder, []room.Do{room.DoResume}, true, v.Room.At, "", ""}}
	if fmt.Sprint(v.Waits) != fmt.Sprint(want) {
		t.Errorf("it waits for %+v", v.Waits)
	}
	v, err = p.Order(t.Context(), "r", Order{Do: room.DoResume})
	want = []Wait{{"no monitor", "cmux rooms open r", "", WayOrder, []room.Do{room.DoResume}, true, v.Room.At, "", ""}}
	if err != nil || fmt.Sprint(v.Waits) != fmt.Sprint(want) {
		t.Errorf("without a monitor it waits for %+v, %v", v.Waits, err)
	}
}

// A removal that did not come to its end is given again.
func TestRemoveIsGivenAgain(t *testing.T) {
	p := newRooms(t)
	b := p.made(t, "r")
	if err := b.Order(t.Context(), "remove", room.DoClose, 0); err != nil {
		t.Fatal(err)
	}
	archive, err := p.Remove(t.Context(), "r")
	if err != nil || !strings.Contains(archive, "archives/rooms/r-") {
		t.Fatalf("%q, %v", archive, err)
	}
	// A room of the name, in the same second; and one that was reopened after such a close.
	b = p.made(t, "r")
	for _, do := range []room.Do{room.DoClose, room.DoReopen} {
		if err := b.Order(t.Context(), map[room.Do]string{room.DoClose: "remove", room.DoReopen: "again"}[do], do, 0); err != nil {
			t.Fatal(err)
		}
	}
	again, err := p.Remove(t.Context(), "r")
	if err != nil || again == archive {
		t.Fatalf("%q, %v", again, err)
	}
	if text, err := os.ReadFile(filepath.Join(again, book.File)); err != nil || strings.Count(string(text), `"do":"close"`) != 2 {
		t.Errorf("it was not closed: %s, %v", text, err)
	}
	if all, err := p.List(); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// Settings are taken whole or not at all.
func TestSet(t *testing.T) {
	p := newRooms(t)
	p.made(t, "r")
	v, err := p.Set(t.Context(), "r", []string{"policy=once", "blind=false", "turns=2", "tokens=200k", "tokens-day=2M", "share=tagged", "topic=a=b", "timeout=5", "parse-timeout=6", "send-timeout=7", "hard-timeout=8", "on-parse=stop", "rebuttals=2"})
	want := room.Settings{Topic: "a=b", Policy: room.Once, Turns: 2, Rebuttals: 2, Tagged: true, Tokens: room.Tokens{Round: 200_000, Day: 2_000_000}, Timeouts: room.Timeouts{Idle: 5, Parse: 6, Send: 7, Hard: 8, Stops: true}}
	if err != nil || v.Room.Settings != want {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, bad := range []string{"turns", "turns=0", "turns=x", "policy=x", "tokens=x", "blind=x", "share=x", "on-parse=x", "judge=carl", "moderator=carl", "timeout=-1", "timeout=9223372037", "turns=100001", "rebuttals=100001"} {
		if _, err := p.Set(t.Context(), "r", []string{"topic=changed", bad}); !errors.Is(err, project.ErrUsage) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if v, err := p.Show("r"); err != nil || v.Room.Settings != want {
		t.Errorf("it was changed: %+v, %v", v, err)
	}
}

// A capped round names the way on, and that leads on.
func TestCappedNamesItsWay(t *testing.T) {
	for why, try := range map[string]string{"turns are used up": "cmux rooms continue r", room.OutOfTokens: "cmux rooms set r tokens=N, and cmux rooms continue r"} {
		p := newRooms(t)
		b := p.made(t, "r")
		if _, _, err := b.Append(t.Context(), func([]room.Line) ([]room.Line, error) {
			return []room.Line{
				{Kind: room.KindRound, Round: 1, State: room.Began},
				{Kind: room.KindRound, Round: 1, State: room.Capped, Why: why},
			}, nil
		}); err != nil {
			t.Fatal(err)
		}
		v, err := p.Show("r")
		if err != nil || len(v.Waits) != 1 || v.Waits[0].Try != try {
			t.Fatalf("%s: %+v, %v", why, v, err)
		}
		if _, err := p.Set(t.Context(), "r", []string{"tokens=5000"}); err != nil {
			t.Fatal(err)
		}
		if v, err = p.Order(t.Context(), "r", Order{Do: room.DoContinue}); err != nil || v.Room.Phase == room.IsCapped {
			t.Errorf("%s: it is %s after that, %v", why, v.Room.Phase, err)
		}
	}
}

// Before there is an organization, the file says what a room begins with, and its faults are
// told. What the start says goes before it.
func TestConfigBeforeTheFirstStart(t *testing.T) {
	p := newRooms(t)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(p.ConfigPath(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rooms:\n  policy: once\n  turns: 5\n  tokens: {round: 200k, day: 2M}\n  timeouts: {idle: 1m}\n")
	turns, day := 2, int64(0)
	start := Start{Members: []string{"scripted=ann"}, Settings: Change{Turns: &turns, Tokens: &TokensOver{Day: &day}}}
	s, err := p.Plan(t.Context(), start)
	want := room.Defaults()
	want.Policy, want.Turns, want.Tokens.Round, want.Timeouts.Idle = room.Once, 2, 200_000, 60
	if err != nil || s.settings != want {
		t.Errorf("%+v, %v; want %+v", s, err, want)
	}
	write("rooms:\n  turns: none\n")
	if _, err := p.Plan(t.Context(), start); err == nil || !strings.Contains(err.Error(), "config.yml:2:10: rooms.turns must be a whole number") {
		t.Errorf("a fault in the file: %v", err)
	}
}
