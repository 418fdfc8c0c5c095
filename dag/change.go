package dag

import "time"

// ChangeKind says what happened.
type ChangeKind uint8

const (
	// Began: the wrapper of an attempt really runs, since At.
	Began ChangeKind = iota + 1
	// Active: the Activity, Detail or Until of a live attempt changed.
	// NeedsInput and AtLimit pause it, which gives its slot and its place in
	// the pool back. Any other activity of a paused attempt changes what it is
	// labelled as and nothing else: to go on it Wants a slot.
	Active
	// Wants: a paused attempt asks for a slot to go on. It is Queued until a
	// Grant, and comes before nodes that have not started.
	Wants
	// Regained: a paused or queued attempt has a slot again and works. Step
	// itself does this when it emits a Grant; the change is for the replay of
	// what was recorded, and for an attempt that went on while no runner was
	// there to ask.
	Regained
	// Published: the attempt published Value as Output, for the nodes behind its
	// own.
	Published
	// AttemptEnded: an attempt ended with Outcome Done, Failed or Cancelled.
	// Cancelled, and Failed for ReasonBudget, also end a node that has not
	// started; Failed with ReasonLost one that is held because it was lost.
	AttemptEnded
	// Vanished: an attempt is gone and left no record of its end. While the
	// run is stopped it is neither counted nor held: a person ended it.
	Vanished // the last change that is about one attempt
	// Overridden: a person's word. Outcome Override (or Done, a gate's
	// approval) is success, Failed is failure by hand, with Exit and, when it
	// is not ReasonByHand, Reason. On a live node the attempt goes on outside
	// the slots and its end changes nothing more.
	Overridden
	// Reset: the node begins a new life: its end, tries, losses and backoff
	// are forgotten. On a live node it does nothing; end the attempt first.
	Reset
	// AccountLimited: nodes of Account neither start nor go on before Until, or
	// the later one that was said before; a zero Until lasts until AccountFree.
	// After it one node at a time gets a slot, on Trial, those that met the
	// limit before new ones, until AccountFree says that the account works.
	AccountLimited
	AccountFree
	// Stop: nothing starts and nothing is granted until Resume.
	Stop
	Resume
	// Tick moves the State's clock on to At, never back. Nothing else moves
	// it: the runner puts a Tick at the head of its changes, and gives one
	// when NextWake is due.
	Tick
)

// Change is something that happened to a run.
type Change struct {
	Kind ChangeKind
	Node int // index; unused by account and run changes
	// Attempt is which attempt of Node, counted from 1; 0: the newest known. A
	// change of an older one is ignored; one that no Start of this State
	// announced (an earlier runner launched it) is taken in as running first.
	Attempt int

	Outcome Outcome // AttemptEnded, Overridden
	Exit    int
	Reason  Reason

	Activity Activity // Active
	Detail   string   // one line for people
	Trial    bool     // Began, Regained: as in the Effect
	Source   string   // where it is known from: record, marker, lock, hook, runner

	Output, Value string // Published

	Account string    // AccountLimited, AccountFree
	Until   time.Time // AccountLimited; Active with AtLimit
	At      time.Time // when it happened
}

// EffectKind says what is to be done.
type EffectKind uint8

const (
	Start   EffectKind = iota + 1 // launch Attempt of Node; it counts as Running from here on
	Grant                         // tell the Queued Attempt of Node to go on
	Block                         // record 99 for Node, blocked by Cause; replaces an earlier Cause
	Unblock                       // withdraw the 99 of Node, or that it is skipped; not given when the node got an end of its own
	Skip                          // record that Node does not start; no failure
	Cancel                        // end Node, as another of its matrix failed: AttemptEnded with Cancelled comes of it
	Open                          // gate Node waits for a person from now on
)

func (k EffectKind) String() string {
	return [...]string{"none", "start", "grant", "block", "unblock", "skip", "cancel", "open"}[k]
}

// Effect is something the runner is to do.
type Effect struct {
	Kind    EffectKind
	Node    int
	Attempt int  // Start, Grant: counted from 1 over all lives of the node
	Cause   int  // Block: the first dependency, in depends_on order, that is not a success
	Trial   bool // Start, Grant: it finds out whether its account's limit is over
}
