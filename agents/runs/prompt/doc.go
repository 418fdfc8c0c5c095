// Package prompt composes what is said to an agent: the prompt of an attempt,
// and what is handed back to it while it works.
//
// Everything here is pure: the same input gives the same text, byte for byte.
// The task and the output of checks appear whole and unchanged. Texts written
// by other agents (summaries of dependencies) are set off as quotations.
package prompt
