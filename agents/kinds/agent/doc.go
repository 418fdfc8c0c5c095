// Package agent says what an agent is: a program that works on what it is told
// and says how it went.
//
// A kind of agent implements Agent, and of Hooked, Listener, Meter and Concluder
// what its program can do. It is started with a Stage, which is all that it
// learns of who started it, and speaks in news.Events. It knows nothing of runs,
// nodes, checks or commits; a package for a kind, and one line in the package
// kinds, is all that a new kind takes.
package agent
