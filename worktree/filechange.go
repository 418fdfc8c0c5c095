package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cmux/worktree/git"
)

// How says what happened to a file.
type How string

const (
	FileAdded    How = "added"
	FileModified How = "modified"
	FileDeleted  How = "deleted"
	FileRenamed  How = "renamed" // Was is its path before
	FileRetyped  How = "retyped" // a file became a link, or the other way round
	FileUnmerged How = "unmerged"
)

// FileChange is what happened to one file between two states of a tree. A binary
// file counts no lines.
type FileChange struct {
	Path    string `json:"path"`
	Was     string `json:"was,omitempty"` // renamed: its path before
	How     How    `json:"how"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
}

// ReadChanges reads what git diff -z --raw --numstat says: first what happened to
// each file, then its lines. A copy counts as an added file.
func ReadChanges(out string) ([]FileChange, error) {
	var all []FileChange
	at := make(map[string]int)
	left := git.Fields(out)
	next := func() (f string) {
		if len(left) > 0 {
			f, left = left[0], left[1:]
		}
		return f
	}
	for len(left) > 0 {
		f := next()
		var c FileChange
		if strings.HasPrefix(f, ":") {
			parts := strings.Fields(f) // :MODE MODE SHA SHA STATUS, then PATH, and of a rename another
			if len(parts) != 5 {
				return nil, fmt.Errorf("git diff: unexpected line %q", f)
			}
			switch parts[4][0] {
			case 'A':
				c.How = FileAdded
			case 'C':
				c.How = FileAdded
				next()
			case 'D':
				c.How = FileDeleted
			case 'R':
				c.How, c.Was = FileRenamed, next()
			case 'T':
				c.How = FileRetyped
			case 'U':
				c.How = FileUnmerged
			default:
				c.How = FileModified
			}
			c.Path = next()
			if i, twice := at[c.Path]; twice { // an unmerged file is listed again as what it is now
				all[i].How = FileUnmerged
				continue
			}
			at[c.Path] = len(all)
			all = append(all, c)
			continue
		}
		parts := strings.SplitN(f, "\t", 3) // ADDED, DELETED, PATH; - for binary; of a rename an empty PATH, and both behind it
		if len(parts) != 3 {
			return nil, fmt.Errorf("git diff: unexpected line %q", f)
		}
		path := parts[2]
		if path == "" {
			next()
			path = next()
		}
		i, known := at[path]
		if !known {
			return nil, fmt.Errorf("git diff: lines of %q, which is not listed", path)
		}
		all[i].Binary = parts[0] == "-"
		all[i].Added, _ = strconv.Atoi(parts[0])
		all[i].Deleted, _ = strconv.Atoi(parts[1])
	}
	return all, nil
}

// Exists returns a function that reports whether a path with slashes is there
// below root. Below "" nothing is.
func Exists(root string) func(path string) bool {
	return func(path string) bool {
		if root == "" {
			return false
		}
		_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(path)))
		return err == nil
	}
}
