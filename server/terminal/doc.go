// Package terminal shows a person the terminals of agents, and has them type there.
//
// A websocket is of one terminal: that of a standing agent (AgentPath) or of a
// run's node (NodePath). The server says in JSON what there is:
//
//	{"type":"screen","cols":C,"rows":R}   forget all; the next binary message draws a terminal of this size
//	{"type":"screen","log":true}          there is no pane: what comes is the log
//	{"type":"state","live":B,"holder":H,"why":W}
//	{"type":"refused","detail":D,"try":T}  what was asked for last is not done
//	{"type":"ended"}                       nothing more comes
//
// and what the program prints in binary messages: bytes, of which one character
// may be cut. holder is you, other (another page types) or empty (nobody does); why
// says what keeps this page from typing, or made it stop. The client says
//
//	{"type":"take"}  {"type":"release"}  {"type":"paste","text":T}
//
// and, while it is the holder, what is typed in binary messages. The terminal it
// draws must answer no queries (device attributes, cursor position, colors):
// tmux has answered them, and answers would be typed.
//
// Who looks changes nothing: nobody is attached in tmux, and the size is the
// pane's. One page types at a time, and none while somebody does in tmux; a holder
// who goes, or whose server ends, has released it. A client that does not keep up
// misses what came meanwhile, and is drawn the screen anew; so is every client of a
// terminal when another one comes.
package terminal
