// Package dag is the scheduler's pure core: it parses .cmux-agents.yml into a Graph,
// decides with Step what happens next, and reports with Status how every node stands. Label
// turns a status into words.
//
// The package reads no clock and starts no process. It reads no file except through the
// functions that Parse's caller passes. Rebuild computes from recorded Facts the same State
// that Step reaches one Change at a time. It imports no other package of cmux but
// plainjson.
package dag
