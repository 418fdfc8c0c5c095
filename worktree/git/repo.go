package git

// Repo is one repository: its refs and commits, and what cmux itself changed in it.
// Its methods need no lock of cmux's and may be called concurrently.
type Repo struct {
	Root   string // the main worktree, or of a bare repository the one that keeps .cmux; absolute, links resolved
	GitDir string // the common git directory, absolute
}
