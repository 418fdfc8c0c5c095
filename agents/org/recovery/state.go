// Package recovery repairs a project that has become unhealthy.
//
// State holds all that is known, in .cmux/health.json. It is pure: Next returns the
// next action, and After applies the result of an action. A Driver carries out one
// action at a time and saves its result before the next one. If the Driver is killed,
// the next Driver gets the same action from Next. Each action can be repeated,
// because the name of what it makes is saved before.
//
// Three failures in a row begin a recovery, one at a time. The recovery first
// restarts. Then, if a person allowed it, it tries the last healthy commit and up to
// MaxOlder commits before it. For each it checks out the commit on a branch of its
// own, rebuilds and checks. If the last healthy commit is still healthy, the recovery
// bisects the commits after it and keeps the newest healthy one. It moves no branch,
// and it checks out nothing where somebody is at work.
package recovery

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of a recovery.
const (
	Misses   = 3  // failures in a row begin one
	MaxOlder = 10 // commits before the last healthy one that are tried
	maxRange = 1000
	rechecks = 3 // after a restart, recheckPause apart
	attempts = 3 // of an action that could not be carried out
	restarts = 3 // in restartSpan, then the restart is left out
	marks    = 20
	flaps    = 6 // changes between healthy and not among the last marks

	recheckPause = 2 * time.Second
	retryPause   = 2 * time.Second
	restartSpan  = time.Hour
	refusedPause = 10 * time.Minute
)

// Config is what a person decided, as far as it decides what is done.
type Config struct {
	Every    time.Duration
	Restart  bool // there is a command for it
	Rollback bool
	Own      bool // the tree is cmux's own
}

// Step is where a recovery stands.
type Step string

const (
	StepNone    Step = ""        // it is over
	StepRestart Step = "restart" // of what health.restart says
	StepRecheck Step = "recheck" // whether that helped
	StepSurvey  Step = "survey"  // whether a rollback may be, and to what
	StepJournal Step = "journal" // why, before anything is touched
	StepOlder   Step = "older"   // the last healthy commit and those before
	StepBisect  Step = "bisect"  // the commits behind the healthy one
	StepSettle  Step = "settle"  // on the newest healthy one
	StepBack    Step = "back"    // where it was: nothing helped
	StepTell    Step = "tell"    // the supervisor
	StepForward Step = "forward" // to new commits of the integration branch
	StepReturn  Step = "return"  // from these, as they are not healthy
	StepUndo    Step = "undo"    // a person ordered it
)

// How a recovery ended.
const (
	Restarted  = "restarted"
	RolledBack = "rolled back"
	Recovered  = "recovered" // rolled back, and healthy on other commits since
	Failed     = "failed"
	Refused    = "refused"
	Undone     = "undone"
	PassedOff  = "passed off" // it was healthy again by itself
)

// Try is a commit that was checked out and looked at.
type Try struct {
	Commit string    `json:"commit"`
	Branch string    `json:"branch,omitempty"` // empty: detached
	OK     bool      `json:"ok"`
	Detail string    `json:"detail,omitempty"`
	At     time.Time `json:"at"`
}

// Run is one recovery.
type Run struct {
	ID       string    `json:"id"` // its beginning: 20261123-070501
	Began    time.Time `json:"began_at"`
	By       string    `json:"by"`
	Incident string    `json:"incident,omitempty"`
	Step     Step      `json:"step,omitempty"`
	At       time.Time `json:"at"`               // when the step was begun
	Errors   int       `json:"errors,omitempty"` // of the step
	Output   string    `json:"output"`           // of the check that failed

	Broken string `json:"broken,omitempty"` // commit that was checked out
	Branch string `json:"branch,omitempty"` // likewise; empty: detached

	Older  []string `json:"older,omitempty"`  // the last healthy commit and those before, newest first
	Range  []string `json:"range,omitempty"`  // from behind the last healthy to the broken one, oldest first
	Next   int      `json:"next,omitempty"`   // in Older
	Lo     int      `json:"lo"`               // in Range: healthy
	Hi     int      `json:"hi"`               // in Range: not
	Tries  []Try    `json:"tries,omitempty"`  //
	On     string   `json:"on,omitempty"`     // branch that the tree is on by us
	Here   string   `json:"here,omitempty"`   // commit that we left checked out; empty: none
	Left   []string `json:"left,omitempty"`   // uncommitted paths behind the commands that we ran
	Best   string   `json:"best,omitempty"`   // commit that it was rolled back to
	Ahead  string   `json:"ahead,omitempty"`  // newest commit that was tried since
	Blamed string   `json:"blamed,omitempty"` // the first commit that is not healthy

	End    string    `json:"end,omitempty"`
	Detail string    `json:"detail,omitempty"`
	Ended  time.Time `json:"ended_at,omitzero"`
}

// Over reports whether nothing is under way.
func (r *Run) Over() bool { return r == nil || r.Step == StepNone }

// State is what is known of a project's health.
type State struct {
	Healthy   string    `json:"healthy,omitempty"` // the last commit on which the check passed
	HealthyAt time.Time `json:"healthy_at,omitzero"`
	Left      []string  `json:"left,omitempty"` // uncommitted paths after that: the check's own
	Fails     int       `json:"fails,omitempty"`
	Marks     string    `json:"marks,omitempty"` // of the last checks: . healthy, x not
	CheckedAt time.Time `json:"checked_at,omitzero"`
	Head      string    `json:"head,omitempty"` // commit of the last check
	Tip       string    `json:"tip,omitempty"`  // of the integration branch then
	Output    string    `json:"output,omitempty"`
	Built     string    `json:"built,omitempty"` // the commit that was rebuilt last, in a tree of cmux's own

	// Spared is a commit that no recovery begins for: one ended there without
	// success, or was undone. Another commit, or a healthy look, ends that; a refusal
	// is looked into again at Again.
	Spared string      `json:"spared,omitempty"`
	Again  time.Time   `json:"again,omitzero"`
	Starts []time.Time `json:"restarts,omitempty"` // lately
	Run    *Run        `json:"run,omitempty"`      // the newest

	// Made is, in a tree that is not cmux's own, what the commands left there.
	Made map[string]Made `json:"made,omitempty"`
}

// Do is the kind of an action.
type Do string

const (
	DoCheck   Do = "check"
	DoRestart Do = "restart"
	DoSurvey  Do = "survey"
	DoJournal Do = "journal"
	DoTry     Do = "try"    // check Commit out on Branch, rebuild, check
	DoSwitch  Do = "switch" // check Branch out, or Commit where it is empty
	DoTell    Do = "tell"
)

// An Action is one step of a recovery.
type Action struct {
	Do     Do
	At     time.Time // not before
	Commit string
	Branch string // empty: detached
}

// Fact is how an action went.
type Fact struct {
	At     time.Time
	OK     bool
	Detail string          // the end of its output
	Err    error           // it could not be carried out
	Head   string          // of a check: the commit that is checked out
	Branch string          // likewise; empty: detached
	Tip    string          // of the integration branch
	Clean  bool            // nothing tracked differs from the commit
	Left   []string        // uncommitted paths
	Made   map[string]Made // what is known of them now; nil: no command ran

	Built   string   // a commit that the rebuild succeeded for
	Refused string   // of a survey: why nothing may be checked out
	Older   []string // of a survey, see Run
	Range   []string
}

// clock takes in what time it is: what a clock that was ahead wrote down happened
// now, at the latest.
func (s *State) clock(now time.Time) {
	no := func(t time.Time) time.Time {
		if t.After(now) {
			return now
		}
		return t
	}
	s.CheckedAt = no(s.CheckedAt)
	if most := now.Add(refusedPause); s.Again.After(most) {
		s.Again = most
	}
	s.Starts = slices.DeleteFunc(s.Starts, func(t time.Time) bool { return t.After(now) })
	if !s.Run.Over() {
		s.Run.At = no(s.Run.At)
	}
}

// Next returns the next action.
func (s *State) Next(c Config) Action {
	r := s.Run
	if r.Over() {
		if r != nil && r.End == RolledBack && c.Own && s.Tip != "" && s.Tip != r.Broken && s.Tip != r.Ahead && s.Tip != r.Best {
			return Action{Do: DoTry, Commit: s.Tip} // After begins the step
		}
		return Action{Do: DoCheck, At: s.CheckedAt.Add(c.Every)}
	}
	a := Action{}
	if r.Errors > 0 {
		a.At = r.At.Add(retryPause)
	}
	switch r.Step {
	case StepRestart:
		a.Do = DoRestart
	case StepRecheck:
		a.Do, a.At = DoCheck, r.At.Add(recheckPause)
	case StepSurvey:
		a.Do = DoSurvey
	case StepJournal:
		a.Do = DoJournal
	case StepOlder:
		a.Do, a.Commit, a.Branch = DoTry, r.Older[r.Next], r.branch()
	case StepBisect:
		a.Do, a.Commit, a.Branch = DoTry, r.Range[r.middle()], r.branch()
	case StepSettle:
		a.Do, a.Commit, a.Branch = DoTry, r.best(), r.branch()
	case StepForward:
		a.Do, a.Commit = DoTry, r.Ahead
	case StepReturn:
		a.Do, a.Commit, a.Branch = DoSwitch, r.Best, r.On
	case StepBack, StepUndo:
		a.Do, a.Commit, a.Branch = DoSwitch, r.Broken, r.Branch
	case StepTell:
		a.Do = DoTell
	}
	return a
}

// branch is the name of the next branch.
func (r *Run) branch() string {
	name := "cmux/rollback-" + r.ID
	if n := len(r.Tries); n > 0 {
		name += fmt.Sprintf("-%d", n+1)
	}
	return name
}

func (r *Run) middle() int { return (r.Lo + r.Hi) / 2 }

// best is the newest commit that was found healthy.
func (r *Run) best() string {
	if r.Lo >= 0 {
		return r.Range[r.Lo]
	}
	return r.Older[r.Next]
}

// Begin begins a recovery of what is checked out as the last check says.
func (s *State) Begin(c Config, by string, at time.Time) {
	r := &Run{ID: at.Local().Format("20060102-150405"), Began: at, By: by, At: at, Output: s.Output, Lo: -1, Hi: -1, Step: StepRestart}
	s.Starts = slices.DeleteFunc(s.Starts, func(t time.Time) bool { return at.Sub(t) > restartSpan })
	if !c.Restart || len(s.Starts) >= restarts {
		r.Step = StepSurvey
	}
	s.Run = r
}

// Undo orders that the tree goes back to where the last rollback found it. It
// reports whether there is such a rollback.
func (s *State) Undo(at time.Time) bool {
	r := s.Run
	if r == nil || !r.Over() || r.On == "" || r.End != RolledBack && r.End != Failed && r.End != Refused {
		return false
	}
	r.Step, r.At, r.Errors = StepUndo, at, 0
	return true
}

// Flaps reports whether the health comes and goes.
func (s *State) Flaps() bool {
	n := 0
	for i := 1; i < len(s.Marks); i++ {
		if s.Marks[i] != s.Marks[i-1] {
			n++
		}
	}
	return n >= flaps
}

// After is the state after an action.
func (s *State) After(c Config, a Action, f Fact) {
	r := s.Run
	if f.Made != nil {
		s.Made = f.Made
	}
	switch {
	case a.Do == DoCheck && r.Over():
		s.checked(c, f)
		return
	case r.Over(): // a try of what is new, which nothing has begun yet
		r.Step, r.Ahead, r.Errors = StepForward, a.Commit, 0
	}
	was, began := r.Step, r.At
	r.At = f.At
	if f.Built != "" {
		s.Built = f.Built
	}
	if a.Do == DoTry && f.Head != "" { // it was checked out, however it went on
		r.Here = f.Head
		for _, p := range f.Left {
			if !slices.Contains(r.Left, p) {
				r.Left = append(r.Left, p)
			}
		}
		if was != StepForward {
			r.On = f.Branch
		}
	}
	if f.Refused != "" && (a.Do == DoTry || a.Do == DoSwitch) {
		r.stop(s, Refused, f.Refused, f.At)
		return
	}
	if f.Err != nil {
		if r.Errors++; r.Errors >= attempts {
			r.stop(s, Failed, f.Err.Error(), f.At)
		} else if was == StepRecheck {
			r.At = began
		}
		return
	}
	r.Errors = 0
	if a.Do == DoSwitch {
		r.Here = a.Commit
	}
	switch r.Step {
	case StepRestart:
		s.Starts = append(s.Starts, f.At)
		r.Step = StepRecheck
	case StepRecheck:
		r.rechecked(s, c, f)
	case StepSurvey:
		r.surveyed(s, c, f)
	case StepJournal:
		r.Step = StepOlder
	case StepOlder, StepBisect, StepSettle:
		r.tried(a, f)
	case StepBack:
		r.On = ""
		why := r.Detail // an error, that ended the tries
		if why == "" {
			why = "no commit that was tried is healthy"
		}
		r.over(s, Failed, why, f.At)
	case StepTell:
		r.rolledBack(s, "", f)
	case StepForward:
		r.forward(s, f)
	case StepReturn:
		r.Step = StepNone
	case StepUndo:
		r.over(s, Undone, "", f.At)
		s.Spared, s.Fails, s.Head = r.Broken, 0, ""
	}
}

func (r *Run) rolledBack(s *State, detail string, f Fact) {
	r.over(s, RolledBack, detail, f.At)
	s.Fails, s.Healthy, s.HealthyAt, s.Left = 0, r.Best, f.At, append(r.Left, f.Left...)
}

// stop ends a step that cannot be done. What was checked out is put back, unless
// somebody is at work there: then the tree stays as it is.
func (r *Run) stop(s *State, end, why string, at time.Time) {
	switch r.Step {
	case StepForward:
		if end == Failed && r.Here == r.Ahead {
			r.Step, r.Errors, r.Detail = StepReturn, 0, why
			return
		}
		fallthrough
	case StepReturn, StepUndo: // it stays as it was rolled back
		r.Step, r.Errors, r.Detail = StepNone, 0, why
	case StepTell: // the tree is where it belongs
		r.rolledBack(s, why, Fact{At: at})
	case StepOlder, StepBisect, StepSettle:
		if end == Failed && r.On != "" {
			r.Step, r.Errors, r.Detail = StepBack, 0, why
			return
		}
		r.over(s, end, why, at)
	case StepBack:
		if r.Detail != "" {
			why = r.Detail + "; and it could not be put back: " + why
		}
		r.over(s, end, why, at)
	default:
		r.over(s, end, why, at)
	}
}

// left reports whether a recovery was broken off, and the tree is on a branch of its.
func (r *Run) left() bool { return r.On != "" && (r.End == Failed || r.End == Refused) }

// over ends a recovery.
func (r *Run) over(s *State, end, detail string, at time.Time) {
	r.Step, r.End, r.Detail, r.Ended, r.Errors = StepNone, end, detail, at, 0
	if end == Failed || end == Refused {
		s.Spared = r.Broken
		if s.Again = (time.Time{}); end == Refused {
			s.Again = at.Add(refusedPause)
		}
		if r.On != "" && r.Here != "" { // it was left on the way: a person takes it from there
			s.Spared, s.Again = r.Here, time.Time{}
		}
	}
}

// checked takes in a check that no recovery asked for.
func (s *State) checked(c Config, f Fact) {
	s.CheckedAt = f.At
	if f.Built != "" {
		s.Built = f.Built
	}
	if f.Err != nil { // it says nothing about the project
		if f.Tip != "" {
			s.Tip = f.Tip // and is not repeated before its time for the same commits
		}
		return
	}
	s.look(f)
	if r := s.Run; r != nil && r.End == RolledBack && f.OK && f.Branch != r.On && f.Head != r.Best {
		r.End, r.Detail = Recovered, "another commit is checked out there, and healthy" // a person mended it
	}
	spared := s.Spared != "" && s.Spared == f.Head && (s.Again.IsZero() || f.At.Before(s.Again))
	if s.Fails >= Misses && !spared && (c.Restart || c.Rollback) {
		s.Begin(c, "cmux", f.At)
		s.Run.Broken, s.Run.Branch = f.Head, f.Branch
	}
}

// look takes in what a check saw.
func (s *State) look(f Fact) {
	mark := "x"
	s.Head, s.Tip = f.Head, f.Tip
	if f.Made != nil {
		s.Made = f.Made
	}
	if f.OK {
		mark, s.Fails, s.Output, s.Spared, s.Again = ".", 0, "", "", time.Time{}
		if f.Clean && f.Head != "" {
			s.Healthy, s.HealthyAt, s.Left = f.Head, f.At, f.Left
		}
	} else {
		s.Fails++
		s.Output = f.Detail
	}
	s.Marks += mark
	s.Marks = s.Marks[max(0, len(s.Marks)-marks):]
}

func (r *Run) rechecked(s *State, c Config, f Fact) {
	s.look(f)
	r.Next++ // of the rechecks
	switch {
	case f.OK:
		r.over(s, Restarted, "", f.At)
		r.Next = 0
	case r.Next < rechecks:
	case c.Rollback:
		r.Step, r.Next = StepSurvey, 0
	default:
		r.Next = 0
		r.over(s, Failed, "the restart did not help, and health.rollback is not on", f.At)
	}
	r.Broken, r.Branch = f.Head, f.Branch
}

func (r *Run) surveyed(s *State, c Config, f Fact) {
	r.Broken, r.Branch = f.Head, f.Branch
	switch {
	case f.OK:
		r.over(s, PassedOff, "it is healthy again", f.At)
		s.Fails = 0
	case !c.Rollback:
		r.over(s, Failed, "health.rollback is not on", f.At)
	case f.Refused != "":
		r.over(s, Refused, f.Refused, f.At)
	case len(f.Older) == 0:
		r.over(s, Refused, "no commit is known on which the check passed", f.At)
	default:
		r.Older, r.Range = f.Older[:min(len(f.Older), MaxOlder+1)], f.Range
		r.Lo, r.Hi, r.Next, r.Step = -1, len(f.Range)-1, 0, StepJournal
	}
}

// tried takes in how a commit did.
func (r *Run) tried(a Action, f Fact) {
	r.Tries = append(r.Tries, Try{a.Commit, a.Branch, f.OK, f.Detail, f.At})
	r.On, r.Here = a.Branch, a.Commit
	switch r.Step {
	case StepOlder:
		switch {
		case f.OK && r.Next == 0:
			r.narrow(a)
		case f.OK: // what was healthy is not any more: no commit behind is to blame
			r.Best, r.Step = a.Commit, StepTell
		default:
			if r.Next++; r.Next == len(r.Older) {
				r.Next--
				r.Step = StepBack
			}
		}
	case StepBisect:
		if f.OK {
			r.Lo = r.middle()
		} else {
			r.Hi = r.middle()
		}
		r.narrow(a)
	case StepSettle:
		switch {
		case f.OK:
			r.Best, r.Step = a.Commit, StepTell
		case r.Lo >= 0: // it was healthy a moment ago; the one before all is left
			r.Lo, r.Blamed = -1, ""
		default:
			r.Step = StepBack
		}
	}
}

// narrow continues the bisection after a try, or ends it.
func (r *Run) narrow(a Action) {
	if r.Hi-r.Lo > 1 {
		r.Step = StepBisect
		return
	}
	if r.Hi >= 0 {
		r.Blamed = r.Range[r.Hi]
	}
	if last := r.Tries[len(r.Tries)-1]; last.OK && a.Commit == r.best() {
		r.Best, r.Step = a.Commit, StepTell
	} else {
		r.Step = StepSettle
	}
}

// forward takes in how new commits of the integration branch did.
func (r *Run) forward(s *State, f Fact) {
	if !f.OK {
		r.Step = StepReturn
		return
	}
	r.over(s, Recovered, "new commits are healthy", f.At)
	s.Fails, s.Healthy, s.HealthyAt, s.Left, s.Head, s.CheckedAt = 0, r.Ahead, f.At, f.Left, r.Ahead, f.At
}

// Short is a commit as people read it.
func Short(commit string) string { return commit[:min(len(commit), 12)] }

// Line says how a recovery stands.
func (r *Run) Line() string {
	switch {
	case r.Step != StepNone:
		return "under way: " + string(r.Step)
	case r.Best != "" && r.End == RolledBack:
		return fmt.Sprintf("rolled back to %s on %s", Short(r.Best), r.On)
	}
	return strings.TrimSuffix(r.End+": "+r.Detail, ": ")
}
