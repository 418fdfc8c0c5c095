// Package kimi is the kind of agent that runs Kimi Code CLI by its wire mode
// (`kimi --wire`), in panes and headless alike.
//
// It follows the published protocol and is tested with a stand-in that speaks
// it. It has not been run against the real program.
//
// In a pane a person sees what the agent says and does as lines of text. A line
// typed there is a prompt of theirs and takes the agent over, ^C breaks its turn
// off, ^D ends it.
//
// Kimi has no sandbox. It asks leave for commands and writes, and before any
// tool call its PreToolUse hook asks cmux, where the version knows hooks: both
// are judged by package guard. What guard lets pass needs auto_accept, or a
// person in the pane.
package kimi
