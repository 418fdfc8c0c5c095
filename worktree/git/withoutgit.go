package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// TracksNothing reports whether it can be seen without git, at a tenth of its
// price, that the repository of the main worktree at root tracks neither name, at
// its root, nor anything below it. false: git is to be asked.
func TracksNothing(root, name string) bool {
	if !OwnGitDir(root) {
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

// OwnGitDir reports whether the git directory of the worktree at root is the
// .git in it, and git would find it there.
func OwnGitDir(root string) bool {
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

// PlainRoot is the root of the main worktree that dir is in, links resolved,
// where that is seen without git: the .git in it is the git directory, and
// neither its configuration nor the environment leads git elsewhere. Empty: git
// is to be asked.
func PlainRoot(dir string, environ []string) string {
	if !filepath.IsAbs(dir) || slices.ContainsFunc(environ, func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_CEILING_DIRECTORIES=") || strings.HasPrefix(kv, "GIT_DISCOVERY_ACROSS_FILESYSTEM=")
	}) {
		return ""
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if !OwnGitDir(at) || !plainConfig(at) || !mine(at) {
				return ""
			}
			return at
		}
		// In the git directory itself, or in a bare one.
		if _, err := os.Lstat(filepath.Join(at, "HEAD")); err == nil || at == filepath.Dir(at) {
			return ""
		}
	}
}

// plainConfig reports whether the configuration of the repository at root says
// nothing of where its worktree is, and takes in no other that might.
func plainConfig(root string) bool {
	config, err := os.ReadFile(filepath.Join(root, ".git", "config"))
	if err != nil || len(config) > 1<<20 {
		return false
	}
	config = bytes.ToLower(config)
	for _, word := range []string{"worktree", "include", "\\\n"} {
		if bytes.Contains(config, []byte(word)) {
			return false
		}
	}
	for line := range bytes.Lines(config) {
		if bytes.Contains(line, []byte("bare")) && !bytes.Equal(bytes.TrimSpace(line), []byte("bare = false")) {
			return false
		}
	}
	return true
}

// mine reports whether the repository at root belongs to this user, as git asks
// for.
func mine(root string) bool {
	for _, path := range []string{root, filepath.Join(root, ".git")} {
		info, err := os.Lstat(path)
		if err != nil {
			return false
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			return false
		}
	}
	return true
}

// CopyIndex copies the index at path from to path to and returns what is in it;
// nil where there is none. The copy is as old as the index: git compares times
// by the second, and looks into a file of the same size only while the index is
// no younger, so that a younger copy would hide an edit right after a commit.
func CopyIndex(from, to string) ([]byte, error) {
	// The time comes first: of an index that is replaced meanwhile, the older
	// time is the one that hides nothing.
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		return nil, err
	}
	return b, os.Chtimes(to, info.ModTime(), info.ModTime())
}
