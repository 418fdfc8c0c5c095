package worktree

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// prepared is what Prepare records in the private git directory.
type prepared struct {
	Done  bool        `json:"done"`
	Given []givenPath `json:"given,omitempty"`

	dirs  map[string]bool
	files map[string]givenPath
}

// givenPath is an ignored path that copy, link or setup brought. A directory
// ends in a slash; a file counts as given as long as it is unchanged.
type givenPath struct {
	Path  []byte `json:"path"` // file names need not be UTF-8
	Size  int64  `json:"size,omitempty"`
	MTime int64  `json:"mtime,omitempty"` // nanoseconds
}

func readPrepared(private string) (*prepared, error) {
	p := &prepared{dirs: map[string]bool{}, files: map[string]givenPath{}}
	b, err := os.ReadFile(filepath.Join(private, preparedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	} else if err != nil {
		return nil, err
	}
	if json.Unmarshal(b, p) != nil {
		// Torn by a crash: nothing counts as given, so more is saved, and Prepare runs again.
		p.Done, p.Given = false, nil
	}
	for _, g := range p.Given {
		if dir, ok := strings.CutSuffix(string(g.Path), "/"); ok {
			p.dirs[dir] = true
		} else {
			p.files[string(g.Path)] = g
		}
	}
	return p, nil
}

// within tells whether rel is, or lies in, a given directory.
func (p *prepared) within(rel string) bool {
	if len(p.dirs) == 0 {
		return false
	}
	for ; rel != "." && rel != "/"; rel = filepath.Dir(rel) {
		if p.dirs[rel] {
			return true
		}
	}
	return false
}

// file tells whether rel is a given file, and unchanged.
func (p *prepared) file(rel string, info fs.FileInfo) bool {
	g, ok := p.files[rel]
	return ok && g.Size == info.Size() && g.MTime == info.ModTime().UnixNano()
}
