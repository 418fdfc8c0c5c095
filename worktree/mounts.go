package worktree

import (
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/mounts"
)

// unmounted refuses to remove a folder across a mount: what is mounted lies
// elsewhere and is not the worktree's.
func unmounted(dirs ...string) error {
	for _, dir := range dirs {
		at, err := mounts.In(dir)
		if err != nil {
			return err
		}
		if len(at) > 0 {
			words := make([]string, len(at))
			for i, m := range at {
				words[i] = "umount " + git.ShellWord(m)
			}
			return hint.Errorf(strings.Join(words, " && "), "%w: %s", ErrMounted, git.Shown(at))
		}
	}
	return nil
}
