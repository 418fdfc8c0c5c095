// Package codex is the kind of agent that runs Codex, by `codex app-server`: in
// a pane and headless alike it is a conversation on the program's standard
// input and output.
//
// In a pane a person sees what the agent says and does as lines of text. A line
// typed there is a prompt of theirs and takes the agent over, ^C breaks its turn
// off, ^D ends it.
//
// What Codex asks leave for is judged by package guard. A node with auto_accept
// runs without Codex's sandbox, and every command that Codex does not hold for
// harmless, and every patch, is judged before it happens. Other nodes run in
// the sandbox: a build may write its worktree and what of the repository a
// commit needs, a review nothing; only what is to leave the sandbox is judged,
// and then asked of a person. The network is open, as reporting needs it.
package codex
