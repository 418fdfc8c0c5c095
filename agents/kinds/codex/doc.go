// Package codex is the kind of agent that runs Codex, by `codex app-server`: in
// a pane and headless alike it is a conversation on the program's standard
// input and output.
//
// In a pane a person sees what the agent says and does as lines of text. A line
// typed there is a prompt of theirs and takes the agent over, ^C breaks its turn
// off, ^D ends it.
//
// Every call of a tool is judged by package guard before it happens, by a hook
// that is given to this process alone and whose hash the conversation is told
// to trust; the person's configuration is not touched, and hooks of a
// repository stay as untrusted as they were. A version without hooks has only
// what Codex asks leave for judged, which is judged in any case.
//
// A node with auto_accept runs without Codex's sandbox. Other nodes run in it: a
// build may write its worktree and what of the repository a commit needs, a
// review nothing; what is to leave the sandbox is asked of a person. In a fence
// of cmux, that fence takes the sandbox's place, which could not start there:
// nothing leaves it, so that nothing is asked. The network is open, as reporting
// needs it.
package codex
