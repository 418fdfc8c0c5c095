package signals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder is the name of the project's folder at the project's root, and Dir
// that of the markers, inside it.
const (
	Folder = ".cmux"
	Dir    = "signals"
)

// ignore keeps the folder out of the person's repository, all but the journal.
const ignore = `# Written by cmux. The journal can be tracked; the rest is this machine's.
*
!/journal/
!/journal/**
`

// kept are the folders that git clean -fdx must spare in any case.
var kept = []string{Dir, "runs"}

// shared are the entries that a person may want to track with the project.
var shared = []string{"journal", "config.yml"}

// Init makes the project's folder at root ready, as far as it is not. It may
// be called at any time, by any number of processes.
//
// Git ignores the folder by its own .gitignore, all but the journal.
// `git clean -fdx` skips a folder that is a repository of its own, so signals/
// and runs/ each hold an empty one. The whole folder holds one too, which
// spares every file in it, as long as there is no journal and no config.yml:
// git cannot track a file inside another repository, so once there is
// something to track that one goes, and files that lie directly in the folder
// are no longer spared. Whoever makes the journal calls Init after it.
// `git clean -ffdx` spares nothing; a run survives that, as its markers are
// put back from its records.
func Init(root string) error {
	if err := initFolder(filepath.Join(root, Folder)); err != nil {
		return fmt.Errorf("prepare %s: %w", filepath.Join(root, Folder), explain(err))
	}
	return nil
}

func initFolder(folder string) error {
	for _, sub := range kept {
		dir := filepath.Join(folder, sub)
		if err := os.MkdirAll(dir, 0o755); err != nil {
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
	for _, entry := range shared {
		if _, err := os.Lstat(filepath.Join(folder, entry)); err == nil {
			return unguard(folder)
		}
	}
	return guard(folder)
}

// guard makes dir the smallest thing that git takes for a repository: no
// object, no ref, a HEAD that names a branch without commits.
func guard(dir string) error {
	git := filepath.Join(dir, ".git")
	if _, err := os.Lstat(filepath.Join(git, "HEAD")); err == nil {
		return nil
	}
	for _, sub := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(git, sub), 0o755); err != nil {
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
	head, err := os.ReadFile(filepath.Join(git, "HEAD"))
	if err != nil || string(head) != "ref: refs/heads/none\n" {
		return nil
	}
	for _, sub := range []string{"objects", "refs"} {
		if err := os.Remove(filepath.Join(git, sub)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if err := os.Remove(filepath.Join(git, "HEAD")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(git); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
