package separate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmux/worktree/git"
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

// maxPacked bounds the packed refs of the separate directory, in bytes: it began with those
// of the shared one, and may add some hundred thousand.
func (w Worktree) maxPacked() int64 {
	const more = 1 << 25
	info, err := os.Stat(filepath.Join(w.Common, "packed-refs"))
	if err != nil {
		return more
	}
	return 2*info.Size() + more
}

// readRefs reads the refs of a git directory that are taken over without asking git, which
// would read the settings there. The HEAD of a worktree that was added there counts as one,
// where it is a commit: worktrees/NAME/HEAD.
func readRefs(dir string, maxPacked int64) (map[string]string, error) {
	packed, err := readUpTo(filepath.Join(dir, "packed-refs"), maxPacked)
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
	// A worktree that was added there: its branch is among the refs, a commit without one is
	// nowhere else.
	heads, gerr := filepath.Glob(filepath.Join(git.EscapeGlob(dir), "worktrees", "*", "HEAD"))
	for _, path := range heads[:min(len(heads), maxRefs)] {
		if b, err := read(path); err == nil && len(b) <= maxLoose && isObject(strings.TrimSpace(string(b))) {
			refs["worktrees/"+filepath.Base(filepath.Dir(path))+"/HEAD"] = strings.TrimSpace(string(b))
		}
	}
	err = errors.Join(err, gerr)
	for name, to := range symbolic {
		delete(refs, name)
		if id := refs[to]; id != "" {
			refs[name] = id
		}
	}
	return refs, err
}

// ours reports whether a ref is one that is taken over: what is of one worktree, and what a
// remote has, is not, nor what cmux keeps of others.
func ours(name string) bool {
	if rest, ok := strings.CutPrefix(name, "refs/cmux/"); ok {
		kind, _, _ := strings.Cut(rest, "/")
		return kind == "snapshots" || kind == "kept" || kind == "undone"
	}
	for _, folder := range []string{"remotes", "bisect", "worktree", "rewritten", "prefetch"} {
		if strings.HasPrefix(name, "refs/"+folder+"/") {
			return false
		}
	}
	return strings.HasPrefix(name, "refs/")
}
