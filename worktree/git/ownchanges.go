package git

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cmux/worktree/gitfile"
)

// ownFile, in the repository's git directory, lists the changes that cmux makes
// of what all worktrees share, each line before its change. Whatever process of
// cmux made one, the others know it. It is no proof: an agent can write it, so
// it explains branches and what is gone, and never a program that git would run.
const (
	ownFile = "cmux-changes"
	maxOwn  = 1 << 20 // bytes, before it is set aside for a new one
)

// Own is one change that cmux makes itself: of a ref, or of a setting.
type Own struct {
	At  time.Time `json:"at"`
	Ref string    `json:"ref,omitempty"` // full name
	Key string    `json:"key,omitempty"` // of a setting
	Old string    `json:"old,omitempty"` // empty: it was not there, or is not known
	New string    `json:"new,omitempty"` // empty: it is removed
}

// RecordOwn records a change that is about to be made. A change that cannot be
// recorded is made all the same: at worst it is asked about.
func (r *Repo) RecordOwn(c Own) {
	c.At = time.Now()
	if strings.Trim(c.Old, "0") == "" {
		c.Old = ""
	}
	line, err := json.Marshal(c)
	if err != nil {
		return
	}
	name := filepath.Join(r.GitDir, ownFile)
	if info, err := os.Lstat(name); err == nil && info.Size() > maxOwn {
		_ = os.Rename(name, name+".old")
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return
	}
	_, _ = f.Write(append([]byte("\n"), append(line, '\n')...)) // a torn line ends at the next
	_ = f.Close()
}

// RecordOwnBranch records that cmux moves the branch of the worktree at dir to commit.
func (r *Repo) RecordOwnBranch(dir, commit string) {
	private := r.GitDir
	if dir != r.Root {
		var err error
		if private, err = r.FindPrivate(dir); err != nil {
			return
		}
	}
	b, err := gitfile.Read(filepath.Join(private, "HEAD"), 1<<16)
	if ref, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: "); err == nil && ok {
		r.RecordOwn(Own{Ref: ref, New: commit})
	}
}

// Owns are the changes that cmux has made itself since a moment, oldest first.
func (r *Repo) Owns(since time.Time) ([]Own, error) {
	var all []Own
	for _, name := range []string{ownFile + ".old", ownFile} {
		b, err := readOwn(filepath.Join(r.GitDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		for l := range strings.Lines(string(b)) {
			var c Own
			if json.Unmarshal([]byte(l), &c) == nil && c.At.After(since) {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

func readOwn(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, 2*maxOwn))
}

// CheckedOut are the branches that are checked out in linked worktrees, by full
// ref, each with the worktree's path. Whoever works there moves them.
func (r *Repo) CheckedOut() (map[string]string, error) {
	dirs, err := filepath.Glob(filepath.Join(EscapeGlob(r.GitDir), "worktrees", "*"))
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(dirs))
	for _, dir := range dirs {
		head, err := gitfile.Read(filepath.Join(dir, "HEAD"), 1<<16)
		ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
		if err != nil || !ok {
			continue
		}
		at, err := os.ReadFile(filepath.Join(dir, "gitdir"))
		if err != nil {
			continue
		}
		out[ref] = strings.TrimSuffix(strings.TrimSpace(string(at)), "/.git")
	}
	return out, nil
}

// ExcludeKey is the Key of a line that Prepare adds to info/exclude.
const ExcludeKey = "info/exclude"
