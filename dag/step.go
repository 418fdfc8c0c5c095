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
	Unblock                       // withdraw the 99 of Node; not given when the node got an end of its own
	Open                          // gate Node waits for a person from now on
)

func (k EffectKind) String() string {
	return [...]string{"none", "start", "grant", "block", "unblock", "open"}[k]
}

// Effect is something the runner is to do.
type Effect struct {
	Kind    EffectKind
	Node    int
	Attempt int  // Start, Grant: counted from 1 over all lives of the node
	Cause   int  // Block: the first dependency, in depends_on order, that is not a success
	Trial   bool // Start, Grant: it finds out whether its account's limit is over
}

// State is a run in the scheduler's eyes: the recorded Facts and what follows
// from them. It is changed in place by Step and is not for concurrent use.
type State struct {
	g     *Graph
	facts []Fact // own facts; everything below but now and stopped follows from them

	now     time.Time
	stopped bool

	accounts map[string]int32 // of the graph's nodes; "" is none of them
	limits   []limit          // by account

	rank  []int32 // position in graph order
	pool  []int32 // by node; 0 is no pool
	pools []places

	account []int32 // by node; -1 is none

	open   []int32 // dependencies that have not ended
	wins   []int32 // dependencies that are successes
	stands []standing
	count  [standings]int
	told   []int32 // what effects have said of the node: a Block's cause, or one of below

	ready  *queue
	queued *queue
	wake   wakes

	dirty   []int32 // to be judged again: a dependency ended or came back
	touched []int32 // may have a Block, Unblock or Open to tell
}

const (
	toldNothing = -1
	toldOpen    = -2
	toldGone    = -3 // a Block whose cause the graph does not have any more
)

// toldBlocked reports whether what was told of a node is that it is blocked.
func toldBlocked(told int32) bool { return told >= 0 || told == toldGone }

// limit is what is known of the limit of an account.
type limit struct {
	known bool // it was met, and not said to be over
	on    bool // known, and until is not past
	until time.Time
	name  string
	lanes []int32 // of both queues
	trial int32   // node that finds out whether it is over, -1: none
	met   int     // nodes that wait for its end, or for a slot to go on
}

// bars reports whether nodes of the account get no slot now: those that have
// not started, and those that go on.
func (l *limit) bars() (start, goOn bool) {
	goOn = l.on || l.trial >= 0
	return goOn || l.known && l.met > 0, goOn
}

type places struct {
	name      string
	used, max int // max 0: no bound
}

func (p *places) full() bool { return p.max > 0 && p.used >= p.max }

// standing is where a node stands among the others.
type standing uint8

const (
	waiting   standing = iota // its join is not decided
	blocked                   // its join cannot be met: ends as 99
	startable                 // asks for a slot
	backoff                   // asks for a slot from NotBefore on
	opened                    // a gate that waits for a person
	held                      // lost, waits for a person
	lingering                 // reset, but the attempt of its earlier life still runs
	running                   // has a slot
	asking                    // paused: needs input
	limited                   // paused: at a limit
	paused                    // paused otherwise
	requeued                  // live, asks for a slot to go on
	succeeded
	failed // or cancelled
	standings
)

func (st standing) ended() bool { return st == succeeded || st == failed || st == blocked }

// Step is Take and Due in one.
func (s *State) Step(changes ...Change) []Effect {
	s.Take(changes...)
	return s.Due()
}

// Take takes changes in, in their order. It costs time in proportion to the
// changes and the dependents of the nodes they end (times a logarithm for the
// queues), whatever the size of the graph. Changes that cannot apply (of an
// older attempt, of a node that is not live) do nothing, so a change may be
// given twice.
func (s *State) Take(changes ...Change) {
	for i := range changes {
		s.apply(&changes[i])
	}
}

// Recorded says that e, a Block or an Open, was carried out before this State
// was made, so that Due gives it again only when it has changed, and withdraws
// what no longer holds. A Cause below 0 is one that the graph does not have.
func (s *State) Recorded(e Effect) {
	s.told[e.Node] = toldOpen
	if e.Kind == Block {
		s.told[e.Node] = int32(e.Cause)
		if e.Cause < 0 {
			s.told[e.Node] = toldGone
		}
	}
	s.touched = append(s.touched, int32(e.Node))
}

func (s *State) apply(c *Change) {
	switch c.Kind {
	case Tick:
		s.tick(c.At)
	case Stop:
		s.stopped = true
	case Resume:
		s.stopped = false
	case AccountLimited:
		if a, ok := s.accounts[c.Account]; ok {
			l := &s.limits[a]
			until := c.Until
			if l.known {
				until = LaterEnd(l.until, until)
			}
			s.endTrial(a)
			s.setLimit(a, until)
		}
	case AccountFree:
		if a, ok := s.accounts[c.Account]; ok {
			s.endTrial(a)
			s.limits[a].known, s.limits[a].on, s.limits[a].until = false, false, time.Time{}
			s.bar(a)
		}
	default:
		if !s.fold(&s.facts[c.Node], c) {
			return
		}
		if c.Kind == Overridden || c.Kind == Reset {
			s.told[c.Node] = toldNothing // it stands in the place of what was told
		}
		s.settle(c.Node)
	}
}

// fold takes a change of a node into its fact and reports whether it applied.
func (s *State) fold(f *Fact, c *Change) bool {
	if c.Attempt != 0 && c.Attempt < f.Attempts {
		return false
	}
	taken := false
	if c.Kind <= Vanished && c.Attempt > f.Attempts {
		switch f.Phase {
		case Idle:
			f.start(c.Attempt)
		case Ended:
			f.Attempts, f.StillOpen = c.Attempt, true
		default:
			f.Attempts = c.Attempt
		}
		taken = true
	}
	inSlots := f.Phase == Running || f.Phase == Paused || f.Phase == Queued
	switch c.Kind {
	case Began:
		if !f.Live() {
			return taken
		}
		f.StartedAt = c.At
		if f.StillOpen {
			return true
		}
		f.Detail, f.Trial = c.Detail, f.Trial || c.Trial && f.Phase == Running

	case Active:
		if !inSlots {
			return taken
		}
		if c.Activity == NeedsInput || c.Activity == AtLimit {
			f.Phase, f.Trial = Paused, false
		}
		f.Activity, f.Detail, f.Until = c.Activity, c.Detail, c.Until

	case Wants:
		if f.Phase != Paused {
			return taken
		}
		f.Phase = Queued

	case Regained:
		if f.Phase != Paused && f.Phase != Queued {
			return taken
		}
		f.Phase, f.Activity, f.Detail, f.Until, f.Trial = Running, Working, "", time.Time{}, c.Trial

	case AttemptEnded:
		if f.StillOpen {
			f.StillOpen = false
			return true
		}
		if !inSlots && !(f.Phase == Idle && c.endsUnstarted(f)) {
			return taken
		}
		s.endAttempt(f, c)

	case Vanished:
		if f.StillOpen {
			f.StillOpen = false
			return true
		}
		if !inSlots {
			return taken
		}
		f.Phase, f.Lost, f.Trial, f.Detail = Idle, true, false, c.Detail
		f.Activity, f.Until, f.EndedAt = Working, time.Time{}, c.At
		if !s.stopped {
			f.Losses++
			f.Held = !s.g.Nodes[c.Node].WillRedo(f.Losses)
		}

	case Overridden:
		if c.Outcome == Failed {
			f.StillOpen = f.Live()
			f.end(Failed, c)
			if f.Reason == ReasonExit {
				f.Reason = ReasonByHand
			}
		} else {
			if f.Phase == Ended && f.Outcome.Success() {
				return false
			}
			f.StillOpen = f.Live()
			f.end(c.Outcome, c)
			if f.Outcome != Done {
				f.Outcome = Override
			}
		}

	case Reset:
		if inSlots {
			return taken
		}
		*f = Fact{Attempts: f.Attempts, StillOpen: f.StillOpen, StartedAt: f.StartedAt}

	default:
		return false
	}
	f.Source, f.At = c.Source, c.At
	return true
}

// endsUnstarted reports whether an AttemptEnded also ends a node without an
// attempt, whose fact is f.
func (c *Change) endsUnstarted(f *Fact) bool {
	return c.Outcome == Cancelled ||
		c.Outcome == Failed && (c.Reason == ReasonBudget || c.Reason == ReasonLost && f.Held)
}

// endAttempt takes in how the attempt that held (or waits for) a slot ended.
func (s *State) endAttempt(f *Fact, c *Change) {
	n := &s.g.Nodes[c.Node]
	retry := n.WillRetry(c.Outcome, c.Reason, f.Tries)
	f.end(c.Outcome, c)
	if c.Outcome == Failed {
		f.Tries++
	}
	if retry {
		f.Phase, f.Outcome = Idle, NoOutcome // Exit, Reason and Detail stay: why it is tried again
		if b := time.Duration(n.Retries.Backoff); b > 0 {
			f.NotBefore = c.At.Add(b)
		}
	}
}

// end makes f say that the node ended.
func (f *Fact) end(o Outcome, c *Change) {
	f.Phase, f.Outcome = Ended, o
	f.Exit, f.Reason, f.Detail, f.EndedAt = 0, ReasonExit, c.Detail, c.At
	f.Lost, f.Held, f.Trial, f.NotBefore = false, false, false, time.Time{}
	f.Activity, f.Until = Working, time.Time{}
	switch o {
	case Failed:
		f.Exit, f.Reason = c.Exit, c.Reason
		if f.Exit == 0 {
			f.Exit = 1
		}
	case Cancelled:
		f.Exit = 130
	}
}

// start makes f say that an attempt runs.
func (f *Fact) start(attempt int) {
	*f = Fact{Phase: Running, Attempts: attempt, Tries: f.Tries, Losses: f.Losses}
}

func (s *State) tick(at time.Time) {
	if !at.After(s.now) {
		return
	}
	s.now = at
	for len(s.wake) > 0 && !s.wake[0].at.After(at) {
		w := s.wake.pop()
		if w.node >= 0 {
			s.settle(int(w.node))
		} else if l := &s.limits[w.account]; l.on && l.until.Equal(w.at) {
			l.on = false
			s.bar(w.account)
		}
	}
}

// LaterEnd is the end of a limit of which two are told; zero: none is known.
func LaterEnd(was, is time.Time) time.Time {
	if !is.IsZero() && !was.IsZero() && was.After(is) {
		return was
	}
	return is
}

// setLimit says until when account a is limited, which may be past.
func (s *State) setLimit(a int32, until time.Time) {
	l := &s.limits[a]
	l.known, l.on, l.until = true, until.IsZero() || until.After(s.now), until
	if l.on && !until.IsZero() {
		s.wake.push(wakeup{at: until, node: -1, account: a})
	}
	s.bar(a)
}

// endTrial makes the node that is on trial for account a one like the others.
func (s *State) endTrial(a int32) {
	if l := &s.limits[a]; l.trial >= 0 {
		s.facts[l.trial].Trial = false
		l.trial = -1
	}
}

// bar shuts or opens the lanes of account a.
func (s *State) bar(a int32) {
	l := &s.limits[a]
	start, goOn := l.bars()
	for _, lane := range l.lanes {
		s.ready.setShut(lane, start)
		s.queued.setShut(lane, goOn)
	}
}

// tally tells the account of node i where the node stands now.
func (s *State) tally(i int, was, is standing) {
	a := s.account[i]
	if a < 0 {
		return
	}
	l := &s.limits[a]
	l.met += int(btoi(is == limited || is == requeued) - btoi(was == limited || was == requeued))
	switch {
	case is == running && s.facts[i].Trial && l.known && !l.on:
		l.trial = int32(i)
	case is != running && l.trial == int32(i):
		l.trial = -1
	}
	if l.known {
		s.bar(a)
	}
}

// settle gives node i its standing anew and carries a changed end on to the
// nodes behind it.
func (s *State) settle(i int) {
	s.place(i)
	for len(s.dirty) > 0 {
		last := len(s.dirty) - 1
		i := s.dirty[last]
		s.dirty = s.dirty[:last]
		s.place(int(i))
	}
}

// place moves node i to the standing that its fact and the counters of its
// dependencies give it, and counts a changed end for its dependents, which are
// then dirty.
func (s *State) place(i int) {
	was, is := s.stands[i], s.judge(i)
	if is == blocked || is == opened || s.told[i] != toldNothing {
		s.touched = append(s.touched, int32(i))
	}
	if is == backoff { // also from one backoff to the next
		s.wake.push(wakeup{at: s.facts[i].NotBefore, node: int32(i)})
	}
	if was == is {
		return
	}
	s.stands[i] = is
	s.count[was]--
	s.count[is]++
	switch was {
	case running:
		s.occupy(i, -1)
	case startable:
		s.ready.set(i, false)
	case requeued:
		s.queued.set(i, false)
	}
	switch is {
	case running:
		s.occupy(i, +1)
	case startable:
		s.ready.set(i, true)
	case requeued:
		s.queued.set(i, true)
	}
	s.tally(i, was, is)
	ends := btoi(is.ended()) - btoi(was.ended())
	wins := btoi(is == succeeded) - btoi(was == succeeded)
	if ends == 0 && wins == 0 {
		return
	}
	for _, d := range s.g.dependents[i] {
		s.open[d] -= ends
		s.wins[d] += wins
		s.dirty = append(s.dirty, int32(d))
	}
}

func (s *State) occupy(i int, by int) {
	p := s.pool[i]
	was := s.pools[p].full()
	s.pools[p].used += by
	if is := s.pools[p].full(); is != was {
		s.ready.setFull(p, is)
		s.queued.setFull(p, is)
	}
}

// judge says where node i stands, by its own fact and the ends of its direct
// dependencies alone.
func (s *State) judge(i int) standing {
	f := &s.facts[i]
	switch f.Phase {
	case Running:
		return running
	case Queued:
		return requeued
	case Paused:
		switch f.Activity {
		case NeedsInput:
			return asking
		case AtLimit:
			return limited
		}
		return paused
	case Ended:
		if f.Outcome.Success() {
			return succeeded
		}
		return failed
	}
	// Between two attempts of one life it is not blocked any more, but a
	// dependency that was begun anew is waited for again.
	if j := s.join(i); j != startable && (!f.begun() || j == waiting && !f.Held) {
		return j
	}
	switch {
	case s.g.Nodes[i].Role == RoleGate:
		return opened
	case f.Held:
		return held
	case f.StillOpen:
		return lingering
	case f.NotBefore.After(s.now):
		return backoff
	}
	return startable
}

// join says whether the dependencies of node i let it start (startable), never
// will as they stand (blocked), or have not decided (waiting).
func (s *State) join(i int) standing {
	deps, open, wins := int32(len(s.g.deps[i])), s.open[i], s.wins[i]
	when := s.g.Nodes[i].When
	switch {
	case deps == 0, when == OneSuccess && wins > 0:
		return startable
	case open > 0:
		return waiting
	case when == AllDone, when != OneSuccess && wins == deps:
		return startable
	}
	return blocked
}

// cause is the dependency that a blocked node names: the first, in depends_on
// order, that is not a success.
func (s *State) cause(i int) int32 {
	for _, d := range s.g.deps[i] {
		if s.stands[d] != succeeded {
			return int32(d)
		}
	}
	return toldNothing
}

// Due is what is to be done as the State stands now: it tells what has changed
// since it was asked the last time and hands out free slots. The caller carries
// all of it out before it takes another change in; an effect that was kept
// while something was taken in may no longer hold. It costs time in proportion
// to what changed and what it returns.
//
// Effects come in this order: Unblock, Block and Open, then Grants, then
// Starts in graph order.
func (s *State) Due() []Effect {
	var out []Effect
	for _, t := range s.touched {
		i := int(t)
		was, is := s.told[i], int32(toldNothing)
		switch s.stands[i] {
		case blocked:
			is = s.cause(i)
		case opened:
			is = toldOpen
		}
		if was == is {
			continue
		}
		s.told[i] = is
		switch {
		case is >= 0:
			out = append(out, Effect{Kind: Block, Node: i, Cause: int(is)})
			continue
		case toldBlocked(was) && s.facts[i].Phase != Ended:
			out = append(out, Effect{Kind: Unblock, Node: i})
		}
		if is == toldOpen {
			out = append(out, Effect{Kind: Open, Node: i})
		}
	}
	s.touched = s.touched[:0]

	for !s.stopped && !s.full() {
		kind, i := Grant, s.queued.first()
		if i < 0 {
			kind, i = Start, s.ready.first()
		}
		if i < 0 {
			break
		}
		f := &s.facts[i]
		if kind == Grant {
			f.Phase, f.Activity, f.Detail, f.Until = Running, Working, "", time.Time{}
		} else {
			f.start(f.Attempts + 1)
			f.StartedAt = s.now
		}
		f.Source, f.At, f.Trial = "runner", s.now, s.account[i] >= 0 && s.limits[s.account[i]].known
		s.settle(i)
		out = append(out, Effect{Kind: kind, Node: i, Attempt: f.Attempts, Trial: f.Trial})
	}
	return out
}

func (s *State) full() bool { return s.g.MaxParallel > 0 && s.count[running] >= s.g.MaxParallel }

func btoi(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// wakeup is a moment from which on a node may be retried or an account used.
type wakeup struct {
	at      time.Time
	node    int32 // -1: account
	account int32
}

// wakes is a binary min-heap by time. Entries that no longer matter stay in it
// until they come first.
type wakes []wakeup

func (w *wakes) push(u wakeup) {
	h := append(*w, u)
	p := len(h) - 1
	for p > 0 && u.at.Before(h[(p-1)/2].at) {
		h[p] = h[(p-1)/2]
		p = (p - 1) / 2
	}
	h[p] = u
	*w = h
}

func (w *wakes) pop() wakeup {
	h := *w
	first, u := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*w = h
	p := 0
	for c := 1; c < len(h); c = 2*p + 1 {
		if c+1 < len(h) && h[c+1].at.Before(h[c].at) {
			c++
		}
		if !h[c].at.Before(u.at) {
			break
		}
		h[p] = h[c]
		p = c
	}
	if len(h) > 0 {
		h[p] = u
	}
	return first
}

// trim drops what no longer matters from the front.
func (w *wakes) trim(s *State) {
	for len(*w) > 0 {
		u := (*w)[0]
		if u.node >= 0 {
			if s.stands[u.node] == backoff && s.facts[u.node].NotBefore.Equal(u.at) {
				return
			}
		} else if l := &s.limits[u.account]; l.on && l.until.Equal(u.at) {
			return
		}
		w.pop()
	}
}
