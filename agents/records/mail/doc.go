// Package mail decides how messages get from their senders to their recipients: which
// messages may be sent, how an agent sees a message, and, with Route, which waiting
// messages are handed to whom, how, or what they wait for.
//
// Route is pure. Its caller (a server, or the keeper of a standing agent) records each step
// before it hands a message over. If a message was recorded as handed but never arrived,
// the caller looks for it in the agent's conversation and, if it is not there, hands it
// over again. So each message arrives once, whichever process is killed at any time.
//
// Bodies are stored unchanged and escaped when they leave the mailbox: here, when an agent
// sees them.
// the mailbox: here, when an agent is shown one.
package mail
