package standing

import (
	"maps"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/question"
	"cmux/agents/org/seat"
	"cmux/agents/runs/run"
	"cmux/agents/runs/shares"
	"cmux/dag"
)

// Keys of Noted records, by which the Keeper remembers what it is about.
const (
	keyLeaving   = "leaving"   // the agent is to be removed
	keyResetting = "resetting" // its next life is to begin a new conversation
	keyWaits     = "waits"     // it cannot begin with its next task yet: Detail is why; empty: it can
	keySpent     = "spent"     // its budget of the day is spent until Until: Detail is which; empty: there is one
	keyHeld      = "held"      // it is not started before a person says how: Detail is why
	keyAway      = "away"      // what was not committed on the branch Value was saved as the snapshot Request; empty: it is back
	keyWanted    = "wanted"    // of a room's member: Value "yes": its next life is to begin; empty: its life is to end
	keyRelaunch  = "relaunch"  // the life that the record is of is to end, and the next one to begin
)

// Life is what one wrapper process carries, or carried, of an agent.
type Life struct {
	N       int       `json:"n"` // from 1; 0: there was none
	Started time.Time `json:"started_at,omitzero"`
	Began   time.Time `json:"began_at,omitzero"` // its wrapper lived
	Ended   time.Time `json:"ended_at,omitzero"`
	How     string    `json:"how,omitempty"` // it ended
	Detail  string    `json:"detail,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Start   uint64    `json:"-"` // of PID, in the kernel's ticks
	Pane    string    `json:"pane,omitempty"`
}

// On reports whether the life has not ended, as far as the records know.
func (l *Life) On() bool { return l.N > 0 && l.Ended.IsZero() }

// Finished is a piece of work that is over.
type Finished struct {
	Work    string    `json:"work"`
	Attempt int       `json:"attempt,omitempty"` // of the task
	End     run.End   `json:"end"`
	At      time.Time `json:"at"`
}

// Limit is what an agent found out about its account last.
type Limit struct {
	Account string
	Free    bool      // it works again
	Until   time.Time // it is at a limit until then
	Said    string    // by the program
	At      time.Time
}

// State is what the records of an agent say.
type State struct {
	Member  run.Member
	Born    time.Time // when the agent was made; zero: not made yet
	Request string    // by which
	Life    Life

	Conversation string // that its next life goes on in; empty: it begins a new one
	Activity     dag.Activity
	Detail       string // of the activity, such as a question
	Question     *question.Question
	Asked        string    // names that question, known as data or not; empty: it asks nothing
	Until        time.Time // of a limit
	Since        time.Time // the activity is as it is

	Work    *run.Work // that it was given and that is not over; nil: none
	Told    bool      // it is known to have been told of Work
	Branch  string    // of the newest piece of work
	GivenAt time.Time
	Last    *Finished // nil: none yet
	Tasks   int       // pieces of work that are over since the last reset
	Resets  int
	ResetAt time.Time

	Context     run.Context // what of its context window is in use
	Compactions int         // that its program confirmed
	Compaction  *Compaction // the newest of the conversation; nil: there was none

	Limit *Limit // nil: it met none
	Waits string // why it cannot begin with its next task yet; empty: nothing is in the way

	Used    dag.Usage // in all lives
	spent   spending
	Deaths  []time.Time
	fruit   time.Time // when a life last did something: the model answered, or the life was long
	Stopped bool      // by a person, until they want it again

	Read []string // ids of messages that it has read, the newest last

	Leaving     string    // why it is to be removed; empty: it stays
	Resetting   string    // the request by which it is to be reset; empty: it is not
	Broken      string    // which budget of a day was spent; empty: none
	BrokenUntil time.Time // when that day ends
	Held        string    // why it is not started before a person says how; empty: it is

	Midway bool // it is in a turn, or its last life ended in one that it has not come back to

	Left bool // its program ended too often, and its wrapper waits for a person

	answers    []string          // ids of the messages that it has read since a turn ended
	posed      *question.Posed   // that it waits for the answer to, over its lives
	away       map[string]string // by branch: the snapshot of what was not committed when its work was put back
	relaunch   int               // the life that is to end so that the next one begins
	relaunchBy string            // the request for that
	place      run.Place         // of the life
	past       dag.Usage         // of the lives before this one
	talk       talkUse
	foreign    int // up to this life, no conversation counts any more
	seat.Seat      // in a room
}

// keptDeaths is how many deaths are remembered: as many as make a crash loop.
const keptDeaths = 5

// Apply takes the next record in.
func (s *State) Apply(rec *run.Record) {
	switch rec.Type {
	case run.Joined:
		s.joined(rec)
	case run.Started, run.Began:
		s.lives(rec)
	case run.Active:
		if rec.Attempt == s.Life.N {
			s.active(rec.At, rec.Activity, rec.Detail)
			s.turns(rec.Activity, rec.Detail)
			s.Spoken = false
			s.Question, s.Until, s.Left = rec.Question, rec.Until, rec.How == run.HowLeft
			if rec.Activity == dag.NeedsInput {
				s.Asked = question.ID(rec.At, rec.Detail)
			}
		}
	case run.Conversed:
		if rec.Attempt > s.foreign && rec.Conversation != "" {
			s.talksIn(rec.Conversation)
		}
	case run.Given:
		s.Work, s.GivenAt, s.Branch, s.Waits, s.Told = rec.Work, rec.At, rec.Work.Place.Branch, "", false
	case run.Told:
		s.Told = s.Told || s.Work != nil && s.Work.ID == rec.Key
	case run.Limited, run.Freed:
		s.Limit = &Limit{rec.Account, rec.Type == run.Freed, rec.Until, rec.Detail, rec.At}
	case run.WorkEnded:
		s.workEnded(rec)
	case run.Confirmed:
		s.reads(rec.Key)
		if s.InRoom() {
			s.Took(rec)
			s.Sits(s.Life.N, s.Conversation)
		}
	case run.Replied:
		s.answers = nil
		if s.InRoom() {
			s.Replied(rec, s.past.Plus(rec.Used).Counted())
			s.Sits(s.Life.N, s.Conversation)
		}
	case run.Posed:
		if rec.Attempt > s.foreign {
			s.posed = rec.Posed
		}
	case run.Filled:
		if rec.Attempt == s.Life.N {
			s.Context = *rec.Context
		}
	case run.Compacting, run.Compacted:
		s.compacts(rec)
	case run.Used:
		if rec.Attempt == s.Life.N {
			s.fruit = rec.At
			s.spends(rec.At, s.past.Plus(rec.Used))
		}
	case run.Vanished:
		s.died(rec, rec.How, rec.Detail)
	case run.AttemptEnd:
		if rec.Attempt > s.foreign && rec.End.Conversation != "" {
			s.talksIn(rec.End.Conversation)
		}
		s.died(rec, "ended", rec.End.Label().String())
	case run.Reset:
		s.Conversation, s.foreign, s.Midway, s.answers = "", max(s.foreign, s.Life.N), false, nil
		s.Context, s.Compaction, s.posed = run.Context{}, nil, nil
		s.Tasks, s.Resets, s.ResetAt, s.Resetting, s.Held = 0, s.Resets+1, rec.At, "", ""
	case run.Stopped:
		s.Stopped = true
	case run.Resumed:
		s.Stopped, s.Deaths, s.Held = false, nil, ""
	case run.Noted:
		switch rec.Key {
		case keyLeaving:
			s.Leaving = rec.Detail
		case keyResetting:
			s.Resetting = rec.Request
		case keySpent:
			s.Broken, s.BrokenUntil = rec.Detail, rec.Until
		case keyHeld:
			s.Held = rec.Detail
		case keyWanted:
			if s.Wants(rec); s.Dropped {
				s.Midway, s.answers = false, nil
			}
		case keyRelaunch:
			s.relaunch, s.relaunchBy = rec.Attempt, rec.Request
		case keyWaits:
			s.Waits = rec.Detail
		case keyAway:
			s.puts(rec.Value, rec.Request)
		}
	}
}

func (s *State) joined(rec *run.Record) {
	if rec.Member == nil {
		return
	}
	if s.Born.IsZero() {
		s.Born, s.Request = rec.At, rec.Request
	}
	s.Member = *rec.Member
}

func (s *State) active(at time.Time, a dag.Activity, detail string) {
	s.Activity, s.Detail, s.Since = a, detail, at
	s.Question, s.Asked, s.Until, s.Left = nil, "", time.Time{}, false
}

// turns takes in what an activity says of its turn: whatever else it does, a question
// for one, it does in the middle of it. Who took it over sees what becomes of that.
func (s *State) turns(a dag.Activity, detail string) {
	switch {
	case a == dag.Working, a == dag.Checking:
		s.Midway = true
	case a == dag.Resting, a == dag.TakenOver, a == dag.NeedsInput && strings.HasPrefix(detail, askedWhom):
		s.Midway, s.answers = false, nil
	}
}

// lost is how its last life ended, if nobody had ordered that; empty: somebody had.
func (s *State) lost() string {
	if s.Life.N == 0 || s.Life.How == run.HowStopped {
		return ""
	}
	return s.ended()
}

// lives takes in that a life was started, or that its wrapper lives.
func (s *State) lives(rec *run.Record) {
	if rec.Attempt < s.Life.N || rec.Attempt == s.Life.N && !s.Life.On() {
		return // a copy, or late
	}
	if rec.Attempt > s.Life.N {
		again := ""
		if how := s.lost(); how != "" {
			again = run.Revival + how
		}
		s.Life, s.place = Life{N: rec.Attempt, Started: rec.At}, run.Place{Slot: shares.NoSlot}
		if rec.Place != nil {
			s.place = *rec.Place
		}
		s.past, s.talk = s.Used, talkUse{past: s.counted()}
		s.active(rec.At, dag.SettingUp, again)
	}
	if rec.Type == run.Began {
		s.Life.Began, s.Life.PID, s.Life.Start, s.Life.Pane = rec.At, rec.PID, rec.PIDStart, rec.Pane
	}
}

// died takes in that a life is over. Only what nobody ordered is a death.
func (s *State) died(rec *run.Record, how, detail string) {
	if rec.Attempt != s.Life.N || !s.Life.On() {
		return
	}
	if began := s.Life.Began; !began.IsZero() && rec.At.Sub(began) >= longLife {
		s.fruit = rec.At
	}
	s.Life.Ended, s.Life.How, s.Life.Detail = rec.At, how, detail
	s.Since = rec.At
	s.Ended(how)
	s.Midway = s.Midway && s.relaunch != rec.Attempt // else the watch tells it why it ended
	if how != run.HowStopped {
		s.Deaths = append(s.Deaths, rec.At)
		s.Deaths = slices.Clone(s.Deaths[max(0, len(s.Deaths)-keptDeaths):])
	}
}

func (s *State) workEnded(rec *run.Record) {
	if s.Work == nil || s.Work.ID != rec.Key {
		return // a copy: it is over already
	}
	s.Last = &Finished{Work: rec.Key, Attempt: s.Work.Attempt, End: *rec.End, At: rec.At}
	s.Work, s.GivenAt, s.Told, s.Midway = nil, time.Time{}, false, false
	s.Tasks++
}

// puts takes in that what was not committed on a branch went into a snapshot, or came
// back from there.
func (s *State) puts(branch, snapshot string) {
	away := maps.Clone(s.away)
	if away == nil {
		away = map[string]string{}
	}
	if delete(away, branch); snapshot != "" {
		away[branch] = snapshot
	}
	s.away = away
}

// Protected reports whether only a person may remove the agent.
func (s *State) Protected() bool {
	switch s.Member.Role {
	case Supervisor, ProjectSupervisor, PermanentWorker:
		return true
	}
	return s.Member.Permanent
}
