package room

import "testing"

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
