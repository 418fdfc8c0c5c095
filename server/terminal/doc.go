// Package terminal shows the terminals of agents to a person and lets them type there.
//
// A websocket belongs to one terminal: that of a standing agent (AgentPath) or of a run's
// node (NodePath). The server sends JSON:
//
//	{"type":"screen","cols":C,"rows":R}   forget all; the next binary message draws a terminal of this size
//	{"type":"screen","log":true}          there is no pane: what comes is the log
//	{"type":"state","live":B,"holder":H,"why":W}
//	{"type":"refused","detail":D,"try":T}  what was asked for last is not done
//	{"type":"ended"}                       nothing more comes
//
// and the program's output in binary messages: bytes, which may begin or end within a
// character. holder is you, other (another page types) or empty (nobody does). why says why
// this page cannot type, or no longer can. The client sends
//
//	{"type":"take"}  {"type":"release"}  {"type":"paste","text":T}
//
// and, while it is the holder, typed text in binary messages. The terminal that it draws
// must not answer queries (device attributes, cursor position, colors): tmux has answered
// them, and the answers would be typed.
//
// Watching changes nothing: no client attaches to tmux, and the size is the pane's. One
// page types at a time, and none while somebody types in tmux. A holder that disconnects,
// or whose server ends, has released it. A client that cannot keep up misses output and
// gets the screen again; so does every client of a terminal when another one connects.
package terminal
