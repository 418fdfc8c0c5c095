package signals

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"cmux/worktree/gitfile"

	"golang.org/x/sys/unix"
)

// Folder is the name of the project's folder in the project's root, and Dir that of the
// markers' folder in it.
const (
	Folder = ".cmux"
	Dir    = "signals"
	Locks  = "locks"
)

// ignore keeps the folder, except for the journal, out of the person's repository.
const ignore = `# Written by cmux. The journal can be tracked; the rest is this machine's.
*
!/journal/
!/journal/**
`

// kept are the folders that git clean -fdx must never remove.
var kept = []string{Dir, "runs", Locks}

// shared are the entries that a person may want to track with the project.
var shared = []string{"journal", "config.yml"}

// excluded is the text in the repository's info/exclude while the folder is a repository of
// its own, because git reads no .gitignore in such a folder.
const excluded = `# cmux: this stands here as long as .cmux has no journal and no config.yml
/.cmux/
`

// Init creates what is missing of the project's folder at root, the top of a working tree.
// It may be called at any time, by any number of processes, and starts no other.
//
// `git clean -fdx` skips an ignored folder that is a repository of its own. So signals/,
// runs/ and locks/ each hold an empty repository. Without journal and config.yml, the whole
// folder holds one too and is listed in the repository's info/exclude, which protects every
// file in it. Git cannot track files inside another repository. Once there is a journal or
// a config.yml to track, Init removes that repository, the folder's own .gitignore takes
// over, and files directly in the folder are no longer protected. A process that creates
// one of the two calls Init afterwards. `git clean -ffdx` removes everything; a run
// survives that, because cmux restores its markers from its records.
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
		return nil // no repository, so no git clean
	}
	// In either order, the folder stays ignored if the process is killed in between.
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

// commonDir finds the repository of the working tree at root without calling git. It
// follows the files that linked worktrees and submodules have in place of .git.
func commonDir(root string) (dir string, ok bool) {
	dir, err := gitfile.Private(root)
	if err != nil {
		dir = filepath.Join(root, ".git")
	}
	dir = gitfile.Common(dir)
	st, err := os.Stat(dir)
	return dir, err == nil && st.IsDir()
}

// ExcludedByOthers returns info/exclude without the part that Init wrote, and without
// those that agent programs add by themselves.
func ExcludedByOthers(exclude []byte) []byte {
	return programExcludesRE().ReplaceAll(bytes.ReplaceAll(exclude, []byte(excluded), nil), nil)
}

// programExcludesRE is what an agent program adds to info/exclude: its heading, and names
// in its own folder.
var programExcludesRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^# claude-code-runtime\n(?:\*\*/\.claude/[^\n*?\[\\]+\n)+`)
})

// exclude adds the folder to the repository's info/exclude.
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

// include undoes exclude.
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

// guard makes dir the smallest folder that git accepts as a repository: no object, no ref,
// a HEAD that names a branch without commits.
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
	// Last, because the next call checks for it.
	return WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/none\n"), 0o644)
}

// unguard undoes guard. It keeps a repository that somebody uses, which is not empty.
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
