package room

import (
	"slices"
	"time"

	"cmux/agents/room/marks"
)

// Cost is what a message of the person's uses, in tokens without those read from a cache.
type Cost struct {
	Wakes []string `json:"wakes"`
	Least int64    `json:"least"` // the turns that begin by it
	Most  int64    `json:"most"`  // until its round is capped
}

// Cost estimates what a message would use that the person writes now, to all or to one.
func (s *State) Cost(to, text string) Cost {
	c := Cost{Wakes: s.Wakes(User, to, marks.Answer{Pieces: marks.Pieces(text, s.Names())})}
	said := int64(len(text)) / perToken
	for _, name := range c.Wakes {
		c.Least += s.Estimate(name) + said
	}
	c.Most = c.Least
	if to == "" && len(c.Wakes) > 0 && s.Settings.Policy != Once {
		// Each further turn answers what the others have said in the last one.
		all := int64(0)
		var speak []string
		for i := range s.Members {
			if m := &s.Members[i]; !m.Guest && !m.Gone {
				speak = append(speak, m.Name)
				all += m.answer()
			}
		}
		for _, name := range speak {
			m, turns := s.member(name), int64(s.allowance(name))
			if slices.Contains(c.Wakes, name) {
				turns--
			}
			c.Most += turns * (m.answer() + all - m.answer())
		}
	}
	if b := s.Settings.Tokens.Round; b > 0 {
		c.Most = max(c.Least, min(c.Most, b))
	}
	return c
}

// CostOf is what a message uses that wakes members, each for one turn.
func (s *State) CostOf(l Line) Cost {
	c := Cost{Wakes: l.Wakes}
	for _, name := range l.Wakes {
		c.Least += s.Estimate(name) + int64(len(l.Text))/perToken
	}
	c.Most = c.Least
	return c
}

// With is the room with what its members do, for who shows it. It decides nothing.
func (s State) With(all Stood) State {
	s = s.clone()
	for _, one := range all {
		if m := s.member(one.Member); m != nil {
			m.Stand = one.Stand
		}
	}
	return s
}

// Awaits reports whether what a member's records tell of a turn is new to the room.
func (s *State) Awaits(w What) bool {
	switch w := w.(type) {
	case Took:
		t := s.Turn(w.Turn)
		return t != nil && t.Took.IsZero()
	case Replied:
		return s.Turn(w.Turn) != nil
	case Failed:
		return s.Turn(w.Turn) != nil
	}
	return true
}

// Allowed is how long the turn may work before a person is asked.
func (t *Turn) Allowed() time.Duration { return t.allowed }

// Left is how many turns a member may take until it is spent, in a new round or in this one.
func (s *State) Left(name string) int {
	if m := s.member(name); m != nil {
		return s.left(m)
	}
	return 0
}

// Waking are the numbers of the unread messages that wake a member.
func (s *State) Waking(name string) (all []int64) {
	if m := s.member(name); m != nil {
		for _, l := range s.waking(m) {
			all = append(all, l.N)
		}
	}
	return all
}

// Fallen reports whether a member is down because its turns failed.
func (m *Member) Fallen() bool { return m.Fails >= mostFails }
