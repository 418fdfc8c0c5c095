package conversation

import (
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

// Event is something that happened, and when. Busy says that the agent was in
// the middle of a turn then whose end will be held (TurnEnded.Hold). InTurn says
// that it was in one whose end is only told: what is said goes into the turn, or
// waits for its end there.
type Event struct {
	At     time.Time
	Busy   bool
	InTurn bool
	What   What
}

// What happened: one of the types below.
type What interface{ what() }

// Ref names a hook or a call of the agent's that waits for its answer; 0 is none.
type Ref int

// What the agent's program did, and the results of effects.
type (
	// Started: the program runs. Concludes: it will say when it has taken in
	// that its report is accepted.
	// Quiet: it was told nothing, and waits.
	// Breaks: its turns can be broken off. Steers: a turn whose end is only told can
	// be given something.
	// Compacts: it can be told to compact its conversation.
	// Recalls: its conversation can be read, and Seen tells what it holds.
	Started struct{ Concludes, Quiet, Breaks, Steers, Compacts, Recalls bool }
	// Ended: the program has ended.
	Ended struct{}
	// Did: it did what its kind tells, to which it reduces the program's hooks, its
	// messages, its transcript and its screen. Hook is the hook that told of it;
	// it waits for its answer where the news is held (news.Held).
	Did struct {
		news.Event
		Hook Ref
	}
	// Knocked: a hook or a call with a question to a person came in.
	Knocked struct{ Ref Ref }
	// Gone: nobody waits for the answer to a hook or a call any more.
	Gone struct{ Ref Ref }
)

// What the agent said by command or by tool.
type (
	// Reported: it is done, or cannot go on. Call waits for the verdict.
	Reported struct {
		Blocked bool
		Text    string
		Call    Ref
		Unread  string // what a person typed and the agent has not read
	}
	// Inquired: it asks a person. Call waits for the answer.
	Inquired struct {
		question.Question
		Call Ref
	}
)

// What a person or the run decided.
type (
	Begin     struct{}              // the tree is ready: the program may start
	Cancel    struct{}              // the node is to end
	Stop      struct{}              // the run is
	Break     struct{}              // the runner was told to leave and takes the attempt along
	Overspent struct{ Text string } // a budget is used up
	Override  struct{}              // a person has decided the node
	// Answer: a person's words for the agent. ID names the order, so that one that is
	// passed on twice counts once. Ref waits to hear what becomes of them (Heard). ToOpen: they are
	// for the question that is open, and for nothing else.
	Answer struct {
		Text, ID string
		Ref      Ref
		ToOpen   bool
	}
	Release  struct{}              // a person has done with it
	Retry    struct{}              // go on in the conversation of a program that has ended
	Granted  struct{ Trial bool }  // the slot that was asked for; Trial: it finds out whether a limit is over
	NoRunner struct{}              // nobody is there to grant one
	Rang     struct{ Clock Clock } // a clock that was set
)

// What is ordered of an agent that stays.
type (
	// Give: a piece of work. One that is At it already is known to have been told of
	// it before its program was started.
	Give struct {
		ID, Text string
		At       bool
	}
	// Tell: a message. Has: its conversation holds it already. From: who wrote it to
	// the agent alone; empty: nobody who is known. Re: the id of the message that it
	// answers. Alone: it gets a turn of its own, with no other message.
	Tell struct {
		ID, Text string
		Urgency  Urgency
		Has      bool
		Alone    bool
		From, Re string
	}
	// EndTurn: a turn that is not a person's is broken off, with a message if Text is not
	// empty. Where none is under way, or the program cannot, nothing is done.
	EndTurn struct{ ID, Text string }
	// Withdraw: the piece of work is taken back. Kept: it is given again later.
	Withdraw struct {
		ID, Why string
		Kept    bool
	}
	Take    struct{}                        // a person takes it over, until Release
	Wrote   struct{ Posed *question.Posed } // it wrote a message; Posed: a question in it
	Seen    struct{ ID string }             // its conversation holds what it was handed with this ID
	Compact struct{ ID string }             // its program is to compact its conversation, now or not at all
	Kept    struct{}                        // it has committed or written down what it did in this turn
)

// What came of effects.
type (
	// Delivered: what Deliver handed over was confirmed, or refused with Failure.
	Delivered struct{ Failure string }
	// BrokenOff: the turn that Deliver was to break off is over, if it was under way still,
	// and the message is handed over next. Said is what it had said.
	BrokenOff struct{ Said string }
	// Answered: the answer to a hook or call was taken, or nobody was there.
	Answered struct{ OK bool }
	// Judged: what the verdict on a report is; nil: it is good.
	Judged struct{ Fault *Fault }
	// LimitKnown: until when the limit of the account lasts.
	LimitKnown struct{ Until time.Time }
	// Looked: its conversation holds what has these ids, of what was not seen yet.
	Looked struct{ IDs []string }
	// Recalled: its conversation holds a turn that is over. The agent got the messages with
	// these ids in the turn. The program may not have told its end.
	Recalled struct {
		IDs  []string
		Said string
	}
	// Passed: a question was sent to To as the message with this ID, of which Text
	// tells the agent; or it was not, for Failure.
	Passed struct {
		PassOn
		To, ID, Text, Failure string
	}
	// Unfit: the agent cannot begin its piece of work, or cannot continue it.
	Unfit struct {
		Reason dag.Reason
		Detail string
	}
	// Tallied: the result of the piece of work is recorded.
	Tallied struct{}
	// Refused: the program ended because it cannot go on in its conversation. Said is
	// what it was to be started with.
	Refused struct{ Said string }
	// LeftBehind: the program is gone, with all that came of it, and a person is
	// to decide.
	LeftBehind struct {
		Exit   int
		Detail string
	}
)

// Fault is what stands between a report and done.
type Fault struct {
	Reason dag.Reason
	Detail string // for the record
	Tell   string // for the agent
	Final  bool   // it is not told any more
}

func (Give) what()       {}
func (Tell) what()       {}
func (Withdraw) what()   {}
func (Take) what()       {}
func (Wrote) what()      {}
func (Kept) what()       {}
func (Compact) what()    {}
func (Seen) what()       {}
func (Looked) what()     {}
func (Recalled) what()   {}
func (BrokenOff) what()  {}
func (Passed) what()     {}
func (Tallied) what()    {}
func (Unfit) what()      {}
func (Started) what()    {}
func (Ended) what()      {}
func (Did) what()        {}
func (Inquired) what()   {}
func (Knocked) what()    {}
func (Gone) what()       {}
func (Reported) what()   {}
func (Begin) what()      {}
func (Cancel) what()     {}
func (Stop) what()       {}
func (Break) what()      {}
func (EndTurn) what()    {}
func (Overspent) what()  {}
func (Override) what()   {}
func (Answer) what()     {}
func (Release) what()    {}
func (Retry) what()      {}
func (Granted) what()    {}
func (NoRunner) what()   {}
func (Rang) what()       {}
func (Delivered) what()  {}
func (Answered) what()   {}
func (Judged) what()     {}
func (LimitKnown) what() {}
func (LeftBehind) what() {}
func (Refused) what()    {}
