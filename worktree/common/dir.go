// Package common is what all worktrees of a repository share: git's settings, hooks,
// attributes and refs.
//
// A State is what was there at a moment, and Compare lists the Changes from one to
// another: which of them decide what programs git runs, and which are ordinary. A Dir
// reads states and brings back what changed. It follows no link and changes nothing
// outside the repository.
package common

import "cmux/worktree/git"

// Dir is the common git directory of a repository.
type Dir struct{ repo *git.Repo }

// Of returns the common git directory of repo.
func Of(repo *git.Repo) Dir { return Dir{repo} }
