package attempt

import (
	"time"

	"cmux/agents/kinds/news"
)

// shells remembers when commands of the agent's shell ran, for later questions.
type shells struct {
	open map[string]time.Time // by id of the call: since when
	past []span               // closed, in the order of their ends
}

type span struct{ from, to time.Time }

const (
	maxSpans = 256
	// coarse is how far the times of files lag behind the clock.
	coarse = 20 * time.Millisecond
)

// hear processes an event about a command.
func (s *shells) hear(e news.Event, now time.Time) {
	switch e := e.(type) {
	case news.ShellBegan:
		if s.open == nil {
			s.open = make(map[string]time.Time)
		}
		if _, known := s.open[e.ID]; !known {
			s.open[e.ID] = now
		}
	case news.ShellEnded:
		if from, known := s.open[e.ID]; known {
			delete(s.open, e.ID)
			s.close(from, now)
		}
	case news.TurnEnded:
		if e.Background == 0 {
			s.rest(now)
		}
	case news.Faltered, news.LimitMet:
		s.rest(now)
	}
}

// rest records that no command runs any more.
func (s *shells) rest(now time.Time) {
	for _, from := range s.open {
		s.close(from, now)
	}
	clear(s.open)
}

func (s *shells) close(from, to time.Time) {
	if n := len(s.past); n > 0 && !from.After(s.past[n-1].to) {
		if last := &s.past[n-1]; from.Before(last.from) {
			last.from = from
		}
		s.past[n-1].to = to
		return
	}
	if len(s.past) == maxSpans {
		s.past = append(s.past[:0], s.past[1:]...)
	}
	s.past = append(s.past, span{from, to})
}

// at reports whether a command ran when a file got the time t.
func (s *shells) at(t time.Time) bool {
	within := func(from, to time.Time) bool { return !t.Add(coarse).Before(from) && !t.After(to) }
	for _, p := range s.past {
		if within(p.from, p.to) {
			return true
		}
	}
	for _, from := range s.open {
		if within(from, t) {
			return true
		}
	}
	return false
}
