// Package mail is how a message gets from who wrote it to who it is for, as far
// as that can be said without doing it: what may be sent, what an agent is
// shown of a message, and Route, which says of what waits which is handed to
// whom, how, or what it waits for.
//
// Route is pure. Whoever carries its steps out (a server, or what keeps a
// standing agent) records first and hands over then: a message that was recorded
// as handed and never arrived is looked for in the agent's conversation, and
// handed over again if it is not there. So it arrives once, whatever is killed
// when.
//
// Bodies are kept as they were written and are made harmless where they leave
// the mailbox: here, when an agent is shown one.
package mail
