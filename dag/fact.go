package dag

import "time"

// Phase is where a node stands, by its own recorded facts alone: nothing in
// it is derived from other nodes.
type Phase uint8

const (
	Idle    Phase = iota // no attempt alive, no end that counts
	Running              // an attempt is alive and holds a slot
	Paused               // an attempt is alive and gave its slot back (needs input, limited)
	Queued               // an attempt is alive and asks for a slot to go on
	Ended                // Outcome says how
)

// Outcome is how a node ended.
type Outcome uint8

const (
	NoOutcome Outcome = iota
	Done              // marker 0, written by cmux
	Override          // a person's empty or 0 marker, approve, override
	Failed            // any other end; Reason and Exit say which
	Cancelled         // marker 130, by stop NAME
)

// Success reports whether the outcome counts as success for dependents.
func (o Outcome) Success() bool { return o == Done || o == Override }

// Reason is why cmux itself called an attempt failed; empty when the
// program's own exit code is the reason.
type Reason string

const (
	ReasonExit       Reason = ""
	ReasonTimeout    Reason = "timeout"
	ReasonChecks     Reason = "checks"
	ReasonScope      Reason = "scope"
	ReasonConflict   Reason = "conflict"
	ReasonSetup      Reason = "setup"
	ReasonBudget     Reason = "budget"
	ReasonIdle       Reason = "idle"
	ReasonLost       Reason = "lost"
	ReasonOnComplete Reason = "on_complete"
	ReasonReported   Reason = "reported"  // it said that it is blocked, and nobody could answer
	ReasonNoReport   Reason = "no report" // it ended, or stopped working, and said nothing
	ReasonBadMarker  Reason = "bad marker"
	ReasonByHand     Reason = "by hand"
)

// Activity is what a live attempt is doing.
type Activity uint8

const (
	Working    Activity = iota // label "running"
	Checking                   // "checking"
	NeedsInput                 // "needs input"
	TakenOver                  // "taken over"
	AtLimit                    // "limited until HH:MM"
	SettingUp                  // "running", setup steps
	Resting                    // of a standing agent: at its prompt, without a turn; no node rests
)

// Fact is everything recorded about one node: the fold of its records, its
// marker and the liveness of its attempt. Step and Labels see nothing else.
type Fact struct {
	Phase   Phase
	Outcome Outcome
	Exit    int    // exit code when Failed; 1 with a Reason
	Reason  Reason // why, when Failed
	Detail  string // one line for people: what is asked, which check failed

	Attempts  int       // attempts ever started
	Tries     int       // failed attempts counted against Retries.Max since the last reset
	Losses    int       // times the attempt vanished since the last reset
	NotBefore time.Time // backoff: no start before it
	Lost      bool      // Idle because the attempt vanished
	Held      bool      // Lost and waiting for a person: on_lost: ask, or lost too often

	Outputs Outputs // that it has published since the last reset

	Doomed bool // to be cancelled: another node of its matrix has failed

	StillOpen bool      // the attempt goes on outside the slots after a person's marker
	Trial     bool      // Running, to find out whether its account's limit is over
	Activity  Activity  // of a live attempt
	Until     time.Time // AtLimit: when it wakes; zero when not stated

	StartedAt time.Time // of the newest attempt
	EndedAt   time.Time
	Source    string    // where the newest fact came from: record, marker, lock, hook, runner
	At        time.Time // when it was recorded
}

// Live reports whether an attempt of the node is alive, counted or not.
func (f *Fact) Live() bool {
	return f.Phase == Running || f.Phase == Paused || f.Phase == Queued || f.StillOpen
}

// MaxLosses is how often a vanished attempt is redone before a person is asked.
const MaxLosses = 3

// WillRetry reports whether an attempt that ended with outcome o for reason r
// is followed by another one without a person, given the failed tries before
// it. The wrapper asks it before it writes a marker, and Step before it ends a
// node. A merge conflict is never retried, as equal inputs conflict again, nor
// is a node that is over a budget, as that stays used, nor one that was lost too
// often, which has a bound of its own.
func (n *Node) WillRetry(o Outcome, r Reason, tries int) bool {
	return o == Failed && r != ReasonConflict && r != ReasonBudget && r != ReasonLost && tries < n.Retries.Max
}

// WillRedo reports whether a vanished attempt is followed by another one
// without a person, given the losses since the last reset, this one included.
func (n *Node) WillRedo(losses int) bool { return n.OnLost != Ask && losses <= MaxLosses }

// begun reports whether an Idle node is between two attempts of one life: its
// join was judged when the first one started and blocks it no more, but while a
// dependency is done again it waits. A reset begins a new life.
func (f *Fact) begun() bool { return f.Tries > 0 || f.Losses > 0 || f.Lost }

// Facts is what a run is rebuilt from.
type Facts struct {
	Nodes   []Fact               // by node index
	Limits  map[string]time.Time // account -> limited until, also when that is past and nobody has said that it is free; zero: no end is known
	Stopped bool                 // stop without a name: nothing starts until resume
	Now     time.Time            // the scheduler's clock; Tick moves it on
}
