package keys

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
	"gopkg.in/yaml.v3"
)

// MaxName is the longest name, in bytes.
const MaxName = 100

// Check checks a text of a key, and returns false after recording a fault.
type Check func(r *Reader, key string, at *yaml.Node, s string) bool

// NotEmpty refuses a text that is empty.
func NotEmpty(r *Reader, key string, at *yaml.Node, s string) bool {
	if strings.TrimSpace(s) == "" {
		r.Fault(at, "remove the key or give a value", "%s is empty", key)
		return false
	}
	return true
}

// OneLine refuses a text that is empty or has a control character.
func OneLine(r *Reader, key string, at *yaml.Node, s string) bool {
	if !NotEmpty(r, key, at, s) {
		return false
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		r.Fault(at, "", "%s %q contains a control character", key, Shorten(s))
		return false
	}
	return true
}

// ProjectPattern checks a path or glob that must stay inside the project.
func ProjectPattern(r *Reader, key string, at *yaml.Node, s string) bool {
	switch {
	case !OneLine(r, key, at, s):
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~"):
		r.Fault(at, "write it relative to the project", "%s %q is absolute", key, Shorten(s))
	case slices.Contains(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("/{},", r) }), ".."):
		r.Fault(at, "it may name only what is inside the project", "%s %q leaves the project", key, Shorten(s))
	case !doublestar.ValidatePattern(s):
		r.Fault(at, `close every [ and {, or put \ before one that is meant`, "%s %q is not a valid glob", key, Shorten(s))
	default:
		return true
	}
	return false
}

// NoOption refuses what a program would read as an option.
func NoOption(r *Reader, key string, at *yaml.Node, s string) bool {
	if strings.HasPrefix(s, "-") {
		r.Fault(at, "", "%s %q begins with a dash", key, Shorten(s))
		return false
	}
	return true
}

// OneOf refuses what is none of the values.
func OneOf(allowed []string) Check {
	return func(r *Reader, key string, at *yaml.Node, s string) bool {
		if slices.Contains(allowed, s) {
			return true
		}
		hint := r.Near(s, allowed)
		if hint == "" {
			hint = "one of " + strings.Join(allowed, ", ")
		}
		r.Fault(at, hint, "%s cannot be %q", key, Shorten(s))
		return false
	}
}

// WebAddress refuses what is not the address of a page.
func WebAddress(r *Reader, key string, at *yaml.Node, s string) bool {
	if s == "" {
		return true
	}
	if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.Fault(at, "write https://HOST/PATH", "%s %q is not a web address", key, Shorten(s))
		return false
	}
	return true
}

// Near returns a hint that names the candidate nearest to word, or "". A Reader makes a
// bounded number of comparisons, so that a file full of mistakes stays linear.
func (r *Reader) Near(word string, candidates []string) string {
	return r.NearExcept(word, candidates, func(string) bool { return false })
}

// NearExcept is Near without the candidates for which not is true.
func (r *Reader) NearExcept(word string, candidates []string, not func(string) bool) string {
	candidates = candidates[:min(len(candidates), max(r.left, 0))]
	r.left -= len(candidates)
	best := nearest(word, candidates, not)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// Nearest returns the candidate that a person most likely meant by word: one that differs
// only in case, or in - and blanks for _; else the one with the fewest edits, if they are
// few for its length; else "".
func Nearest(word string, candidates []string) string {
	return nearest(word, candidates, func(string) bool { return false })
}

func nearest(word string, candidates []string, not func(string) bool) string {
	if len(word) > MaxName {
		return ""
	}
	limit := max(1, min(3, len(word)/3))
	best := ""
	for _, c := range candidates {
		if c == "" || c == word || not(c) {
			continue
		}
		if strings.EqualFold(c, word) || strings.EqualFold(strings.NewReplacer("-", "_", " ", "_").Replace(word), c) {
			return c
		}
		if d := distance(word, c, limit); d <= limit {
			best, limit = c, d-1
			if limit < 0 {
				break
			}
		}
	}
	return best
}

// distance returns the number of edits (insert, delete, replace, swap neighbors) between
// two byte strings, or more than limit as soon as it must be more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	before, prev, row := rows[0], rows[1], rows[2]
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
