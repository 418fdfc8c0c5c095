package conversation

import (
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

// Effect is something to be carried out: one of the types below. The effects of
// a step are carried out in order. Those that take long come last and are
// answered by an event.
type Effect interface{ effect() }

// Clock is one of the clocks of a conversation.
type Clock uint8

const (
	InputClock      Clock = iota // a person is to answer
	WakeClock                    // a limit ends
	BackoffClock                 // a failed call of the model is tried again
	SettleClock                  // sub-agents are to end after a report
	BackgroundClock              // what a turn left at work is to end
	PartingClock                 // the agent is to take in that its report is accepted
	ReviveClock                  // a program that has ended is started again
	HinderedClock                // then a person is told what blocks a message
	SlipClock                    // what went with a hook is to be seen
	AnswerClock                  // who gave an answer is told what it waits for
	clocks
)

// Why something of cmux's is said to an agent.
type Why uint8

const (
	ByPerson     Why = iota // a person's words
	NoReport                // its turn ended without a report
	LimitOver               // the limit of its account is over
	CallFailed              // a call of the model had failed
	FromVerdict             // its report was not good
	WasUnread               // it reported without what a person had said
	FromMail                // a message
	NewWork                 // a piece of work
	NoWork                  // its piece of work was taken back
	Unkept                  // its turn ended, and nothing of what it did is kept
	Compaction              // no words: its program is to compact its conversation
	Interruption            // no words: its turn is broken off
)

// Message is something that is handed to an agent.
type Message struct {
	Why  Why
	Text string // ByPerson, WasUnread: a person's words; FromVerdict: the fault; of an agent that stays: all of it
	ID   string // FromMail, NewWork: is told when the agent has it; with commas between those of several; Compaction, Interruption: of the order
	// Shown says that it was tried to hand it over before: a person has seen it.
	Shown   bool
	Asked   bool    // it goes to a hook or a call that waits for the answer to a question
	Urgency Urgency // FromMail, NoWork
	Alone   bool    // FromMail: it goes together with no other
	// Of is the question that it answers, which went as a message; nil: one that is open,
	// or none.
	Of *question.Posed

	refs    []Ref              // whoever gave it waits to hear what becomes of it
	parts   []Message          // of several messages that go together; nil: it is one
	asked   *question.Question // with Asked: what it answers
	open    *Open              // ByPerson: the question that it answers, which is open again if it is dropped
	dropped bool               // whoever gave it was told that it is not sent
	tries   int                // how often it was handed over and not seen in the conversation
}

// Answering reports whether m answers a question: cmux's own words do not.
func (m Message) Answering() bool { return m.Why == ByPerson || m.Why == WasUnread }

// lasts reports whether m is still to be said whatever the agent did meanwhile.
func (m Message) lasts() bool { return m.Why == FromMail || m.Why == NewWork || m.Why == NoWork }

// Effects that are done at once.
type (
	// Become records what the agent is doing.
	Become struct {
		Activity dag.Activity
		Until    time.Time
		Detail   string
		Question *question.Question
		Revives  bool // SettingUp: its program ended, as Detail says, and starts again
	}
	// Note is told to whoever looks.
	Note struct{ Text string }
	// ShowQuestion shows what the agent asks.
	ShowQuestion struct{ question.Question }
	// TakeDown records a report or a question that came by a call.
	TakeDown struct {
		Word string // done, blocked, ask
		Text string
	}
	// TurnSaid records what a turn said. To has the ids of all messages that the agent
	// read in the turn, with commas between them; empty: it read none. BrokenOff: it was
	// broken off by cmux, and said no more.
	TurnSaid struct {
		To, Text  string
		BrokenOff bool
	}
	// LetGo answers a hook with nothing.
	LetGo struct{ Ref Ref }
	// HangUp answers a call that its answer will not come.
	HangUp struct {
		Ref Ref
		Why string
	}
	// Reply answers a call with something that is not handed to the agent as work.
	Reply struct {
		Ref  Ref
		Text string
	}
	// Heard answers whoever gave an Answer with its Fate, and for Waits with why.
	Heard struct {
		Ref  Ref
		Fate Fate
		Why  string
	}
	// PassOn sends a question to whoever the agent works for; Passed answers. Ref is
	// the hook or the Call that waits for the result.
	PassOn struct {
		question.Question
		Ref  Ref
		Call bool
	}
	// Tellback answers a hook or a call with something for the agent.
	Tellback struct {
		Ref  Ref
		Text string
	}
	// Settle records that the question which went to the person as the message with
	// this ID needs no answer any more.
	Settle struct{ ID string }
	// Pose records the question by message that the agent waits for from now on, in
	// later conversations too; nil: none.
	Pose struct{ *question.Posed }
	// Slip has the hook that is being answered carry a message.
	Slip struct{ Message }
	// LookBack has what the agent's conversation holds read at once, before what was
	// not seen in it is handed over again; Looked answers.
	LookBack struct{}
	// Confirm records that the agent has read what has this ID: its conversation holds
	// that, or where that cannot be read, its program has taken it.
	Confirm struct{ ID string }
	// Deny refuses the request that the event was.
	Deny struct{ Why string }
	// Hear takes up a question, of which Asked tells: no other is open.
	Hear struct{ Ref Ref }
	// Arm sets a clock, to a duration from now or to a moment of the wall clock.
	Arm struct {
		Clock Clock
		For   time.Duration
		Until time.Time
	}
	// Disarm stops a clock.
	Disarm struct{ Clock Clock }
	// Want asks for a slot; Granted or NoRunner answer.
	Want struct{}
	// TakeSlot records that the conversation continues without a granted slot.
	TakeSlot struct{}
	// AccountWorks records that the model answered an attempt on trial.
	AccountWorks struct{}
	// FindLimit records that the account met a limit; LimitKnown answers.
	FindLimit struct{ Limit news.LimitMet }
	// GoAhead lets the agent press a key for the delivery under way, if the last
	// look directly before shows the screen that was told; else it tells the new one.
	GoAhead struct{}
	// GiveUp ends the delivery under way.
	GiveUp struct{}
	// Unclock has no clock of the node's run any more.
	Unclock struct{}
	// Abandon leaves the node to a person: its program is gone.
	Abandon struct {
		Exit   int
		Detail string
	}
)

// Effects that take long. At most one is under way; another one takes its place.
type (
	// Launch starts the program, again with what a person Said.
	// Idle: it is told nothing where its conversation goes on. Cut: it is told that its
	// last program was cut off in the middle of a turn.
	Launch struct {
		Again, Trial, Idle, Cut bool
		Said                    string
	}
	// Deliver hands a message over: to Hook or Call, which wait for one, else by
	// the agent's own way, with its turn broken off first where Break says so. Answered, or Delivered, says what came
	// of it.
	Deliver struct {
		Message
		Hook, Call Ref
		Break      bool
	}
	// Accept tells the call that waits for the verdict that the report is
	// accepted. Answered has the result.
	Accept struct{ Call Ref }
	// Judge finds out whether what was reported is so.
	Judge struct{}
	// Examine finds out what a program left that has ended without a report.
	Examine struct{}
	// Halt ends the program of an agent that is stuck; what is under way is
	// broken off.
	Halt struct{ Why string }
	// WorkOver records how a piece of work ended. Tallied answers.
	WorkOver struct {
		ID string
		Close
	}
	// Close ends the conversation; what is under way is broken off.
	Close struct {
		End     Ending
		Reason  dag.Reason // Failed
		Detail  string
		Summary string // Finished: what the agent reported
	}
)

// Ending is how a conversation ended.
type Ending uint8

const (
	Finished  Ending = iota // its report is good, or a person has decided
	Failed                  // for Reason
	Faulty                  // the model failed
	Cancelled               // by a person
	Stopped                 // with its run
	Broken                  // with its runner
)

func (Reply) effect()        {}
func (TurnSaid) effect()     {}
func (Heard) effect()        {}
func (PassOn) effect()       {}
func (Tellback) effect()     {}
func (Slip) effect()         {}
func (Settle) effect()       {}
func (Pose) effect()         {}
func (LookBack) effect()     {}
func (Confirm) effect()      {}
func (WorkOver) effect()     {}
func (Become) effect()       {}
func (Note) effect()         {}
func (ShowQuestion) effect() {}
func (TakeDown) effect()     {}
func (LetGo) effect()        {}
func (HangUp) effect()       {}
func (Deny) effect()         {}
func (Hear) effect()         {}
func (Arm) effect()          {}
func (Disarm) effect()       {}
func (Want) effect()         {}
func (TakeSlot) effect()     {}
func (AccountWorks) effect() {}
func (FindLimit) effect()    {}
func (GoAhead) effect()      {}
func (GiveUp) effect()       {}
func (Unclock) effect()      {}
func (Abandon) effect()      {}
func (Launch) effect()       {}
func (Deliver) effect()      {}
func (Accept) effect()       {}
func (Judge) effect()        {}
func (Examine) effect()      {}
func (Halt) effect()         {}
func (Close) effect()        {}
