// Package runner carries a run to its end. A Runner owns what spans nodes:
// readiness, worktrees, retries, 99s, gates and requests; each attempt lives on
// a host (package host), in a process of its own or in this one.
//
// The runner is a reconciler. All it knows it has read from the run's records,
// markers and locks: facts are appended to the records first and taken in by
// reading them back, the pure dag.State says what follows, and what follows is
// carried out. A runner that is killed at any moment is replaced by another
// that rebuilds the same State.
package runner
