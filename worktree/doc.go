// Package worktree is git: it lends each node a git worktree and takes it
// back, merges contributions without a checkout, and saves work before
// anything that could lose it.
//
// A Repo is one repository, found from any of its directories. A Tree has one
// owner from Lend until Remove; the owner is recorded in the worktree's
// private git directory, so that a later process knows its own tree again.
// Lend continues a branch that exists, adopts a clean tree, goes on in a dirty
// one of the same owner and refuses everything else, changing nothing.
// Snapshot saves all that a removal would lose as one commit under
// refs/cmux/snapshots, and Restore brings it back byte for byte.
//
// Package git, below, runs git. Errors a person can act on are a *hint.Error: what
// happened, and what to do next. It imports no package of cmux from outside this folder.
package worktree
