// Package claude is the kind of agent that runs Claude Code: its terminal
// program in a pane, its stream-json mode headless.
//
// What happens in the program is learnt from its hooks, which relay to the
// attempt through `cmux hook`, and from its transcript; what the pane shows
// only keeps cmux from typing into a dialog or a person's line. Hooks come with
// a settings file of the attempt's own; the person's settings are not touched
// and stay in force.
//
// The end of a turn waits in the program's Stop hook for the attempt's
// verdict, and a question in its PermissionRequest hook for an answer, so that
// hand-backs and answers need no typing. Where no hook waits, a message is
// pasted into the pane, or written to the program headless.
package claude
