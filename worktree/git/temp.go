package git

import (
	"os"
	"path/filepath"

	"cmux/worktree/gitfile"
)

// TempDir makes a temporary folder for cmux's own git in a working tree or git directory:
// in the git directory that its worktrees share, or with own in that of the tree alone. In
// the system's temporary folder an agent in a fence could replace what cmux is about to
// write by a link, and cmux is in no fence.
func TempDir(dir, pattern string, own bool) (string, error) {
	at := dir
	if private, err := gitfile.Private(dir); err == nil {
		if at = private; !own {
			at = gitfile.Common(private)
		}
	}
	at, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(at, pattern)
}
