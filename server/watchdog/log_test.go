package watchdog

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/records/ledger"
	"cmux/server/watch"
)

// A log that was shortened says the same of what is under way and of what was seen
// last, and takes no line of before again, nor its own.
func TestShortLogSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		long, short := newList(), newList()
		var all []Line
		clock, ids := time.Duration(1), 0
		put := func(line Line) {
			if a, b := long.put(line), short.put(line); a != nil || b != nil {
				t.Fatalf("%+v: %v, shortened %v", line, a, b)
			}
			all = append(all, line)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch n := rapid.IntRange(0, 9).Draw(t, "step"); {
			case n < 5 || len(long.pending) > 2:
				for _, line := range byClock(long.pending) {
					end := Line{ID: line.ID, Phase: []Phase{Done, Failed, Dropped}[rapid.IntRange(0, 2).Draw(t, "end")]}
					if end.Phase == Failed {
						end.Seen = &watch.Seen{Life: 100 + ids}
					}
					put(end)
				}
			case n < 8:
				ids++
				clock += time.Duration(rapid.IntRange(0, 1).Draw(t, "time"))
				id := fmt.Sprintf("watch-%d", ids)
				agent := fmt.Sprintf("a%d", rapid.IntRange(0, 3).Draw(t, "agent"))
				put(Line{ID: id, Phase: Intent, Clock: clock, At: time.Unix(int64(clock), 0), Act: &watch.Action{ID: id, Agent: agent}, Seen: &watch.Seen{Life: ids}})
			default:
				lines, err := short.short()
				if err != nil {
					t.Fatal(err)
				}
				short = newList()
				for _, text := range lines {
					if err := short.Take(text); err != nil {
						t.Fatalf("%s: %v", text, err)
					}
				}
				for _, text := range lines {
					if err := short.copy().Take(text); !errors.Is(err, ledger.ErrCopy) {
						t.Fatalf("%s twice: %v", text, err)
					}
				}
			}
			if a, b := long.state(), short.state(); !reflect.DeepEqual(a.Agents, b.Agents) || a.Clock != b.Clock || len(long.pending) != len(short.pending) {
				t.Fatalf("shortened it says\n%+v, %d, and not\n%+v, %d", b, len(short.pending), a, len(long.pending))
			}
		}
		taken := long.state().Clock
		for _, line := range all { // of what took place none is taken again
			if _, known := long.ids[line.ID]; !known || line.Phase != Intent {
				continue
			}
			if err := short.copy().put(line); !errors.Is(err, ledger.ErrCopy) {
				t.Fatalf("%+v is taken again, at %v: %v", line, taken, err)
			}
		}
	})
}

// After an action that was dropped, what is decided at a clock before it is taken,
// from a file that was shortened meanwhile too; what took place before is not.
func TestShortLogWithADroppedAction(t *testing.T) {
	intent := func(id string, clock time.Duration) Line {
		return Line{ID: id, Phase: Intent, Clock: clock, Act: &watch.Action{ID: id, Agent: "w1"}, Seen: &watch.Seen{}}
	}
	l := newList()
	for _, line := range []Line{intent("failed", 9), {ID: "failed", Phase: Failed}, intent("done", 10), {ID: "done", Phase: Done}, intent("dropped", 15)} {
		if err := l.put(line); err != nil {
			t.Fatal(line.ID, err)
		}
	}
	lines, err := l.short()
	if err != nil {
		t.Fatal(err)
	}
	l = newList()
	for _, text := range lines {
		if err := l.Take(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []Line{intent("failed", 9), intent("done", 10), intent("dropped", 15)} {
		if err := l.copy().put(line); !errors.Is(err, ledger.ErrCopy) {
			t.Errorf("a copy of %q is taken: %v", line.ID, err)
		}
	}
	for _, line := range []Line{{ID: "dropped", Phase: Dropped}, intent("next", 11), {ID: "next", Phase: Done}} {
		if err := l.put(line); err != nil {
			t.Errorf("%q: %v", line.ID, err)
		}
	}
	if s := l.state(); s.Clock != 11 {
		t.Errorf("the clock is %d", s.Clock)
	}
}

// The file is shortened as it grows, and the watch goes on from it.
func TestLogIsShortened(t *testing.T) {
	root := t.TempDir()
	b, err := openBook(root)
	if err != nil {
		t.Fatal(err)
	}
	b.Long = 8000
	for n := range 40 {
		id := fmt.Sprintf("watch-%d", n)
		a := &watch.Action{ID: id, Agent: "w1", Reason: strings.Repeat("x", 200)}
		for _, line := range []Line{{ID: id, Phase: Intent, Clock: time.Duration(n), Act: a, Seen: &watch.Seen{Life: n}}, {ID: id, Phase: Done}} {
			if err := b.write(t.Context(), line); err != nil {
				t.Fatal(n, err)
			}
		}
	}
	again, err := openBook(root)
	if err != nil {
		t.Fatal(err)
	}
	l, err := again.List()
	if err != nil {
		t.Fatal(err)
	}
	if s := l.state(); s.Clock != 39 || s.Agents["w1"].Life != 39 || l.before == 0 {
		t.Errorf("%+v, shortened %v", s, l.before > 0)
	}
}
