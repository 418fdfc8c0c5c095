package lease

import "cmux/agents/platform/settings"

// A Seating holds the seats of the agents of one run or organization, if the person
// bounds how many agents work at once (max_agents). If the folder of the seats cannot
// be used, it bounds nothing, as the zero Seating does. It is for one goroutine.
type Seating struct {
	pool *Seats            // nil: there are none to be had
	most int               // 0: no bound
	has  map[string]*Lease // by agent
	warn func(error)
}

// OpenSeating returns a Seating without seats taken. It passes errors to warn.
func OpenSeating(by Holder, warn func(error)) *Seating {
	pool, err := OpenSeats(by)
	if err != nil {
		warn(err)
		pool = nil
	}
	return &Seating{pool: pool, has: make(map[string]*Lease), warn: warn}
}

// Dir returns the folder that changes when a seat becomes free, or "" if there are no
// seats.
func (s *Seating) Dir() string {
	if s.pool == nil {
		return ""
	}
	return s.pool.Dir()
}

// Look reads how many agents may work. If no agent waits for a seat, the run leaves
// the line.
func (s *Seating) Look(waits bool) {
	if s.pool == nil {
		return
	}
	if user, err := settings.Read(); err != nil {
		s.warn(err) // what held before holds on
	} else {
		s.most = user.MaxAgents
	}
	if waits {
		s.pool.Waits()
	} else {
		s.pool.Leave()
	}
}

// Bounded reports whether only so many agents may work.
func (s *Seating) Bounded() bool { return s.pool != nil && s.most > 0 }

// Take takes a seat for an agent that has none, or returns why there is none for it.
// held: the agent works already.
func (s *Seating) Take(agent string, held bool) (why string) {
	if s.has[agent] != nil {
		return ""
	}
	l, why, err := s.pool.Sit(s.most, agent, held)
	if err != nil {
		s.warn(err)
		return ""
	}
	if l != nil {
		s.has[agent] = l
	}
	return why
}

// Keep gives back the seats of agents that no longer work.
func (s *Seating) Keep(works func(agent string) bool) {
	for agent, l := range s.has {
		if works(agent) {
			continue
		}
		if err := ReturnSeat(l); err != nil { // a wrapper at work keeps it
			s.warn(err)
		}
		delete(s.has, agent)
	}
}

// Leave takes the run out of the line: none of its agents waits for a seat. There is
// a bound.
func (s *Seating) Leave() { s.pool.Leave() }

// Close gives back the seats of this process. Wrappers at work keep theirs.
func (s *Seating) Close() {
	s.Keep(func(string) bool { return false })
	if s.pool != nil {
		s.pool.Leave()
	}
}
