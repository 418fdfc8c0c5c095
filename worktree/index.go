package worktree

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
)

// TracksNothing reports whether it can be seen without git, at a tenth of its
// price, that the repository of the main worktree at root tracks neither name, at
// its root, nor anything below it. false: git is to be asked.
func TracksNothing(root, name string) bool {
	if !ownGitDir(root) {
		return false
	}
	dir := filepath.Join(root, ".git")
	if shared, err := filepath.Glob(filepath.Join(dir, "sharedindex.*")); err != nil || shared != nil {
		return false // paths stand in there as well
	}
	index, err := os.ReadFile(filepath.Join(dir, "index"))
	if os.IsNotExist(err) {
		return true // nothing was ever added
	}
	// From version 4 on a path stands there without what it shares with the one
	// before it.
	if err != nil || len(index) < 12 || string(index[:4]) != "DIRC" || binary.BigEndian.Uint32(index[4:]) > 3 {
		return false
	}
	// With what follows it: not each path that holds the word.
	return !bytes.Contains(index, []byte(name+"/")) && !bytes.Contains(index, []byte(name+"\x00"))
}

// ownGitDir reports whether the git directory of the worktree at root is the
// .git in it, and git would find it there.
func ownGitDir(root string) bool {
	dir := filepath.Join(root, ".git")
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false // it lies elsewhere
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false // not a repository to git, which looks further up
		}
	}
	info, err := os.Stat(filepath.Join(dir, "HEAD"))
	return err == nil && info.Mode().IsRegular()
}
