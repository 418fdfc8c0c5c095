// Package separate gives a linked worktree a git directory of its own for a while, a
// complete repository that borrows the objects of the shared one (git's alternates) and
// begins with its refs. What runs in the worktree meanwhile commits, rebases, stashes and
// collects garbage there, and needs to write nothing of the shared repository: a fence can
// deny it all of that. End takes the commits over.
//
// The separate directory lies in the worktree's private one. Nothing in it is believed:
// End runs no git in it, reads only regular files, and writes nothing but objects that git
// has named itself, the worktree's own branch, new branches and tags, and the state of the
// worktree.
package separate
