// Package proc starts programs so that none outlives its owner, and ends a
// program with everything it started.
//
// An Identity identifies a process: a pid alone may be another process a moment later. A
// process belongs to a Program only with proof: it is the program, a descendant of it, a
// member of its session, or has the program's Mark in its environment. The package never
// signals a process without proof, nor the caller or one of its ancestors.
//
// On Linux the caller becomes a child subreaper, so that a program's orphans stay its
// descendants, and programs die with their owner. macOS has neither; there, the marks are
// the only proof once a parent has gone.
package proc
