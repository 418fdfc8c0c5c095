package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ShellWord is s as one word of a command line.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// EscapeGlob is s as filepath.Glob takes it literally.
func EscapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// PathsShown bounds Dirt.Paths and the lists in messages.
const PathsShown = 5

// Shown lists the first few paths and the number of the others.
func Shown(paths []string) string {
	rest := ""
	if n := len(paths) - PathsShown; n > 0 {
		paths, rest = paths[:PathsShown], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(paths, ", ") + rest
}

// Together is "a", "a and b" or "a, b and c".
func Together(names []string) string {
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// RealPath is path made absolute with the links of its existing parents
// resolved, as git records it.
func RealPath(path string) (string, error) {
	if path == "" {
		return "", errors.New("a worktree needs a path")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	parent, err := RealPath(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}

// There reports whether path exists, as a link to nothing too. If that cannot be told it
// counts as there.
func There(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}
