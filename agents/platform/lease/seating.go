package lease

import "cmux/agents/platform/settings"

// Seating is which agents of a run, or of an organization, have seats, where a person
// bounds how many agents work at once (max_agents). Where seats cannot be had, nobody
// is kept from working. The zero Seating bounds nothing. It is for one goroutine.
type Seating struct {
	pool *Seats            // nil: there are none to be had
	most int               // 0: no bound
	has  map[string]*Lease // by agent
	warn func(error)
}

// OpenSeating returns the seats as the agents of one run take them. What goes wrong is
// told to warn.
func OpenSeating(by Holder, warn func(error)) *Seating {
	pool, err := OpenSeats(by)
	if err != nil {
		warn(err)
		pool = nil
	}
	return &Seating{pool: pool, has: make(map[string]*Lease), warn: warn}
}

// Dir is the folder in which something happens when a seat becomes free; empty: there
// are no seats.
func (s *Seating) Dir() string {
	if s.pool == nil {
		return ""
	}
	return s.pool.Dir()
}

// Look reads how many agents may work. waits says that an agent still waits for a
// seat: otherwise the run leaves the line.
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

// Take takes a seat for an agent that has none, or says why there is none for it.
// held: it works already.
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

// Keep gives back the seats of agents that do not work any more.
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

// Leave has the run leave the line: none of its agents waits for a seat.
func (s *Seating) Leave() { s.pool.Leave() }

// Close gives up what this process has; wrappers that are at work keep their seats.
func (s *Seating) Close() {
	s.Keep(func(string) bool { return false })
	if s.pool != nil {
		s.pool.Leave()
	}
}
