// Package prepare gives a worktree what it needs beside its tracked files, and knows
// afterwards what in it nobody has written.
//
// A Preparer copies, links and runs setup. A Record, in the worktree's private git
// directory, lists what came that way or from the checkout itself: until such a path
// is another than it was, no status, commit or snapshot counts it as an agent's.
package prepare
