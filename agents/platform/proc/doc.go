// Package proc starts programs so that none outlives its owner, and ends a
// program with everything it started.
//
// A process is named by its Identity: a pid alone may be another process a
// moment later. A process belongs to a Program only when that is proven: it is
// the program, a descendant of it, a member of its session, or carries the
// program's Mark in its environment. Nothing unproven is ever signalled, nor
// is the caller or an ancestor of it.
//
// On Linux the caller becomes a child subreaper, so that orphans of a program
// stay in sight, and programs die with their owner. macOS has neither; there
// the marks are the only proof once a parent has gone.
package proc
