// Package conversation decides what is said to an agent and when, and what its
// words mean: turns, reports, questions, hand-backs, take-over by a person,
// usage limits, failing calls of the model, sub-agents, and what is handed over
// and confirmed.
//
// Step is all of it: it takes the state of one conversation and an event, and
// returns the new state and the effects that are to be carried out. It is pure.
// It reads no clock (an event says when it came), no file and no process;
// whoever drives it does, and says what came of it in further events. The same
// events give the same state, so a conversation can be replayed.
//
// A conversation is in one Phase at a time. Phases says what each one waits
// for and where it goes from there; docs/conversation.md is made of it. Beside
// the phase stand two facts that a person brings about in any of them: the agent
// is taken over (they type, and cmux keeps quiet until it reports or they
// release it), and its node is overridden (they have decided, and nothing is
// asked of it any more).
package conversation
