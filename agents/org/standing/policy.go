package standing

import (
	"strings"
	"time"

	"cmux/dag"
)

const (
	// crashWindow is the time in which keptDeaths deaths are a crash loop, although
	// the agent did something in between.
	crashWindow = 3 * time.Minute
	// pauseWindow is the time in which deaths make the pause before the next start
	// longer.
	pauseWindow = time.Minute
	// longLife is how long a life lasts that counts as a success.
	longLife = time.Hour
)

// Due is the next action on an agent's life.
type Due uint8

const (
	Rest  Due = iota // nothing: it lives, or is not wanted
	Begin            // its next life
	Wait             // its next life, a little later
	Stuck            // nothing before a person says so: it dies as soon as it lives
)

// Due returns the action that is due at now, and for Wait the time at which it is
// due. It trusts the records: a life that they call on counts as on.
func (s *State) Due(now time.Time) (Due, time.Time) {
	switch {
	case s.Born.IsZero(), s.Leaving != "", s.Stopped, s.Life.On(), s.InRoom() && !s.Wanted:
		return Rest, time.Time{}
	case s.Resetting != "": // its request comes before its next life
		return Wait, now.Add(50 * time.Millisecond)
	case s.InRoom() && s.Held == "": // its room says when
		return Begin, time.Time{}
	case s.Crashing(), s.Held != "":
		return Stuck, time.Time{}
	}
	if at := s.again(); now.Before(at) {
		return Wait, at
	}
	return Begin, time.Time{}
}

// Crashing reports whether the agent died so often in a row that starting it again
// would only cost: keptDeaths times within crashWindow, or in whatever time if no
// life in between did anything. A person ends that, by starting it again.
func (s *State) Crashing() bool {
	n := len(s.Deaths)
	if n < keptDeaths {
		return false
	}
	first := s.Deaths[n-keptDeaths]
	d := s.Deaths[n-1].Sub(first)
	return 0 <= d && d < crashWindow || !s.fruit.After(first)
}

// again is when the next life may begin: at once after one death, later and
// later after several in a short time.
func (s *State) again() time.Time {
	n := len(s.Deaths)
	if n == 0 {
		return time.Time{}
	}
	last, recent := s.Deaths[n-1], 0
	for _, at := range s.Deaths {
		if d := last.Sub(at); 0 <= d && d < pauseWindow {
			recent++
		}
	}
	if recent < 2 {
		return last
	}
	return last.Add(time.Second << (recent - 2))
}

// Word says in a word or two how the agent stands, and the line beside it why.
type Word string

// The words. They are the same as those for nodes where they mean the same.
const (
	Starting   Word = "starting"
	Idle       Word = "idle"
	Working    Word = "working"
	Checking   Word = "checking"
	NeedsInput Word = "needs input"
	TakenOver  Word = "taken over"
	Limited    Word = "limited"
	Down       Word = "down" // until it is started again, which the monitor does
	Stopped    Word = "stopped"
	Going      Word = "going" // it is being removed
)

// Stands is how the agent stands by its records. org says that the whole
// organization is stopped.
func (s *State) Stands(now time.Time, org bool) (w Word, detail string) {
	due, _ := s.Due(now)
	switch {
	case s.Leaving != "":
		return Going, s.Leaving
	case s.Life.On():
		if w, detail = s.alive(); w == Idle {
			if _, why := s.Spent(now); why != "" {
				return Limited, why
			}
		}
		return w, detail
	case s.Stopped, org:
		return Stopped, ""
	case s.Held != "":
		return NeedsInput, s.Held
	case due == Stuck:
		return NeedsInput, "it ended five times in a row and is not started again: " + s.ended()
	case s.Life.N == 0:
		return Down, "it was not started yet"
	}
	return Down, s.ended()
}

func (s *State) ended() string {
	if s.Life.Detail != "" {
		return s.Life.Detail
	}
	return s.Life.How
}

// Posed are the ids of the messages by which agents put the questions that they wait
// for: each waits for the person once, as its agent's.
func (o *Org) Posed(now time.Time) map[string]bool {
	ids := make(map[string]bool)
	for _, a := range o.Agents {
		if w, _ := a.Stands(now, o.Stopped); w == NeedsInput && a.Question != nil {
			ids[a.Question.Message] = true
		}
	}
	return ids
}

// askedWhom begins the detail of an agent that asked somebody by message and
// waits for the answer.
const askedWhom = "asked "

// WantsPerson reports whether an agent that stands so waits for a person: not for another
// agent's answer.
func WantsPerson(w Word, detail string) bool {
	whom, asked := strings.CutPrefix(detail, askedWhom)
	whom, _, _ = strings.Cut(whom, ":")
	return w == NeedsInput && (!asked || whom == "user")
}

// asks reports whether it only waits for the answer to a message, at its prompt
// and without a task: it can be given one.
func (s *State) asks() bool {
	return s.Life.On() && s.Work == nil && s.Activity == dag.NeedsInput && strings.HasPrefix(s.Detail, askedWhom)
}

func (s *State) alive() (Word, string) {
	switch {
	case s.Life.Began.IsZero():
		return Starting, s.Detail
	case s.Activity == dag.Checking:
		return Checking, s.Detail
	case s.Activity == dag.NeedsInput:
		return NeedsInput, s.Detail
	case s.Activity == dag.TakenOver:
		return TakenOver, s.Detail
	case s.Activity == dag.AtLimit:
		return Limited, s.Detail
	case s.Activity == dag.SettingUp:
		return Starting, s.Detail
	case s.Activity == dag.Resting && s.Waits != "":
		return Idle, "its next task waits: " + s.Waits
	case s.Activity == dag.Resting:
		return Idle, s.Detail
	}
	return Working, s.Detail
}
