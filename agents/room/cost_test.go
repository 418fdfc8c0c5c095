package room

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What a message uses is bounded by whom it wakes, the policy and the budget.
func TestCost(t *testing.T) {
	of := func(p Policy, tokens int64) State {
		set := Defaults()
		set.Policy, set.Tokens.Round, set.Moderator = p, tokens, "a"
		return Fold("r", []Line{{N: 1, Kind: KindOpened, Settings: &set}, {N: 2, Kind: KindJoined, Name: "a"}, {N: 3, Kind: KindJoined, Name: "b"}, {N: 4, Kind: KindJoined, Name: "g", Guest: true}})
	}
	for _, c := range []struct {
		policy      Policy
		budget      int64
		to, text    string
		wakes       int
		least, most int64
	}{
		{Everybody, 0, "", "", 2, 1000, 5000},
		{Everybody, 0, "", "@b what?", 1, 502, 5502},
		{Everybody, 0, "b", "what?", 1, 501, 501},
		{Everybody, 2000, "", "", 2, 1000, 2000},
		{Everybody, 500, "", "", 2, 1000, 1000},
		{Once, 0, "", "", 2, 1000, 1000},
		{Mentioned, 0, "", "what?", 0, 0, 0},
		{Moderator, 0, "", "", 1, 500, 5500},
	} {
		s := of(c.policy, c.budget)
		if got := s.Cost(c.to, c.text); len(got.Wakes) != c.wakes || got.Least != c.least || got.Most != c.most {
			t.Errorf("%s %d %q %q: %+v, want %d %d %d", c.policy, c.budget, c.to, c.text, got, c.wakes, c.least, c.most)
		}
	}
}

// What a member says it used does not lift a budget, however much it is, or below nothing.
func TestUsedBeyondMeasure(t *testing.T) {
	for _, used := range []int64{math.MaxInt64, 1 << 62, -5000, math.MinInt64} {
		settings := Defaults()
		settings.Blind, settings.Tokens = false, Tokens{Round: 5000, Day: 5000}
		w := newWorld(byRand{rand.New(rand.NewPCG(1, 1))}, settings, "a", "b", "c")
		w.say(User, "", "go")
		for _, name := range []string{"a", "b"} {
			w.ends(name, Replied{Turn: w.s.member(name).Turn, Text: "yes", Used: used})
		}
		w.ends("c", Replied{Turn: w.s.member("c").Turn, Text: "yes", Used: 4000})
		for _, l := range w.file {
			if l.Used < 0 {
				t.Errorf("of %d are written %d", used, l.Used)
			}
		}
		if used > 0 && (w.s.Round.Used < 5000 || w.s.LastTurn != 3) {
			t.Errorf("%d: %d are used, and turn %d has begun", used, w.s.Round.Used, w.s.LastTurn)
		}
		if c := w.s.Cost("", "and?"); c.Least < 0 || c.Most < c.Least {
			t.Errorf("%d: a question costs %+v", used, c)
		}
		for _, b := range Check(w.file) {
			t.Error(b)
		}
	}
}
