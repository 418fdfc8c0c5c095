// Package git runs git and knows one repository by it: its refs, its commits and
// what cmux itself has changed there.
//
// git (2.38 or newer) is run as a program, never through a shell, with a fixed
// environment and with the repository's hooks, fsmonitor and automatic
// maintenance off. A lock that a killed git left is removed; one that is held is
// waited for. Errors a person can act on are a *hint.Error: what happened, and what to
// do next. Nothing here lends, saves or removes a worktree.
package git
