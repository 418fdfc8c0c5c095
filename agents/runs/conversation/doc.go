// Package conversation decides what cmux sends to an agent and when, and what the
// agent's words mean: turns, reports, questions, hand-backs, takeover by a person,
// usage limits, failing calls of the model, sub-agents, and messages in delivery.
//
// Step is all of it: it takes the state of one conversation and an event, and
// returns the new state and the effects to carry out. Step is pure. It reads no
// clock, no file and no process, and an event says when it came. The caller carries
// out the effects and passes their results back as further events. The same events
// give the same state, so a conversation can be replayed.
//
// A conversation is in one Phase at a time. Phases says what each one waits for and
// where it goes from there; docs/conversation.md is generated from it. A person can
// set two facts in any phase. The agent is taken over: the person types, and cmux
// keeps quiet until the agent reports or the person releases it. The node is
// overridden: the person has decided, and cmux asks nothing of the agent any more.
package conversation
