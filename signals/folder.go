package signals

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmux/worktree/gitfile"

	"golang.org/x/sys/unix"
)

// Folder is the name of the project's folder at the project's root, and Dir
// that of the markers, inside it.
const (
	Folder = ".cmux"
	Dir    = "signals"
	Locks  = "locks"
)

// ignore keeps the folder out of the person's repository, all but the journal.
const ignore = `# Written by cmux. The journal can be tracked; the rest is this machine's.
*
!/journal/
!/journal/**
`

// kept are the folders that git clean -fdx must spare in any case.
var kept = []string{Dir, "runs", Locks}

// shared are the entries that a person may want to track with the project.
var shared = []string{"journal", "config.yml"}

// excluded is what stands in the repository's info/exclude while the folder is
// a repository of its own: git does not look for a .gitignore inside those.
const excluded = `# cmux: this stands here as long as .cmux has no journal and no config.yml
/.cmux/
`

// Init makes the project's folder at root, the top of a working tree, ready as
// far as it is not. It may be called at any time, by any number of processes,
// and starts no other.
//
// `git clean -fdx` skips an ignored folder that is a repository of its own, so
// signals/, runs/ and locks/ each hold an empty one. The whole folder holds one too,
// and is named in the repository's info/exclude, which spares every file in
// it, as long as there is no journal and no config.yml. Git cannot track a
// file inside another repository, so once there is one of these to track, that
// arrangement goes, the folder's own .gitignore takes over, and files that lie
// directly in the folder are no longer spared. Whoever makes one of the two
// calls Init after it. `git clean -ffdx` spares nothing; a run survives that,
// as its markers are put back from its records.
func Init(root string) error {
	if err := initFolder(root, filepath.Join(root, Folder)); err != nil {
		return fmt.Errorf("prepare %s: %w", filepath.Join(root, Folder), explain(err))
	}
	return nil
}

func initFolder(root, folder string) error {
	for _, sub := range kept {
		dir := filepath.Join(folder, sub)
		if err := MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := guard(dir); err != nil {
			return err
		}
	}
	name := filepath.Join(folder, ".gitignore")
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		if err := WriteFile(name, []byte(ignore), 0o644); err != nil {
			return err
		}
	}
	gitDir, ok := commonDir(root)
	if !ok {
		return nil // no repository, nothing to be spared from
	}
	// In either order a kill in between leaves the folder ignored.
	for _, entry := range shared {
		if _, err := os.Lstat(filepath.Join(folder, entry)); err == nil {
			return errors.Join(unguard(folder), include(gitDir))
		}
	}
	if err := exclude(gitDir); err != nil {
		return err
	}
	return guard(folder)
}

// commonDir finds the repository of the working tree at root without asking
// git. It follows what linked worktrees and submodules have instead of a folder.
func commonDir(root string) (dir string, ok bool) {
	dir, err := gitfile.Private(root)
	if err != nil {
		dir = filepath.Join(root, ".git")
	}
	dir = gitfile.Common(dir)
	st, err := os.Stat(dir)
	return dir, err == nil && st.IsDir()
}

// ExcludedByOthers is what others than Init wrote of a repository's info/exclude.
func ExcludedByOthers(exclude []byte) []byte {
	return bytes.ReplaceAll(exclude, []byte(excluded), nil)
}

// exclude names the folder in the repository's info/exclude.
func exclude(gitDir string) error {
	name := filepath.Join(gitDir, "info", "exclude")
	have, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if strings.Contains(string(have), excluded) {
		return nil
	}
	if len(have) > 0 && have[len(have)-1] != '\n' {
		have = append(have, '\n')
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return WriteFile(name, append(have, excluded...), 0o644)
}

// include takes back what exclude did.
func include(gitDir string) error {
	name := filepath.Join(gitDir, "info", "exclude")
	have, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !strings.Contains(string(have), excluded) {
		return nil
	}
	if err != nil {
		return err
	}
	return WriteFile(name, []byte(strings.ReplaceAll(string(have), excluded, "")), 0o644)
}

// guard makes dir the smallest thing that git takes for a repository: no
// object, no ref, a HEAD that names a branch without commits.
func guard(dir string) error {
	git := filepath.Join(dir, ".git")
	if _, err := os.Lstat(filepath.Join(git, "HEAD")); err == nil {
		return nil
	}
	for _, sub := range []string{"objects", "refs"} {
		if err := MkdirAll(filepath.Join(git, sub), 0o755); err != nil {
			return err
		}
	}
	// Last, as it is what the next call looks for.
	return WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/none\n"), 0o644)
}

// unguard takes back what guard made. A repository that somebody uses is not
// empty, and stays.
func unguard(dir string) error {
	git := filepath.Join(dir, ".git")
	head, err := ReadFile(filepath.Join(git, "HEAD"), 1<<10)
	if err != nil || string(head) != "ref: refs/heads/none\n" {
		return nil
	}
	for _, sub := range []string{"objects", "refs"} {
		if err := rmdir(filepath.Join(git, sub)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return MkdirAll(filepath.Join(git, "objects"), 0o755)
		}
	}
	if err := RemoveFile(filepath.Join(git, "HEAD")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := rmdir(git); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func rmdir(path string) error {
	return at(path, func(dir int, name string) error { return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
}
