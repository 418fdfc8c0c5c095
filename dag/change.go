package dag

import "time"

// ChangeKind says what happened.
type ChangeKind uint8

const (
	// Began: the program of an attempt has started, at At.
	Began ChangeKind = iota + 1
	// Active: the Activity, Detail or Until of a live attempt changed. NeedsInput and
	// AtLimit pause the attempt, which frees its slot and its place in the pool. Any other
	// activity of a paused attempt only changes its label: to continue, the attempt needs a
	// Wants.
	Active
	// Wants: a paused attempt asks for a slot to continue. It is Queued until a Grant, and
	// precedes nodes that have not started.
	Wants
	// Regained: a paused or queued attempt has a slot again and works. Step makes this
	// change itself when it emits a Grant. The Kind exists to replay records, and for an
	// attempt that continued while no runner was there to ask.
	Regained
	// Published: the attempt published Value as Output, for the dependents of its node.
	Published
	// AttemptEnded: an attempt ended with Outcome Done, Failed or Cancelled. Cancelled, and
	// Failed with ReasonBudget, also end a node that has not started. Failed with
	// ReasonLost also ends a node that is held because its attempt was lost.
	AttemptEnded
	// Vanished: an attempt is gone and left no record of its end. While the run is stopped,
	// the loss is not counted and the node is not held: a person ended the attempt.
	Vanished // the last change that is about one attempt
	// Overridden: a person decided. Outcome Override (or Done, when a person approves a
	// gate) is success. Failed is failure by hand, with Exit and, unless it is
	// ReasonByHand, Reason. On a live node, the attempt continues without a slot and its
	// end changes nothing more.
	Overridden
	// Reset: the node begins a new life and forgets its end, tries, losses and backoff. On
	// a live node it does nothing; end the attempt first.
	Reset
	// AccountLimited: nodes of Account neither start nor continue before Until. If an
	// earlier change gave a later time, that one counts. A zero Until lasts until
	// AccountFree. After Until, one node at a time gets a slot, on Trial, until AccountFree
	// says that the account works. Nodes that met the limit precede new ones.
	AccountLimited
	AccountFree
	// Stop: nothing starts and nothing is granted until Resume.
	Stop
	Resume
	// Tick moves the State's clock forward to At, never back. Nothing else moves the clock:
	// the runner puts a Tick before its other changes, and sends one when NextWake is due.
	Tick
)

// Change is something that happened to a run.
type Change struct {
	Kind ChangeKind
	Node int // index; unused by account and run changes
	// Attempt is the number of Node's attempt, from 1; 0: the newest known. A change of an
	// older attempt is ignored. If no Start of this State announced the attempt (an earlier
	// runner launched it), the State first records it as running.
	Attempt int

	Outcome Outcome // AttemptEnded, Overridden
	Exit    int
	Reason  Reason

	Activity Activity // Active
	Detail   string   // one line for people
	Trial    bool     // Began, Regained: as in the Effect
	Source   string   // how cmux knows: record, marker, lock, hook, runner

	Output, Value string // Published

	Account string    // AccountLimited, AccountFree
	Until   time.Time // AccountLimited; Active with AtLimit
	At      time.Time // when it happened
}

// EffectKind is what the runner must do.
type EffectKind uint8

const (
	Start   EffectKind = iota + 1 // launch Attempt of Node, which counts as Running from now on
	Grant                         // tell the Queued Attempt of Node to continue
	Block                         // record 99 for Node, blocked by Cause; replaces an earlier Cause
	Unblock                       // withdraw the 99 or the skip of Node; not emitted when the node got an end of its own
	Skip                          // record that Node does not start; no failure
	Cancel                        // end Node, because another node of its matrix failed; leads to AttemptEnded with Cancelled
	Open                          // gate Node waits for a person from now on
)

func (k EffectKind) String() string {
	return [...]string{"none", "start", "grant", "block", "unblock", "skip", "cancel", "open"}[k]
}

// Effect is something that the runner must do.
type Effect struct {
	Kind    EffectKind
	Node    int
	Attempt int  // Start, Grant: counted from 1 over all lives of the node
	Cause   int  // Block: the first dependency, in depends_on order, that is not a success
	Trial   bool // Start, Grant: the attempt finds out whether its account's limit is over
}
