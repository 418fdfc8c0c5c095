package run

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
)

// MachineNames returns the names that a session of the project at root may take on the
// machine, in the order in which to try them: the session's own, then two that contain
// the project. Another project may have a tmux session or a worktree of the first name.
func MachineNames(session, root string) []string {
	project := regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(filepath.Base(root), "-")
	sum := sha256.Sum256([]byte(root))
	own := session + "-" + project
	return []string{session, own, own + "-" + hex.EncodeToString(sum[:2])}
}
