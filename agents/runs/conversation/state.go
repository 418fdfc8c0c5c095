package conversation

import (
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/runs/owner"
	"cmux/dag"
)

// Phase is what a conversation is in.
type Phase uint8

const (
	Preparing    Phase = iota // its program is not there yet
	Working                   // the agent works, or a person in it
	Handing                   // something is on its way to it
	Hindered                  // what is to be typed waits until its screen is safe
	AwaitingTurn              // what is to be handed over waits for the end of its turn
	Asking                    // it waits for a person
	Limiting                  // it met a limit, and until when is being found out
	Limited                   // it waits for the end of a limit
	Regaining                 // it waits for a slot
	BackingOff                // it waits to try a failed call of the model again
	Settling                  // it has reported, and its sub-agents still work
	Judging                   // it has reported, and whether that is so is being found out
	Parting                   // its report is good, and it is to take that in
	Examining                 // its program has ended without a report, and what is left is being found out
	Halting                   // its program is being ended, as it must not go on
	Left                      // its program is gone, and a person is to decide
	Resting                   // it stays, and waits for something to do
	Reviving                  // it stays, and its program starts again in a moment
	Tallying                  // its piece of work is over, and that is being recorded
	Closing                   // the conversation is over
	phases
)

// Config is what does not change in a conversation.
type Config struct {
	owner.Terms
	Name         string        // of the agent, as a person calls it
	Reports      bool          // it reports; else its exit code does
	InputTimeout time.Duration // how long a person is waited for; 0: for ever
	AskAtLimit   bool          // a person says whether it goes on after a limit
	Pause        time.Duration // before a failed call of the model is tried again; doubles
	Settle       time.Duration // what a turn left at work is waited for
	Parting      time.Duration // the agent is waited for when its report is good
}

// State is one conversation as it stands. It is a value: what it points to is
// never changed.
type State struct {
	Config
	Phase Phase

	Overridden bool // a person has decided: nothing is asked of it
	Taken      bool // a person is at work in it
	Spoke      bool // and has said something since the last report

	// What was heard and not yet acted on.
	Report    *Report
	TurnEnded bool
	Question  *question.Question
	Dialog    *question.Question // that stands in the pane of one that a person is at work in
	Limit     *news.LimitMet
	Falter    *news.Faltered
	Said      *string   // a person's words
	SaidBy    []Ref     // their givers, who wait to hear what becomes of them
	Missed    string    // a person's words that its program had not read when it ended
	Opening   string    // a person's words with which its program is being started
	Pending   []Message // what is to be handed over once nothing is in the way
	WentOn    bool
	Granted   bool
	NoRunner  bool
	Again     bool    // a person wants a program that has ended to go on
	Broke     *string // it is over a budget, which counts if it has to go on
	Ended     bool    // the program has

	// Of one that stays.
	Work   string    // id of its piece of work; empty: none
	Got    bool      // it was handed its work, and may report
	Told   bool      // its work is known to have reached it: a program that starts later need not be told the whole
	Drop   *Withdraw // its work is taken back
	Awaits string    // what it waits for, without a turn: `asked NAME: QUESTION`
	// Posed is that question; nil: it waits for something else, or for nothing.
	Posed    *question.Posed
	Asked    []string    // ids of the messages by which it put questions to a person since its work was given, and that nobody has answered
	Read     []string    // ids of messages that it has read, the newest last
	Unproven []Message   // handed to a hook, of which it has shown no sign yet; where its conversation cannot be read
	Ill      *string     // it is stuck, which is seen to when its work is tallied
	Deaths   []time.Time // of its program, in a row
	Unborn   time.Time   // when the first of its last programs ended that gave no sign; zero: the last one did
	Progress time.Time   // when a turn ended last
	Midway   bool        // it was told something and has not come to rest since: a program that ends now is cut off
	Lost     string      // how its last program ended, until the one that goes on gives a sign; empty: in order
	Unseen   []Message   // handed over, and not yet seen in its conversation
	Early    []string    // ids seen there before their hand-over was confirmed
	Began    time.Time   // its turn did
	Answers  []string    // ids of the messages that it has read since its last turn ended
	Final    *string     // what a turn said that ended while a message was on its way, which may have been in it; nil: there is none
	Calls    int         // of tools since
	Kept     bool        // it has kept what it did since
	Gated    bool        // it was told once that nothing of it is kept
	CanBreak bool        // its program's turn can be broken off
	Steers   bool        // its program's turn can be given something
	Owed     []Ref       // answers whose givers wait to hear what becomes of them
	Fate     Fate        // of the newest answer that the agent has
	Compacts bool        // its program can be told to compact its conversation
	Recalls  bool        // its conversation can be read: what it holds was read

	// Of its program.
	Came     bool      // it gave a sign
	Launched time.Time // it was started
	Shown    bool      // it has shown its prompt

	// What waits for its answer.
	Gate      Gate
	Call      Call
	Further   []Ref // questions that are not heard while another is open
	Concluded Ref   // hook by which the agent learns that its report was accepted

	// Of the phase.
	Open     Open          // Asking
	Handed   Message       // Handing, Hindered, AwaitingTurn
	By       Channel       // Handing, Hindered
	Screen   news.Screen   // Hindered: what is in the way
	GivenUp  bool          // Handing, Hindered: the delivery is, and ends
	Then     Then          // Regaining, Limiting, Limited
	Met      news.LimitMet // Limiting
	Summary  string        // Parting
	examined *Report       // Settling, Judging, Parting

	// Of the conversation so far.
	Activity   dag.Activity // as it was last told
	Subagents  int          // at work now
	SentBack   int          // turns without a report in a row
	Unheard    int          // reports that did not count because mail had come
	Falters    int          // failed calls of the model in a row
	Trial      bool         // it is to find out whether the limit of its account is over
	Background bool         // what a turn left at work is waited for
	LeftAt     time.Time    // since when, whatever it was told in between; zero: it is not
	Concludes  bool         // it says when it has taken in that its report is accepted
}

// New is a conversation that has not begun.
func New(c Config) State { return State{Config: c, Activity: dag.SettingUp} }

// Report is what the agent said with `cmux done` or `cmux blocked`.
type Report struct {
	Blocked bool
	Text    string
}

// Gate is a hook that waits for its answer.
type Gate struct {
	Ref  Ref
	Asks bool // it is that of a question, not of a turn's end
	Gone bool // nobody waits any more

	question *question.Question // with Asks
}

// Call is a report or a question of the agent's that waits for its answer.
type Call struct {
	Ref     Ref
	Asks    bool // it puts a question to a person
	Options []string

	question *question.Question // with Asks
}

// Open is the question that a person is asked.
type Open struct {
	question.Question
	Reason dag.Reason // of the end where nobody answers
	Limit  time.Time  // it is whether to go on after a limit, which lasts until then; zero: it is not
}

// Channel is how a message reaches the agent.
type Channel uint8

const (
	ByProgram    Channel = iota // by the agent's own way
	ByHook                      // as the answer to the hook that waits
	ByCall                      // as the answer to the call that waits
	ByAcceptance                // it is no message: the call that waits is told that the report is good
)

// Then is what a wait was for.
type Then uint8

const (
	ThenStart   Then = iota // the program may start
	ThenRestart             // a program that has ended may go on
	ThenAnswer              // a person has answered
	ThenAwake               // a limit is over
	ThenGoOn                // what was in the way of a message is gone
)

// Safe reports whether something may be said to the agent by its own way now:
// no person is at work in it, and no question is open that keys would answer.
// Before a key is pressed its screen is looked at, too (sees).
func (s *State) Safe() bool {
	return !s.Taken && !s.Ended && s.Question == nil && !(s.Gate.Ref != 0 && s.Gate.Asks && !s.Gate.Gone)
}

// questionOpen reports whether a hook waits for the answer to a question that
// nobody has given in the pane.
func (s *State) questionOpen() bool { return s.Gate.Ref != 0 && s.Gate.Asks && !s.Gate.Gone }

// inQuestion reports whether a question to a person is open.
func (s *State) inQuestion() bool {
	return s.Gate.Ref != 0 && s.Gate.Asks || s.Call.Ref != 0 && s.Call.Asks
}

// judged reports whether it has reported, and what it says is being looked at.
func (s *State) judged() bool {
	return s.Phase == Judging || s.Phase == Closing || s.accepted()
}

// accepted reports whether its report is good, and it is being told so.
func (s *State) accepted() bool {
	return s.Phase == Parting || s.Phase == Handing && s.By == ByAcceptance
}

// Unread is what a person said and the agent is not known to have been told.
func (s *State) Unread() string {
	said := s.Missed
	said = lines(said, s.Opening)
	if s.handing() && s.Handed.Answering() && !s.Handed.dropped {
		said = lines(said, s.Handed.Text)
	}
	for _, p := range s.Pending {
		if p.Answering() {
			said = lines(said, p.Text)
		}
	}
	if s.Said != nil {
		said = lines(said, *s.Said)
	}
	return said
}

// handing reports whether a message is on its way, or waits for its way to be free.
func (s *State) handing() bool {
	return s.Phase == Handing && s.By != ByAcceptance || s.Phase == Hindered || s.Phase == AwaitingTurn
}

// abandoned reports whether the program is gone and a person decides.
func (s *State) abandoned() bool {
	return s.Phase == Left || s.Phase == Regaining && s.Then == ThenRestart
}

// delayed reports whether its program is to start, or to start again, as soon as
// its account or a slot allows.
func (s *State) delayed() bool {
	return (s.Phase == Regaining || s.Phase == Limited) && (s.Then == ThenStart || s.Then == ThenRestart) && !s.abandoned()
}

// running reports whether there is a program, or has been until now, that takes
// part.
func (s *State) running() bool {
	switch s.Phase {
	case Preparing, Examining, Halting, Left, Reviving, Closing:
		return false
	case Regaining, Limited:
		return s.Then != ThenStart && s.Then != ThenRestart
	}
	return true
}

// clocksOf are the clocks that stop with a phase.
var clocksOf = [phases][]Clock{
	Asking: {InputClock}, Left: {InputClock}, Limited: {WakeClock}, BackingOff: {BackoffClock},
	Reviving: {ReviveClock},
	Hindered: {HinderedClock}, Settling: {SettleClock}, Parting: {PartingClock},
}
