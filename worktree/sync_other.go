//go:build !linux

package worktree

import "golang.org/x/sys/unix"

// Sync has what git wrote for the repository so far written to the disk, as far
// as the system does so when it is asked.
func (r *Repo) Sync() error {
	unix.Sync()
	return nil
}
