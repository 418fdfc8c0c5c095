package locks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/records/ledger"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

func agent(name string) Holder { return Holder{Who: name, Of: "organization", Life: 1} }

func process(n int) Holder { return Holder{Who: "user", PID: n, Start: 1} }

func everybody(Holder) bool { return true }

// Who gets a lock, who waits, and who would wait forever.
func TestStories(t *testing.T) {
	a, b, c := agent("a"), agent("b"), agent("c")
	for name, story := range map[string]string{
		"free, taken, released":              "a+db: got | a+db: got | b+db: a has held the lock db | b-db: a has held the lock db | a-db: ok | a-db: nobody has | b+db: got",
		"in line":                            "a+db: got | b?db: waits | c?db: waits | c+db: a has | a-db: ok | c+db: b waits for the lock db and comes first | c?db: waits | b?db: got | b-db: ok | c?db: got",
		"a waiter that ends":                 "a+db: got | b?db: waits | c?db: waits | a-db: ok | dead b | c?db: got",
		"a holder that ends":                 "a+db: got | b?db: waits | dead a | b?db: got",
		"two for each other":                 "a+x: got | b+y: got | a?y: waits | b?x: neither would ever go on: a has x, b has y",
		"three in a circle":                  "a+x: got | b+y: got | c+z: got | a?y: waits | b?z: waits | c?x: neither would",
		"no circle":                          "a+x: got | b?x: waits | a+y: got | c?y: waits | c?x: waits",
		"broken":                             "a+db: got | b?db: waits | c!db: ok | b?db: got",
		"bad name":                           "a+../x: is not a lock name",
		"a process of who has it":            "a+db: got | pa?db: you (a) have held the lock db since",
		"two processes wait for one another": "p1+db: got | p2?db: waits | p1-db: ends with that process | dead p1 | p2?db: got",
	} {
		dead := map[Holder]bool{}
		live := func(h Holder) bool { return !dead[h] }
		l := new(List)
		now := time.Unix(0, 0)
		for i, step := range strings.Split(story, " | ") {
			who := map[string]Holder{"a": a, "b": b, "c": c, "p1": process(1), "p2": process(2), "pa": {Who: "a", Of: "organization", Life: 1, PID: 9}}
			if gone, ok := strings.CutPrefix(step, "dead "); ok {
				dead[who[gone]] = true
				continue
			}
			act, want, _ := strings.Cut(step, ": ")
			at := strings.IndexAny(act, "+?-!")
			h, lock, op := who[act[:at]], act[at+1:], act[at]
			now = now.Add(time.Second)
			before := l.copy()
			var lines []line
			var err error
			said := "ok"
			switch op {
			case '-', '!':
				lines, err = l.release(lock, h, op == '!', live, now)
				l = before
			default:
				var got bool
				lines, got, err = l.want(Wish{Name: lock, Holder: h, By: h, Wait: op == '?'}, live, now)
				l = before
				if said = "waits"; got {
					said = "got"
				}
			}
			if err != nil {
				said = err.Error()
			}
			for j := range lines { // as they are read back
				if err := l.step(&lines[j]); err != nil {
					t.Fatalf("%s, %d: %+v: %v", name, i, lines[j], err)
				}
			}
			if !strings.Contains(said, want) {
				t.Errorf("%s, %d: %s: %s", name, i, step, said)
			}
		}
	}
}

// Whatever happens, a lock has one living holder, every waiter waits for somebody who can
// finish, and what is written is read back equal, also from a shortened file.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		life := map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}
		live := func(h Holder) bool { return life[h.Who] == h.Life }
		l := new(List)
		holds := map[string]string{}
		now := time.Unix(0, 0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Second)
			who := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "who")
			lock := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "lock")
			h := Holder{Who: who, Of: "organization", Life: life[who]}
			read := l.copy()
			var lines []line
			var err error
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0:
				life[who]++
				for k, v := range holds {
					if v == who {
						delete(holds, k)
					}
				}
				continue
			case 1:
				if lines, err = l.release(lock, h, false, live, now); err == nil {
					if holds[lock] != who {
						t.Fatalf("%s released %s, which %q has", who, lock, holds[lock])
					}
					delete(holds, lock)
				}
			case 2:
				lines = l.leave(lock, h, now)
			default:
				var got bool
				lines, got, err = l.want(Wish{Name: lock, Holder: h, By: h, Wait: rapid.Bool().Draw(t, "wait")}, live, now)
				if got {
					if other := holds[lock]; other != "" && other != who {
						t.Fatalf("%s got %s, which %s has", who, lock, other)
					}
					holds[lock] = who
				}
			}
			if err != nil {
				lines = nil
			}
			for j := range lines {
				if err := read.step(&lines[j]); err != nil {
					t.Fatalf("%+v: %v", lines[j], err)
				}
			}
			if l = read; rapid.IntRange(0, 4).Draw(t, "shorten") == 0 {
				if l = reread(t, l); !slices.EqualFunc(l.All(everybody), read.All(everybody), sameLock) {
					t.Fatalf("shortened it says %+v, and not %+v", l.All(live), read.All(live))
				}
			}
			waits := map[string]string{}
			for _, k := range l.All(live) {
				if k.Held != (holds[k.Name] != "") || k.Held && k.Holder.Who != holds[k.Name] {
					t.Fatalf("%+v, want %v", k, holds)
				}
				for _, w := range k.Waiters {
					if k.Held {
						waits[w.Who] = k.Holder.Who
					}
				}
			}
			for from := range waits {
				at := from
				for n := 0; waits[at] != ""; n++ {
					if at = waits[at]; n > len(life) {
						t.Fatalf("%s waits for ever: %v", from, waits)
					}
				}
			}
		}
	})
}

func sameLock(a, b Lock) bool {
	text := func(k Lock) string {
		k.Since = k.Since.UTC()
		k.Waiters = slices.Clone(k.Waiters)
		for i := range k.Waiters {
			k.Waiters[i].Since = k.Waiters[i].Since.UTC()
		}
		return fmt.Sprintf("%+v", k)
	}
	return text(a) == text(b)
}

// reread returns the list of a shortened file. It refuses copies of its lines.
func reread(t *rapid.T, l *List) *List {
	lines, err := l.short()
	if err != nil {
		t.Fatal(err)
	}
	short := new(List)
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
	return short
}

// A copy of a line without a number does not bring back a released lock.
func TestShortOfUnnumbered(t *testing.T) {
	take, _ := json.Marshal(&line{Op: "take", Name: "db", Holder: agent("api")})
	release, _ := json.Marshal(&line{Op: "release", Name: "db", Holder: agent("api")})
	l := new(List)
	for _, b := range [][]byte{take, release} {
		if err := l.Take(b); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := l.short()
	if err != nil {
		t.Fatal(err)
	}
	short := new(List)
	for _, b := range lines {
		if err := short.Take(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := short.Take(take); !errors.Is(err, ledger.ErrCopy) || len(short.All(everybody)) > 0 {
		t.Errorf("a released lock is back: %v, %+v", err, short.All(everybody))
	}
}

// Concurrent requests for a lock get it one after the other.
func TestManyWriters(t *testing.T) {
	root := t.TempDir()
	var mu sync.Mutex
	var in, most int
	var order []string
	var wait sync.WaitGroup
	for i := range 6 {
		wait.Go(func() {
			b, err := OpenBook(root, everybody, time.Now, true)
			if err != nil {
				t.Error(err)
				return
			}
			h := agent(fmt.Sprint("w", i))
			for got := false; !got; {
				if got, _, err = b.Want(t.Context(), Wish{Name: "db", Holder: h, By: h, Wait: true}); err != nil {
					t.Error(err)
					return
				}
			}
			mu.Lock()
			in++
			most = max(most, in)
			order = append(order, h.Who)
			mu.Unlock()
			mu.Lock()
			in--
			mu.Unlock()
			if _, err := b.Release(t.Context(), "db", h, false); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	slices.Sort(order)
	if most != 1 || len(slices.Compact(order)) != 6 {
		t.Errorf("%d at once: %v", most, order)
	}
	b, err := OpenBook(root, everybody, time.Now, false)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := b.List(); err != nil || len(l.All(everybody)) != 0 {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := b.Release(t.Context(), "db", agent("w1"), false); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
}

// A repeated line counts once: a copy of an older line neither takes a lock away nor gives
// it back. Later lines count.
func TestCopiedLines(t *testing.T) {
	root := t.TempDir()
	b, err := OpenBook(root, everybody, time.Now, true)
	if err != nil {
		t.Fatal(err)
	}
	h := agent("a")
	take := func() {
		t.Helper()
		if got, _, err := b.Want(t.Context(), Wish{Name: "db", Holder: h, By: h}); !got || err != nil {
			t.Fatal(got, err)
		}
	}
	release := func() {
		t.Helper()
		if _, err := b.Release(t.Context(), "db", h, false); err != nil {
			t.Fatal(err)
		}
	}
	held := func(want, bad int) {
		t.Helper()
		again, err := OpenBook(root, everybody, time.Now, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []*Book{b, again} {
			if l, err := b.List(); err != nil || len(l.All(everybody)) != want || len(l.Bad) != bad {
				t.Fatalf("%+v %v, want %d and %d that do not count", l, err, want, bad)
			}
		}
	}
	appendLine := func(n int) {
		t.Helper()
		all, err := os.ReadFile(b.Path())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.SplitAfter(all, []byte("\n"))[n]...)
		if err := os.WriteFile(b.Path(), all, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	take()
	release()
	take()
	held(1, 0)
	appendLine(1) // the release
	held(1, 1)
	release()
	held(0, 0)
	appendLine(0) // the first take
	held(0, 1)
	take()
	held(1, 0)
}

// A waiter has somebody alive to wait for; otherwise it is its turn.
func TestAhead(t *testing.T) {
	a, b, c := agent("a"), agent("b"), agent("c")
	now := time.Unix(0, 0)
	l := new(List)
	for _, h := range []Holder{a, b, c} {
		if _, _, err := l.want(Wish{Name: "db", Holder: h, By: h, Wait: true}, everybody, now); err != nil {
			t.Fatal(err)
		}
	}
	free := l.copy()
	if _, err := free.release("db", a, false, everybody, now); err != nil {
		t.Fatal(err)
	}
	_ = free.step(&line{Op: "release", Name: "db", Holder: a})
	for i, one := range []struct {
		l    *List
		h    Holder
		dead string
		ends []Holder
		turn bool
	}{
		{l, b, "", []Holder{a}, false},
		{l, c, "b", []Holder{a}, false},
		{l, c, "a", []Holder{a}, true},
		{l, agent("d"), "", nil, true},
		{free, b, "", nil, true},
		{free, c, "", []Holder{b, b}, false},
		{free, c, "b", nil, true},
	} {
		ends, turn := one.l.Ahead("db", one.h, func(h Holder) bool { return h.Who != one.dead })
		if turn != one.turn || !slices.Equal(ends, one.ends) {
			t.Errorf("%d: %v %v", i, ends, turn)
		}
	}
}
