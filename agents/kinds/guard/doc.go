// Package guard decides, before a tool call of an agent happens, whether it
// may: writes stay inside the node's worktree and scope, what reaches other
// agents or the run's own state is refused, a review writes nothing.
//
// Decide itself has no effect: what it asks of the disk and of git it asks of
// functions that are given.
// What it refuses carries a reason that tells the agent what to do instead.
//
// What is surely harmless it grants: then nobody need be asked for a permission
// (docs/grants.md). That is decided the other way round, by package grant.
//
// Write tools are judged exactly. A shell command is read as far as it can be
// without running it: quotes, lists, pipes, substitutions, wrappers such as
// sudo, env and xargs, scripts in strings. Names that are made at run time are
// let pass. That is no sandbox: in a worktree git shows afterwards what was
// written, and a review's shell is limited by the sandbox of its kind, where
// the kind has one.
package guard
