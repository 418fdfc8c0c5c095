// Package files shows files: those of a project, and both sides of those that a node or
// a task has changed.
//
// It reads files and git, and changes neither. What may hold secrets is not shown, and
// no link leads out of the project or the worktree.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"cmux/agents/control/project"
	"cmux/signals"
)

const (
	// maxShown bounds how much of a file is shown, in bytes.
	maxShown = 1 << 20
	// maxEntries bounds how many entries of a folder are shown.
	maxEntries = 10_000
)

// shownOfFolder is what of .cmux is shown: what people write and read there. The
// rest holds keys, tokens and environments.
var shownOfFolder = []string{"journal", "roles", "worker-contexts", "config.yml"}

// Files are the files of a project.
type Files struct{ *project.Project }

// FileEntry is a file or folder of the project.
type FileEntry struct {
	Name     string    `json:"name"`
	Path     string    `json:"path"` // from the project's root
	Kind     string    `json:"kind"` // file, folder, link, other
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified_at"`
}

// FileText is a file of the project.
type FileText struct {
	FileEntry
	Text   string `json:"text"`
	Binary bool   `json:"binary"` // it is no text, which is then empty
	Cut    bool   `json:"cut"`    // it goes on
}

// List is the entries of a folder of the project, folders first.
func (p *Files) List(dir string) ([]FileEntry, error) {
	f, rel, err := p.openShown(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, project.Usage("", "%s is no folder", dir)
	}
	all := []FileEntry{}
	for _, e := range entries {
		at := path.Join(rel, e.Name())
		info, err := e.Info()
		if err != nil || !isShown(at) {
			continue
		}
		all = append(all, entryOf(at, info))
	}
	slices.SortFunc(all, func(a, b FileEntry) int {
		if x, y := a.Kind == "folder", b.Kind == "folder"; x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all, nil
}

// ShowFile is a file of the project as it is now.
func (p *Files) ShowFile(name string) (*FileText, error) {
	f, rel, err := p.openShown(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, project.Usage("", "%s is no file", name)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxShown+1))
	if err != nil {
		return nil, err
	}
	t := &FileText{FileEntry: entryOf(rel, info), Cut: len(b) > maxShown}
	if t.Cut {
		b = Whole(b[:maxShown])
	}
	if t.Binary = !utf8.Valid(b) || slices.Contains(b, 0); !t.Binary {
		t.Text = string(b)
	}
	return t, nil
}

// openShown opens a file or folder of the project, inside of which it has to be
// after all links were followed.
func (p *Files) openShown(name string) (f *os.File, rel string, err error) {
	missing := project.Tag(fmt.Errorf("the project has no file %q, or it is not shown", name), project.ErrMissing)
	if name == "" {
		name = "."
	}
	if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
		return nil, "", missing
	}
	top, err := filepath.EvalSymlinks(p.Root)
	if err != nil {
		return nil, "", err
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(top, name))
	if err != nil {
		return nil, "", missing
	}
	if rel, err = filepath.Rel(top, resolved); err != nil || !filepath.IsLocal(rel) || !isShown(rel) {
		return nil, "", missing
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	// What waits for a writer is not waited for.
	f, err = root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, "", fmt.Errorf("%s may not be read", name)
	case err != nil:
		return nil, "", missing
	}
	return f, filepath.ToSlash(rel), nil
}

// isShown reports whether a path from the project's root is shown. What git keeps
// for itself may hold passwords.
func isShown(rel string) bool {
	parts := strings.Split(filepath.ToSlash(rel), "/")
	for i, part := range parts {
		if strings.EqualFold(part, ".git") {
			return false
		}
		if i == 0 && strings.EqualFold(part, signals.Folder) && len(parts) > 1 {
			return slices.Contains(shownOfFolder, parts[1])
		}
	}
	return true
}

func entryOf(rel string, info fs.FileInfo) FileEntry {
	e := FileEntry{Name: path.Base(rel), Path: rel, Kind: "other", Size: info.Size(), Modified: info.ModTime().UTC()}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		e.Kind = "file"
	case mode.IsDir():
		e.Kind, e.Size = "folder", 0
	case mode&fs.ModeSymlink != 0:
		e.Kind = "link"
	}
	return e
}
