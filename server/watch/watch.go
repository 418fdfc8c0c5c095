package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"cmux/agents/org/watchconfig"
)

// Stand is an agent's state, as far as the rules need it.
type Stand uint8

const (
	Down    Stand = iota // it starts, or is started again without the watch
	Idle                 // at its prompt, without a turn
	Busy                 // in a turn, or its work is checked
	Waits                // for a person: a question, a login, a spent budget
	Limited              // its account met a limit
	Taken                // a person has taken it over
	Crashed              // it died so often that nothing starts it again
	Stopped              // by a person
)

func (s Stand) String() string {
	return [...]string{"down", "idle", "busy", "waits", "limited", "taken over", "crashed", "stopped"}[s]
}

// Facts are the current observations.
type Facts struct {
	Config  watchconfig.Config
	Stopped bool // the organization, by a person
	Agents  []Agent
}

// Agent is the observation of one agent.
type Agent struct {
	Name       string
	Supervisor string // whom it reports to: an agent, or user
	Leads      bool   // it is the supervisor, or one of a project
	Permanent  bool
	Sentry     bool

	Stand  Stand
	Life   int
	Sign   time.Time // of its newest hook, line of the transcript, or record
	Moved  string    // changes with its files and processes; empty: not looked at
	Task   string    // that it is at; empty: none
	Next   bool      // a task waits for it
	Tasks  int       // since its conversation began
	Began  time.Time // its conversation did
	Typed  time.Time // a person did, in its window
	Person bool      // a draft of a person's is there, a dialog, or they read back

	RoleMissing string // the role file that it should have
	Used        int64  // tokens, in all lives
	Compacts    bool   // its program can be told to compact
	Context     int    // percent of its context window in use; 0: not known
	Compactions int    // that were confirmed
	Calls       int    // equal calls of a tool in a row, up to now
	Call        string // that it repeats

	Looked  bool   // Todo and Backlog are known: nobody looks in the middle of a turn
	Todo    []Item // of one that leads: what it could act on
	Backlog *Item  // of one that leads: the first task for later; nil: none
}

// Item is something that waits for an action.
// about.
type Item struct {
	Key   string `json:"key"`
	Text  string `json:"text"`
	ID    string `json:"id,omitempty"`    // of the task that it is about
	Title string `json:"title,omitempty"` // of that task
	Try   string `json:"try,omitempty"`   // the command that moves it
}

// said is the item with its command.
func (i *Item) said() string {
	if i.Try == "" {
		return i.Text
	}
	return i.Text + " (" + i.Try + ")"
}

// Kind says what an Action does.
type Kind string

const (
	Nudge    Kind = "nudge"    // a message with what waits
	Inject   Kind = "inject"   // a message with one task
	Observe  Kind = "observe"  // nothing but a look at files and processes from now on
	Relaunch Kind = "relaunch" // end the program and start it again, in its conversation, with a briefing
	Spawn    Kind = "sentry"   // make the sentry
	End      Kind = "end"      // remove the sentry
	Compact  Kind = "compact"  // have the program compact
	Reset    Kind = "reset"    // begin a new conversation
	Tell     Kind = "tell"     // a message about the agent, to somebody else
)

// Action is something to be done, once.
type Action struct {
	ID       string   `json:"id"` // the same whoever derives it from the same state and facts
	Rule     string   `json:"rule"`
	Kind     Kind     `json:"kind"`
	Agent    string   `json:"agent"`        // it is about
	To       string   `json:"to,omitempty"` // Tell: who is told
	Reason   string   `json:"reason"`
	Evidence []string `json:"evidence"`
	Items    []Item   `json:"items,omitempty"` // Nudge, Inject
	Nth      int      `json:"nth,omitempty"`   // Nudge: which of its series
	Of       int      `json:"of,omitempty"`    // Nudge: how many a series has

	before Seen // of its agent, as it was seen before this was decided
}

// Seen is what was seen of an agent, and done about it, up to now. Its times are
// those of State.Clock.
type Seen struct {
	Life     int           `json:"life"`
	Lived    time.Duration `json:"lived,omitempty"` // when its first life since Climbed was seen
	Sign     time.Time     `json:"sign"`
	Quiet    time.Duration `json:"quiet"`              // since then there was no new sign
	Moved    string        `json:"moved,omitempty"`    // as last seen
	Still    time.Duration `json:"still"`              // since then there was no progress
	Typed    time.Time     `json:"typed,omitzero"`     // as last seen
	Touched  time.Duration `json:"touched,omitempty"`  // when a person typed last
	Began    time.Time     `json:"began,omitzero"`     // its conversation, as last seen
	Fresh    time.Duration `json:"fresh,omitempty"`    // when its conversation began
	Spent    time.Duration `json:"spent,omitempty"`    // since then it has had no task
	Occupied bool          `json:"occupied,omitempty"` // it had one when it was last seen

	Asked    []string      `json:"asked,omitempty"`    // keys of what it was nudged about
	Nudges   int           `json:"nudges,omitempty"`   // in this series
	Nudged   time.Duration `json:"nudged,omitempty"`   // the last one
	Series   time.Duration `json:"series,omitempty"`   // the first one
	Injected bool          `json:"injected,omitempty"` // in this series
	Observed bool          `json:"observed,omitempty"` // since it was last seen to get on
	Rung     int           `json:"rung,omitempty"`     // how far it was gone for its standing still
	Climbed  time.Duration `json:"climbed,omitempty"`  // when
	Pressed  time.Duration `json:"pressed,omitempty"`  // when it was to compact last
	Compacts int           `json:"compacts,omitempty"` // that were confirmed then
	Tries    int           `json:"tries,omitempty"`    // that came to nothing
	Pending  bool          `json:"pending,omitempty"`  // it should compact, and the result is unknown
	Share    int           `json:"share,omitempty"`    // percent of the context when it came to nothing
	Told     []string      `json:"told,omitempty"`     // causes that were reported to somebody, the newest last
	Done     []Done        `json:"done,omitempty"`     // actions, for their bounds, the newest last
	Sentinel time.Duration `json:"sentinel,omitempty"` // of the sentry: when it was first seen
	Signed   time.Duration `json:"signed,omitempty"`   // when there was a new sign last, however it stands
	Open     time.Duration `json:"open,omitempty"`     // when it was found not to get on by itself; 0: it does
	Failures int           `json:"failures,omitempty"` // actions in a row that could not be taken
	Failed   time.Duration `json:"failed,omitempty"`   // the last one
}

// Done is an action that was taken.
type Done struct {
	Rule string        `json:"rule"`
	At   time.Duration `json:"at"`
}

// State is what was seen up to now. It is a value: Step changes none.
type State struct {
	Clock  time.Duration // time that was watched
	Last   time.Time     // of the last step
	Agents map[string]Seen
}

// MaxGap is the most that counts as watched between two steps: Step is to be
// called at least so often for its thresholds to be met in time.
const MaxGap = time.Minute

// Restore is the state after an action that took place, for a process that
// begins: clock and seen are as they were written with it, at is when.
func (s State) Restore(agent string, seen Seen, clock time.Duration, at time.Time) State {
	agents := maps.Clone(s.Agents)
	if agents == nil {
		agents = make(map[string]Seen)
	}
	agents[agent] = seen
	s.Agents = agents
	if clock >= s.Clock {
		s.Clock, s.Last = clock, at
	}
	return s
}

// Step evaluates the current facts and returns the actions to take, at most one for each
// agent.
func Step(s State, f Facts, now time.Time) (State, []Action) {
	if s.Last.IsZero() {
		s.Clock++ // 0 is never
	} else {
		s.Clock += min(max(0, now.Sub(s.Last)), MaxGap)
	}
	s.Last = now
	m := &move{State: s, f: f, now: now, rules: rules()}
	m.Agents = make(map[string]Seen, len(f.Agents))
	for i := range f.Agents {
		a := &f.Agents[i]
		seen, known := s.Agents[a.Name]
		m.Agents[a.Name] = m.look(seen, known, a)
	}
	if f.Stopped {
		return m.State, nil
	}
	for i := range f.Agents {
		m.mind(&f.Agents[i])
	}
	return m.State, m.actions
}

// Failures of actions.
const (
	mostFailures = 3           // so many in a row, and the next one counts as taken
	failureWait  = time.Minute // before the next attempt
)

// Failed returns the state with action a undone, so that Step retries it after failureWait.
// After mostFailures failures in a row a counts as taken; otherwise nothing else would ever
// be tried.
func (s State) Failed(a *Action) State {
	seen := a.before
	if seen.Failures >= mostFailures {
		seen = s.Agents[a.Agent]
		seen.Failures = 0
	} else {
		seen.Failures, seen.Failed = seen.Failures+1, s.Clock
		seen.Open = s.Agents[a.Agent].Open // it was found, whatever could be done
	}
	s.Agents = maps.Clone(s.Agents)
	s.Agents[a.Agent] = seen
	return s
}

// move is one step.
type move struct {
	State
	f       Facts
	now     time.Time
	rules   []Rule
	actions []Action
	seen    Seen // of the agent that a rule looks at, as it would be after that
}

// look takes in what is seen of an agent.
func (m *move) look(s Seen, known bool, a *Agent) Seen {
	c := &m.f.Config
	if !known {
		// How long it was so before nobody knows for sure; what waits for it is worth
		// a look at once, and nothing more.
		idle := min(max(0, m.now.Sub(a.Sign)), c.IdleAfter)
		s = Seen{Life: a.Life, Sign: a.Sign, Quiet: m.Clock - idle, Moved: a.Moved, Still: m.Clock, Typed: a.Typed, Began: a.Began, Spent: m.Clock, Signed: m.Clock,
			Fresh: m.Clock - max(0, m.now.Sub(a.Began)), Compacts: a.Compactions, Touched: m.Clock - c.PersonWithin,
			Sentinel: m.Clock - min(max(0, m.now.Sub(a.Began)), c.SentryWithin)}
		if d := m.now.Sub(a.Typed); 0 <= d && d < c.PersonWithin {
			s.Touched = m.Clock - d
		}
		return s
	}
	if !a.Began.Equal(s.Began) {
		s.Began, s.Fresh, s.Tries, s.Pending, s.Compacts = a.Began, m.Clock, 0, false, a.Compactions
		s.Asked, s.Nudges, s.Injected = nil, 0, false // all that waits is new to it
	}
	if s.Occupied || a.Task != "" {
		s.Spent = m.Clock
	}
	s.Occupied = a.Task != ""
	if !a.Typed.Equal(s.Typed) {
		s.Typed, s.Touched = a.Typed, m.Clock
	}
	if a.Life != s.Life {
		if s.Life = a.Life; s.Lived <= s.Climbed {
			s.Lived = m.Clock
		}
		s.Still, s.Observed = m.Clock, false
	}
	moved := a.Moved != "" && s.Moved != "" && a.Moved != s.Moved
	if !a.Sign.Equal(s.Sign) || moved {
		if !a.Sign.Equal(s.Sign) {
			s.Quiet, s.Signed = m.Clock, m.Clock
		}
		// What it does as it starts is no proof that it gets on again. That somebody
		// was told starts nothing.
		if s.Rung == leftAlone || s.Rung > 0 && m.Clock-max(s.Climbed, s.Lived) >= c.FrozenAfter/2 {
			s.Rung = 0
		}
		s.Still, s.Observed = m.Clock, false
	}
	s.Sign = a.Sign
	if a.Moved != "" {
		s.Moved = a.Moved
	}
	if a.Stand != Idle && a.Stand != Busy {
		s.Still, s.Observed = m.Clock, false // it stands still for a reason
	}
	if a.Stand == Limited || a.Stand == Waits || a.Stand == Taken || a.Stand == Stopped {
		s.Quiet = m.Clock
	}
	if s.Open > 0 && s.Rung == 0 && s.Still > s.Open && (a.Stand == Idle || a.Stand == Busy) {
		s.Open = 0
	}
	if a.Looked && acted(s.Asked, a.Todo) {
		s.Asked, s.Nudges, s.Injected = nil, 0, false
	}
	if s.Pending && a.Compactions > s.Compacts {
		s.Pending, s.Tries = false, 0
	}
	s.Compacts = max(s.Compacts, a.Compactions)
	return s
}

// acted reports whether something that was asked for waits no more.
func acted(asked []string, todo []Item) bool {
	return slices.ContainsFunc(asked, func(key string) bool {
		return !slices.ContainsFunc(todo, func(i Item) bool { return i.Key == key })
	})
}

// mind takes the first action about an agent that a rule has.
func (m *move) mind(a *Agent) {
	m.seen = m.Agents[a.Name] // a rule that is due changes it, and no other does
	hands := m.hands(a, &m.seen)
	wait := m.seen.Failures > 0 && m.since(m.seen.Failed) < failureWait
	for i := range m.rules {
		r := &m.rules[i]
		if r.on != nil && !*r.on(&m.f.Config) {
			continue
		}
		within := m.within(&m.seen, r)
		if !within && !r.unsaid {
			continue
		}
		act := r.due(m, a, &m.seen)
		if act == nil {
			continue
		}
		if !within { // the state holds, but needs no report
			m.Agents[a.Name] = m.seen
			continue
		}
		if wait || hands && act.Kind != Tell && act.Kind != Observe {
			m.seen = m.Agents[a.Name]
			continue
		}
		act.Rule, act.Agent, act.before = r.Name, a.Name, m.Agents[a.Name]
		act.ID = id(act, a.Life, m.Clock)
		m.seen.Failures = 0
		if act.Lasting() && m.seen.Open == 0 {
			m.seen.Open = m.Clock
		}
		m.seen.Done = append(m.recent(m.seen.Done), Done{r.Name, m.Clock})
		m.Agents[a.Name] = m.seen
		m.actions = append(m.actions, *act)
		return
	}
}

// id names an action by what it is and when it was decided.
func id(a *Action, life int, clock time.Duration) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s", a.Rule, a.Agent, life, clock, a.Reason))
	return "watch-" + hex.EncodeToString(sum[:10])
}

// keptDone is how long an action is remembered for its bound.
const keptDone = 24 * time.Hour

// recent are the actions that still count.
func (m *move) recent(done []Done) []Done {
	return slices.DeleteFunc(slices.Clone(done), func(d Done) bool { return m.Clock-d.At > keptDone })
}

// within reports whether the bound of a rule allows it once more.
func (m *move) within(s *Seen, r *Rule) bool {
	n := 0
	for _, d := range s.Done {
		if d.Rule == r.Name && m.Clock-d.At < r.Per {
			n++
		}
	}
	return n < r.Most
}

// hands reports whether a person may be at work in an agent.
func (m *move) hands(a *Agent, s *Seen) bool {
	return a.Stand == Taken || a.Person || m.Clock-s.Touched < m.f.Config.PersonWithin
}

// since is how long something is so.
func (m *move) since(at time.Duration) time.Duration { return m.Clock - at }

// told reports whether a cause was reported already, and records that it is now.
func (s *Seen) told(cause string) bool {
	if slices.Contains(s.Told, cause) {
		return true
	}
	s.Told = append(slices.Clone(s.Told), cause)
	s.Told = s.Told[max(0, len(s.Told)-20):]
	return false
}
