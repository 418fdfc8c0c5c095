// Package room decides what happens in a room: a conversation between a person and several
// agents, who answer, react to each other, and stop when nobody has anything to add.
//
// A room is the fold of its lines: the facts in its file, which the caller keeps. Step takes
// in an event and returns what to do: lines to append, or, once the lines that say so are
// durable, what its members are told and which clocks run. It is pure: it reads no clock,
// file or process, and the same lines and events lead to the same room. Any prefix of a
// room's lines is a room too, so a crash between two lines equals a pause.
//
// Check reads the lines of a real room and names each rule that they break.
package room
