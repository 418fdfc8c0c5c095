package dag

import "time"

// Phase is the state of a node by its own recorded facts alone; nothing in it is derived
// from other nodes.
type Phase uint8

const (
	Idle    Phase = iota // no live attempt, no valid end
	Running              // an attempt is alive and holds a slot
	Paused               // an attempt is alive and freed its slot (needs input, limited)
	Queued               // an attempt is alive and asks for a slot to continue
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

// Reason is why cmux called an attempt failed; empty if the program's own exit code is the
// reason.
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
	ReasonReported   Reason = "reported"  // the agent reported that it is blocked, and nobody could answer
	ReasonNoReport   Reason = "no report" // it ended or stopped working without a report
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
	Resting                    // of a standing agent: idle at its prompt; nodes never rest
)

// Fact is everything recorded about one node, folded from its records, its marker and the
// liveness of its attempt. Step and Labels read nothing else.
type Fact struct {
	Phase   Phase
	Outcome Outcome
	Exit    int    // exit code when Failed; 1 with a Reason
	Reason  Reason // why, when Failed
	Detail  string // one line for people: the question, or which check failed

	Attempts  int       // attempts ever started
	Tries     int       // failed attempts counted against Retries.Max since the last reset
	Losses    int       // times the attempt vanished since the last reset
	NotBefore time.Time // backoff: earliest start
	Lost      bool      // Idle because the attempt vanished
	Broken    bool      // Lost while the run was stopped: a person ended the attempt
	Held      bool      // Lost and waiting for a person: on_lost: ask, or too many losses

	Outputs Outputs // published since the last reset

	Doomed bool // will be cancelled: another node of its matrix has failed

	StillOpen bool      // after a person's marker, the attempt continues without a slot
	Trial     bool      // Running, to find out whether its account's limit is over
	Activity  Activity  // of a live attempt
	Until     time.Time // AtLimit: when it continues; zero: unknown

	StartedAt time.Time // of the newest attempt
	EndedAt   time.Time
	Source    string    // how cmux knows the newest fact: record, marker, lock, hook, runner
	At        time.Time // when it was recorded
}

// Live reports whether an attempt of the node is alive, counted or not.
func (f *Fact) Live() bool {
	return f.Phase == Running || f.Phase == Paused || f.Phase == Queued || f.StillOpen
}

// MaxLosses is how often cmux restarts a vanished attempt before it asks a person.
const MaxLosses = 3

// WillRetry reports whether cmux itself starts another attempt after one that ended with
// outcome o for reason r, given the failed tries before it. The wrapper calls it before it
// writes a marker, and Step before it ends a node. cmux never retries a merge conflict,
// because equal inputs conflict again; nor a node over its budget, which stays spent; nor a
// node that was lost too often, which MaxLosses bounds.
func (n *Node) WillRetry(o Outcome, r Reason, tries int) bool {
	return o == Failed && r != ReasonConflict && r != ReasonBudget && r != ReasonLost && tries < n.Retries.Max
}

// WillRedo reports whether cmux itself starts another attempt after a vanished one, given
// the losses since the last reset, including this one.
func (n *Node) WillRedo(losses int) bool { return n.OnLost != Ask && losses <= MaxLosses }

// begun reports whether an Idle node is between two attempts of one life. Its join was
// decided at the first attempt and does not block it again. While a dependency runs again,
// the node waits. A reset begins a new life.
func (f *Fact) begun() bool { return f.Tries > 0 || f.Losses > 0 || f.Lost }

// Facts is the input of Rebuild.
type Facts struct {
	Nodes   []Fact               // by node index
	Limits  map[string]time.Time // account -> limited until; kept after that time until AccountFree; zero: no known end
	Stopped bool                 // stop without a name: nothing starts until resume
	Now     time.Time            // the scheduler's clock; Tick moves it
}
