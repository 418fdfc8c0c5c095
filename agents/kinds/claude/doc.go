// Package claude is the kind of agent that runs Claude Code: its terminal program in a
// pane, and its stream-json mode headless.
//
// cmux learns what the program does from its hooks, which call the attempt through `cmux
// hook`, and from its transcript. It reads the pane only to avoid typing into a dialog or a
// person's line. The hooks are in a settings file of the attempt; the person's own settings
// do not change and apply too.
//
// The end of a turn waits in the program's Stop hook for the attempt's verdict, and a
// question in its PermissionRequest hook for an answer, so that hand-backs and answers need
// no typing. If no hook waits, a message is pasted into the pane, or written to the program
// headless.
package claude
