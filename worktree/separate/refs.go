package separate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// parsePacked reads lines of object and name, as packed-refs has them.
func parsePacked(b []byte) map[string]string {
	refs := map[string]string{}
	for line := range strings.Lines(string(b)) {
		id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok && isObject(id) && strings.HasPrefix(name, "refs/") {
			refs[name] = id
		}
	}
	return refs
}

// maxLoose is more than a file of a ref holds.
const maxLoose = 1 << 12

// readRefs reads the branches, tags, stash and cmux's own refs of a git directory without
// asking git, which would read the settings there.
func readRefs(dir string) (map[string]string, error) {
	packed, err := read(filepath.Join(dir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	refs, symbolic := parsePacked(packed), map[string]string{}
	for name := range refs {
		if !ours(name) {
			delete(refs, name)
		}
	}
	err = filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		name, rerr := filepath.Rel(dir, path)
		if err = errors.Join(err, rerr); err != nil || !d.Type().IsRegular() || !ours(name) || strings.HasSuffix(name, ".lock") {
			return err
		}
		if info, err := os.Lstat(path); err != nil || info.Size() > maxLoose {
			return nil
		}
		b, err := read(path)
		if err != nil {
			return nil // gone meanwhile
		}
		value := strings.TrimSpace(string(b))
		if to, ok := strings.CutPrefix(value, "ref: "); ok {
			symbolic[name] = to
		} else if isObject(value) {
			refs[name] = value
		}
		return nil
	})
	for name, to := range symbolic {
		delete(refs, name)
		if id := refs[to]; id != "" {
			refs[name] = id
		}
	}
	return refs, err
}

// ours reports whether a ref is one that is taken over.
func ours(name string) bool {
	for _, folder := range []string{"refs/heads/", "refs/tags/", "refs/cmux/snapshots/", "refs/cmux/kept/", "refs/cmux/undone/"} {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return name == "refs/stash"
}
