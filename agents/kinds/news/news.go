// Package news is what a kind of agent lets whoever started it know of its
// program: what it did, and what it waits for.
//
// A kind reduces its program's hooks, its messages and its transcript to these
// types; each has the fields that mean something for it and no other. News that
// nothing but a sign of life is has no type: it is told by telling nothing.
package news

import (
	"time"

	"cmux/agents/kinds/question"
	"cmux/dag"
)

// Event is one piece of news: one of the types below.
type Event interface{ news() }

// What the program did.
type (
	// TurnEnded: it stopped working and has not reported. Hold keeps the hook that
	// told of it waiting: the turn is over only when that is answered, with what
	// comes next.
	TurnEnded struct {
		Said       string // its last text in the turn; empty: none
		Background int    // sub-agents still at work, which end in another turn
		Shells     int    // commands still at work in the background, likewise
		Hold       bool
		// InOrder: what was handed over before this is in the turn that ended, or
		// the program has told since that another began with it.
		InOrder bool
	}
	// Prompted: it was given a prompt. Own: the kind knows that it is cmux's.
	Prompted struct {
		Text string
		Own  bool
	}
	// TookOver: a person is at work in it, by a prompt, which is Text, or by a
	// key.
	TookOver struct{ Text string }
	// Asked: it waits for a person. Hold keeps the hook that told of it waiting:
	// the answer goes there.
	Asked struct {
		question.Question
		Hold  bool
		Shown bool // the kind has shown the question
		Own   bool // the agent itself asks, not its program for leave
	}
	// WentOn: it works again, without a prompt.
	WentOn struct{}
	// Worked: it got something done since its last limit or failed call. Carries:
	// the answer to the hook that told of it can hold something for the model. Printed:
	// what the tool printed, as far as the hook told.
	Worked struct {
		Carries bool
		Printed string
	}
	// Read: its conversation holds this, which it was given at a moment: a prompt, what
	// went with the answer to a hook, or what its report was answered.
	Read struct {
		Text string
		At   time.Time // zero: not known
	}
	// Compacts: a summary is about to replace its conversation, because of Trigger.
	Compacts struct{ Trigger string }
	// Compacted: a summary has replaced its conversation, as its program confirms.
	Compacted struct{ Trigger string }
	// Forgot: a summary replaced its conversation, or a new conversation began. The
	// answer to that hook can hold what the model must know.
	Forgot struct{}
	// Filled: so many tokens of its context window are in use; Window 0: how large
	// that is, is not known.
	Filled struct{ Tokens, Window int64 }
	// Delegated: so many sub-agents are at work now.
	Delegated struct{ Subagents int }
	// LimitMet: its account met a limit, until Until if that is stated.
	LimitMet struct {
		Text  string
		Until time.Time
	}
	// Faltered: a call of the model failed and ended its turn. Lasting: it will
	// fail again however long is waited. Sure: once more is in vain.
	Faltered struct {
		Text          string
		Lasting, Sure bool
	}
	// Stuck: it must not go on as it is. Own: because of a prompt of cmux's.
	Stuck struct {
		Text string
		Own  bool
	}
	// Concluded: it has taken in that its report was accepted, and asks the model
	// nothing more, once nobody waits for the answer to the hook that told of it.
	Concluded struct{}
)

// What whoever started it keeps account of.
type (
	// Used: what it has used so far.
	Used struct{ dag.Usage }
	// Converses: which conversation of the program's it is in, to be resumed.
	Converses struct{ ID string }
	// ShellBegan: a command of its shell did, by the id of its call.
	ShellBegan struct{ ID string }
	// ShellEnded: one that began has ended.
	ShellEnded struct{ ID string }
)

// Screen is what the program's terminal shows where the next key would go. It is
// told when keys are to be pressed.
type Screen interface {
	Event
	screen()
}

// What a Screen shows.
type (
	// EmptyPrompt: its prompt, in which nothing stands. A program that is told
	// things in another way than by keys has no other screen.
	EmptyPrompt struct{}
	// OwnDraft: its prompt, in which what is being delivered stands and nothing
	// else.
	OwnDraft struct{}
	// Draft: its prompt, in which a person has begun a line.
	Draft struct{}
	// Dialog: an open dialog, to which a key is an answer. Says tells a person which it
	// is, empty for one that only Name is known of.
	Dialog struct{ Name, Says string }
	// CopyMode: the terminal's own copy mode, which takes the keys.
	CopyMode struct{}
	// UnknownScreen: none of these.
	UnknownScreen struct{}
)

// Held reports whether the hook that told of e waits for its answer.
func Held(e Event) bool {
	switch e := e.(type) {
	case TurnEnded:
		return e.Hold
	case Asked:
		return e.Hold
	}
	return false
}

func (TurnEnded) news()     {}
func (Prompted) news()      {}
func (TookOver) news()      {}
func (Asked) news()         {}
func (WentOn) news()        {}
func (Worked) news()        {}
func (Read) news()          {}
func (Compacts) news()      {}
func (Compacted) news()     {}
func (Forgot) news()        {}
func (Filled) news()        {}
func (Delegated) news()     {}
func (LimitMet) news()      {}
func (Faltered) news()      {}
func (Stuck) news()         {}
func (Concluded) news()     {}
func (EmptyPrompt) news()   {}
func (OwnDraft) news()      {}
func (Draft) news()         {}
func (Dialog) news()        {}
func (CopyMode) news()      {}
func (UnknownScreen) news() {}

func (EmptyPrompt) screen()   {}
func (OwnDraft) screen()      {}
func (Draft) screen()         {}
func (Dialog) screen()        {}
func (CopyMode) screen()      {}
func (UnknownScreen) screen() {}

func (Used) news()       {}
func (Converses) news()  {}
func (ShellBegan) news() {}
func (ShellEnded) news() {}
