// Package wrapper is the process that owns one attempt of one node: `cmux
// agents exec`, in a pane or headless.
//
// It holds the node's lock for as long as it lives, listens on the node's
// socket, carries the attempt out (package attempt) and commits its end. It
// needs nobody. Killed, it leaves a free lock and a recorded beginning, from
// which the next runner learns that the attempt is lost.
//
// The socket speaks JSON: a line with an attempt.Message per request and a
// line with an attempt.Reply for each, any number on one connection. A
// connection that is held open ends when the wrapper does.
package wrapper
