package agent

import (
	"context"
	"encoding/json"
	"time"

	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/news"
	"cmux/agents/platform/proc"
	"cmux/dag"
)

// Agent is one running agent.
type Agent interface {
	// Start launches the agent's program.
	Start(ctx context.Context) error
	// Deliver hands a message to the agent: a hand-back, a person's answer, as
	// Stage.MayType lets it.
	Deliver(ctx context.Context, text string) error
	// Interrupt ends the program and all that came of it, TERM before KILL
	// after the grace, and returns what it ended beside the program. It may be
	// called again, and after the program has ended.
	Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error)
	// Ended is closed when the program has ended.
	Ended() <-chan struct{}
	// Exit is how the program ended, once Ended is closed.
	Exit() proc.Exit
}

// Hooked is an Agent whose program has hooks of its own. What `cmux hook`
// says about any other is read by ParseEvent. It is called while Deliver may
// be at work, never twice at once.
type Hooked interface {
	// Hook says what a hook of the program means, and what to answer it.
	Hook(event string, payload json.RawMessage) ([]news.Event, HookReply, error)
}

// Listener is a Hooked whose hooks end its turns.
type Listener interface {
	Hooked
	// Asks reports whether hooks of that name put a question to a person. Where
	// several are open at once they are heard one after the other, so that an
	// answer is one to what was shown.
	Asks(event string) bool
	// HandBack is the answer to a hook that was held (news.Held) which sends the
	// agent on with text.
	HandBack(text string) HookReply
	// Busy reports whether a turn is under way, whose end will be held.
	Busy() bool
}

// Meter is an Agent that knows what it has used. It is asked when a turn is over and once
// its program has ended: what came in last may not have been told.
type Meter interface {
	Used() dag.Usage
}

// Concluder is an Agent that says when it has taken in the answer to a report
// by tool (Concluded), so that its conversation is whole when it is ended.
type Concluder interface{ Concludes() }

// Refuser is an Agent whose program may refuse to go on in Stage.Conversation.
type Refuser interface {
	// Refused reports whether the program ended while it was to go on in that
	// conversation, and gave no sign that it did. The caller asks after Ended.
	Refused() bool
}

// Speaker is an Agent whose program says why it ended in a place that Stage.Out
// does not show.
type Speaker interface {
	// LastWords returns the end of what the program printed before it ended. The
	// caller asks after Ended and before Interrupt.
	LastWords(ctx context.Context) string
}

// Silent is an Agent that says whether it was started without being told
// anything: it waits at its prompt.
type Silent interface{ ToldNothing() bool }

// Guarded is an Agent whose calls of tools are judged by a policy that may
// change while it runs, as a standing agent's does with each piece of work.
type Guarded interface{ Guard(places.Policy) }

// Carrier is a Hooked of whose hooks some can hold something for the model in
// their answers (news.Worked.Carries, news.Forgot).
type Carrier interface {
	// Carry is the answer to a hook of that name which does.
	Carry(hook, text string) HookReply
}

// Recaller is an Agent whose conversation can be read: news.Read tells of what it
// was given, once it stands there.
type Recaller interface {
	CanRecall() bool
	// Written is the file that the conversation is written to; "": not known yet.
	Written() string
	// Recall reads at once what the conversation holds by now, and returns what it was
	// given and Recall has not returned before, the oldest first. The first call
	// returns what earlier programs were given in it, too.
	Recall() []news.Read
}

// Turner is an Agent of which is known whether a turn is under way whose end will
// only be told. Deliver goes into that turn where Steers says so, else it waits
// for its end.
type Turner interface {
	InTurn() bool
	Steers() bool
}

// Breaker is an Agent whose turn can be broken off, so that it waits for what it
// is told next.
type Breaker interface {
	CanBreakOff() bool
	// BreakOff breaks the turn off that is under way, as Stage.MayType lets it. It
	// returns when none is.
	BreakOff(ctx context.Context) error
}

// Compacter is an Agent whose program can be told to compact its conversation.
type Compacter interface {
	CanCompact() bool
	// Compact has it do so, as Stage.MayType lets it, and returns when done is
	// closed, as it is when the program has confirmed it (news.Compacted), or when it
	// is known otherwise that it has; with an error once nothing is to be expected.
	Compact(ctx context.Context, done <-chan struct{}) error
}

// Typed is an Agent into whose program a person may type at any time. What they
// typed must not be lost with the program.
type Typed interface {
	// Unread is what a person has sent and the agent was not yet given to read.
	Unread() []string
	// Draft is what a person has typed and not sent; of a long one the end.
	Draft(ctx context.Context) string
}
