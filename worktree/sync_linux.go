package worktree

import (
	"os"

	"golang.org/x/sys/unix"
)

// Sync returns when what git wrote for the repository so far survives a power
// cut. git itself syncs neither loose objects nor refs by default. Other files
// of the same file system are written too.
func (r *Repo) Sync() error {
	dir, err := os.Open(r.GitDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(dir.Fd())))
}
