package codex

import (
	"os"
	"path/filepath"
	"strings"
)

// committing are the folders of the repository that a commit in the worktree
// writes; hooks and configuration are not among them. Empty: it is no worktree.
func committing(tree string) []string {
	b, err := os.ReadFile(filepath.Join(tree, ".git"))
	if err != nil {
		return []string{} // a folder, or nothing: the sandbox's own rules hold
	}
	own, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok {
		return []string{}
	}
	if !filepath.IsAbs(own) {
		own = filepath.Join(tree, own)
	}
	common := own
	if b, err := os.ReadFile(filepath.Join(own, "commondir")); err == nil {
		if common = strings.TrimSpace(string(b)); !filepath.IsAbs(common) {
			common = filepath.Join(own, common)
		}
	}
	roots := []string{filepath.Clean(own)}
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
