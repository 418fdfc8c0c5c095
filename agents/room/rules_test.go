package room

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"cmux/agents/testkit/agenttest/fuzzing"
)

type byRapid struct{ t *rapid.T }

func (r byRapid) below(n int) int { return rapid.IntRange(0, n-1).Draw(r.t, "choice") }

type byRand struct{ *rand.Rand }

func (r byRand) below(n int) int { return r.IntN(n) }

// play is a room in which anything may happen that can.
func play(c chance) *world {
	settings := Defaults()
	settings.Policy = []Policy{Everybody, Everybody, Once, Robin, Mentioned, Moderator, Debate}[c.below(7)]
	settings.Moderator, settings.Judge = "a", "c"
	settings.Blind = c.below(3) != 0
	settings.Turns = 1 + c.below(3)
	if c.below(4) == 0 {
		settings.Decide = ByModerator
	}
	if c.below(3) == 0 {
		settings.Tokens.Round = int64(500 + 500*c.below(4))
	}
	if c.below(5) == 0 {
		settings.Timeouts.Hard = 60
	}
	settings.Timeouts.Stops = c.below(2) == 0
	w := newWorld(c, settings, "a", "b", "c")
	w.join("g", true)
	w.kills = c.below(3) != 0
	for range c.below(120) {
		if w.broken != "" {
			break
		}
		w.random()
	}
	return w
}

// rules are what holds whatever happens.
func rules(t *rapid.T) {
	w := play(byRapid{t})
	hold(t, w)
}

func hold(t interface {
	Logf(string, ...any)
	Fatalf(string, ...any)
}, w *world,
) {
	w.helpful()
	w.rules()
	if w.broken != "" {
		for _, l := range w.file {
			t.Logf("%s", showLine(l))
		}
		t.Fatalf("%s", w.broken)
	}
	if s := Fold("r", w.file); s.N != w.s.N || !reflect.DeepEqual(inboxes(s), inboxes(w.s)) {
		t.Fatalf("folded it has unread %v, and not %v", inboxes(s), inboxes(w.s))
	}
}

func inboxes(s State) [][]int64 {
	var all [][]int64
	for _, m := range s.Members {
		all = append(all, m.Unread)
	}
	return all
}

// TestRules holds the rules of Check against random rooms with kills: each message reaches
// each member it is for once, every turn has one end, and a room comes to rest.
func TestRules(t *testing.T) { rapid.Check(t, rules) }

// TestManyRules does so for more rooms than rapid tries.
func TestManyRules(t *testing.T) {
	for seed := range uint64(1000) {
		w := play(byRand{rand.New(rand.NewPCG(seed, 1))})
		hold(t, w)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestPrefixes continues from every prefix of the lines of a room: each is a legal room,
// from which it comes to rest and breaks no rule.
func TestPrefixes(t *testing.T) {
	for seed := range uint64(20) {
		w := play(byRand{rand.New(rand.NewPCG(seed, 2))})
		for n := range w.file {
			cut := newWorld(w.chance, Defaults())
			cut.file, cut.programs = w.file[:n:n], map[string]*program{}
			cut.now = w.now
			s := Fold("r", cut.file)
			for _, m := range s.Members {
				if !m.Guest {
					p := &program{is: Off, has: map[string]bool{}}
					cut.programs[m.Name] = p
				}
			}
			cut.restart()
			if len(s.Members) == 0 {
				continue
			}
			hold(t, cut)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzRules(f *testing.F) { f.Fuzz(rapid.MakeFuzz(rules)) }

// A line reads as it was written.
func TestLines(t *testing.T) {
	w := play(byRand{rand.New(rand.NewPCG(7, 1))})
	for _, l := range w.file {
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back Line
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(l, back) {
			t.Errorf("%s reads as %+v", b, back)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"n":1,"kind":"turn","member":"a","turn":"t1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var lines []Line
		if json.Unmarshal(b, &lines) != nil {
			return
		}
		Check(lines)
		Step(Fold("r", lines), Event{})
	})
}
