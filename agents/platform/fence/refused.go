package fence

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	// mostMentioned bounds the paths that one text is searched for.
	mostMentioned = 64
	// longestLine bounds the lines in which paths are looked for.
	longestLine = 4 << 10
)

// refusal matches what programs print when the system refuses a write.
var refusal = regexp.MustCompile(`(?i)permission ?denied|\bEACCES\b|operation not permitted|\bEPERM\b`)

// inQuotes matches a text in the quotes that programs put around paths.
var inQuotes = regexp.MustCompile("'([^']+)'|\"([^\"]+)\"|`([^`']+)['`]|‘([^’]+)’")

// Mentioned returns the paths that a program's output names in the lines that tell of a refused
// write, absolute, without duplicates, at most 64. dir is where the program ran. It goes by
// words and finds too much: Refuses tells which of them the fence refused.
func Mentioned(text, dir string) (paths []string) {
	for line := range strings.Lines(text) {
		if len(line) > longestLine || !refusal.MatchString(line) {
			continue
		}
		for _, word := range words(line) {
			if path, ok := asPath(word, dir); ok && !slices.Contains(paths, path) {
				if paths = append(paths, path); len(paths) == mostMentioned {
					return paths
				}
			}
		}
	}
	return paths
}

// words returns what may be paths in a line: what is quoted, and each part between spaces
// and colons.
func words(line string) (all []string) {
	for _, m := range inQuotes.FindAllStringSubmatch(line, -1) {
		all = append(all, strings.Join(m[1:], ""))
	}
	parts := strings.Split(strings.TrimSpace(line), ": ")
	if len(parts) > 2 && !strings.Contains(parts[0], " ") {
		parts = parts[1:] // the program that says it
	}
	for _, part := range parts {
		all = append(all, part) // a path may have spaces
		all = append(all, strings.Fields(part)...)
	}
	return all
}

// asPath returns the clean absolute path that a word is, if it looks like one: a word
// without a slash may be any word.
func asPath(word, dir string) (string, bool) {
	word = strings.Trim(word, "'\"`‘’,;()[]<>")
	word = strings.TrimRight(word, ".:")
	if !strings.Contains(word, "/") || strings.Contains(word, "://") || strings.ContainsRune(word, 0) || !utf8.ValidString(word) || len(word) >= unix.PathMax {
		return "", false
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(dir, word)
	}
	return filepath.Clean(word), filepath.IsAbs(word)
}

// Refuses reports whether a write of path fails in the fence and would not outside of it.
func (f *Fence) Refuses(path string) bool {
	at := path
	if to, err := filepath.EvalSymlinks(path); err == nil {
		at = to
	} else { // it cannot be made
		folder, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return false
		}
		at = filepath.Join(folder, filepath.Base(path))
		path = folder
	}
	if slices.ContainsFunc(f.Write, func(place string) bool { return within(at, place) }) {
		return false
	}
	return unix.Access(path, unix.W_OK) == nil
}
