package codex

import (
	"os"
	"path/filepath"

	"cmux/worktree/gitfile"
)

// committing are the folders of the repository that a commit in the worktree
// writes; hooks and configuration are not among them. Empty: it is no worktree.
func committing(tree string) []string {
	own, err := gitfile.Private(tree)
	if err != nil {
		return []string{} // a folder, or nothing: the sandbox's own rules hold
	}
	common := gitfile.Common(own)
	roots := []string{own}
	for _, name := range []string{"objects", "refs", "logs"} {
		if path := filepath.Join(common, name); isFolder(path) {
			roots = append(roots, path)
		}
	}
	return roots
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
