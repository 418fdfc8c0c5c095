// Package scopes is the language of the patterns that say what an agent may write or should
// read: what a pattern covers, and whether two may cover the same file.
package scopes

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
)

// In reports whether one of the patterns covers a path, relative to the repository and
// with slashes. A pattern without wildcards covers the file or directory of that name and
// everything below it. A glob covers what it matches; if it ends in a slash, also
// everything below that. A path with the very name of a glob is covered too, such as
// app/[id]/page.tsx by app/[id]/*.tsx; Literal removes that ambiguity.
//
// No patterns cover nothing: the caller decides what an empty scope means.
func In(patterns []string, name string) bool {
	name = path.Clean(name)
	for _, p := range patterns {
		clean := path.Clean(p)
		if clean == "." || below(name, clean) || covers(p, name) {
			return true
		}
		if own := escapeOwn(p); own != p && covers(own, name) {
			return true
		}
	}
	return false
}

// covers is In for one pattern with only one reading.
func covers(pattern, name string) bool {
	if lit, ok := literal(path.Clean(pattern)); ok {
		return below(name, lit)
	}
	return doublestar.MatchUnvalidated(glob(pattern), name)
}

func below(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// Folders returns the folders that the patterns cover with everything below, and whether the
// patterns cover nothing else. isDir reports whether a path is a folder, for a pattern
// without a slash at its end.
func Folders(patterns []string, isDir func(path string) bool) (dirs []string, all bool) {
	for _, p := range patterns {
		at, whole := strings.CutSuffix(p, "/**")
		dir, ok := literal(path.Clean(at))
		if !ok || dir == "." || !whole && !strings.HasSuffix(p, "/") && !isDir(dir) {
			return nil, false
		}
		dirs = append(dirs, dir)
	}
	return dirs, len(dirs) > 0
}

// Literal returns the patterns with every existing file or folder taken by its name: if a
// folder app/[id] exists, the pattern app/[id]/ covers that folder and not app/i/. exists
// reports whether a path exists, relative to the repository and with slashes. A pattern for
// what does not exist keeps both readings, because the work may create it.
func Literal(patterns []string, exists func(path string) bool) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = escapeNames(p, func(at, part string) bool { return exists(path.Join(at, part)) })
	}
	return out
}

// Unescaped returns the patterns as a person writes them, without the escapes of Literal.
func Unescaped(patterns []string) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		parts := strings.Split(p, "/")
		for k, part := range parts {
			if lit, ok := literal(part); ok {
				parts[k] = lit
			}
		}
		out[i] = strings.Join(parts, "/")
	}
	return out
}

// At returns the patterns with those that begin with ./ made relative to the root.
// Wildcard characters in dir are literal.
func At(dir string, patterns []string) []string {
	if dir == "" || len(patterns) == 0 {
		return patterns
	}
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = p
		if rest, ok := strings.CutPrefix(p, "./"); ok || p == "." {
			out[i] = escapes().Replace(dir) + "/"
			if ok {
				out[i] += rest
			}
		}
	}
	return out
}

// escapeOwn returns the pattern with every part that may be a name escaped.
func escapeOwn(pattern string) string {
	return escapeNames(pattern, func(_, part string) bool { return !strings.Contains(part, ",") })
}

// escapeNames escapes the parts of a pattern that are names. at is the folder of the parts
// before; it is a glob if one of them is.
func escapeNames(pattern string, name func(at, part string) bool) string {
	if !strings.ContainsAny(pattern, "[{") {
		return pattern
	}
	parts := strings.Split(pattern, "/")
	at := ""
	for i, part := range parts {
		if bracketed(part) && name(at, part) {
			parts[i] = escapes().Replace(part)
		}
		lit, ok := literal(parts[i])
		if !ok {
			lit = part
		}
		at = path.Join(at, lit)
	}
	return strings.Join(parts, "/")
}

// bracketed reports whether a part of a pattern may be a file's name: it has no * or ?, and
// its brackets are balanced.
func bracketed(part string) bool {
	return strings.ContainsAny(part, "[{") && !strings.ContainsAny(part, `*?\`) && doublestar.ValidatePattern(part)
}

var escapes = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)
})

// literal returns the one path that a pattern covers with everything below; ok is false for
// a glob.
func literal(pattern string) (lit string, ok bool) {
	if !isGlob(pattern) {
		return pattern, true
	}
	if !strings.Contains(pattern, `\`) {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteByte(pattern[i])
		case isGlob(string(c)):
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

func isGlob(pattern string) bool { return strings.ContainsAny(pattern, `*?[{\`) }

// glob returns the pattern as one glob for doublestar.
func glob(pattern string) string {
	clean := path.Clean(pattern)
	if clean == "." {
		return "**"
	}
	if _, ok := literal(clean); ok || strings.HasSuffix(pattern, "/") {
		return clean + "/**" // matches the directory itself as well
	}
	return clean
}

// Tree holds scopes by the literal parts at the beginning of their globs. Two globs can
// overlap only if one's parts are a prefix of the other's.
type Tree struct {
	below map[string]*Tree
	here  []int
}

// Add adds an area of a scope.
func (t *Tree) Add(a Area, scope int) {
	for _, glob := range a.globs {
		t.add(plainParts(glob), scope)
	}
}

// Near appends the scopes that may overlap the area.
func (t *Tree) Near(out []int, a Area) []int {
	for _, glob := range a.globs {
		out = t.near(out, plainParts(glob))
	}
	return out
}

func (t *Tree) add(parts []string, value int) {
	for _, part := range parts {
		if t.below == nil {
			t.below = make(map[string]*Tree)
		}
		if t.below[part] == nil {
			t.below[part] = new(Tree)
		}
		t = t.below[part]
	}
	t.here = append(t.here, value)
}

// near appends the scopes at, above and below parts.
func (t *Tree) near(out []int, parts []string) []int {
	for _, part := range parts {
		out = append(out, t.here...)
		if t = t.below[part]; t == nil {
			return out
		}
	}
	return t.all(out)
}

func (t *Tree) all(out []int) []int {
	out = append(out, t.here...)
	for _, below := range t.below {
		out = below.all(out)
	}
	return out
}

// plainParts returns the parts before the first wildcard, in lower case.
func plainParts(glob []string) []string {
	var out []string
	for _, part := range glob {
		if isGlob(part) {
			break
		}
		out = append(out, strings.ToLower(part))
	}
	return out
}

// Area is what a pattern covers, as globs without braces, split into parts.
type Area struct {
	globs   [][]string
	literal bool
	file    bool // a file, judged by its name
}

// Areas returns the area of each pattern.
func Areas(patterns []string) []Area {
	out := make([]Area, len(patterns))
	for i, p := range patterns {
		out[i] = newArea(p)
	}
	return out
}

func newArea(pattern string) Area {
	lit, plain := literal(path.Clean(pattern))
	a := Area{literal: plain}
	if plain {
		a.file = !strings.HasSuffix(pattern, "/") && isFile(lit)
		a.globs = [][]string{append(inParts(path.Clean(pattern)), "**")}
		if lit == "." {
			a.globs = [][]string{{"**"}}
		}
		return a
	}
	if parts := inParts(glob(pattern)); !slices.ContainsFunc(parts, hasBraces) {
		a.globs = [][]string{parts}
	} else {
		for _, g := range braces(glob(pattern)) {
			a.globs = append(a.globs, strings.Split(g, "/"))
		}
	}
	if own := escapeOwn(pattern); own != pattern {
		a.globs = append(a.globs, ownName(own))
	}
	return a
}

// inParts splits a glob without braces; its names are literal.
func inParts(glob string) []string {
	parts := strings.Split(glob, "/")
	for i, part := range parts {
		if lit, ok := literal(part); ok && isGlob(lit) {
			parts[i] = verbatim + lit
		} else if ok {
			parts[i] = lit
		}
	}
	return parts
}

// verbatim marks a part of a glob that is a literal name.
const verbatim = "\x00"

// hasBraces reports whether a part has alternatives, or a form that is not easily expanded.
func hasBraces(part string) bool {
	return !strings.HasPrefix(part, verbatim) && strings.ContainsAny(part, `{\`)
}

// ownName returns the parts of a pattern from escapeOwn. It widens everything from the
// first {a,b} on.
func ownName(own string) []string {
	if lit, ok := literal(path.Clean(own)); ok {
		parts := inParts(path.Clean(own))
		if strings.HasSuffix(own, "/") || !isFile(lit) {
			parts = append(parts, "**")
		}
		return parts
	}
	parts := inParts(glob(own))
	if i := slices.IndexFunc(parts, hasBraces); i >= 0 {
		return append(parts[:i:i], "**")
	}
	return parts
}

// isFile reports whether a path has an extension, as files have. The dots of [...slug] and
// {{cookiecutter.slug}} do not count.
func isFile(name string) bool {
	base := path.Base(name)
	return hasExtension(base) && strings.LastIndexByte(base, '.') > strings.LastIndexAny(base, "]}")
}

func hasExtension(name string) bool { return strings.LastIndexByte(path.Base(name), '.') > 0 }

// FirstMeeting returns the first pattern of each scope that overlap.
func FirstMeeting(as, bs []Area) (x, y int, ok bool) {
	for x, a := range as {
		for y, b := range bs {
			for _, p := range a.globs {
				for _, q := range b.globs {
					// Any file could be a directory with something below it that a glob
					// matches, but a warning about that would not help.
					if a.file && !b.literal {
						p = p[:len(p)-1]
					}
					if b.file && !a.literal {
						q = q[:len(q)-1]
					}
					if meet(p, q) {
						return x, y, true
					}
				}
			}
		}
	}
	return 0, 0, false
}

// meet reports whether some path may match both patterns, given in parts.
func meet(a, b []string) bool {
	// The common prefix nearly always decides.
	for len(a) > 0 && len(b) > 0 && a[0] != "**" && b[0] != "**" {
		if !partsMeet(a[0], b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
	// reach[i][j]: some prefix of a path matches i parts of a and j parts of b.
	reach := make([][]bool, len(a)+1)
	for i := range reach {
		reach[i] = make([]bool, len(b)+1)
	}
	reach[0][0] = true
	for i := range reach {
		for j := range reach[i] {
			if !reach[i][j] {
				continue
			}
			manyA, manyB := i < len(a) && a[i] == "**", j < len(b) && b[j] == "**"
			// ** matches nothing, or one more part of the other pattern.
			if i < len(a) && (manyA || manyB) {
				reach[i+1][j] = true
			}
			if j < len(b) && (manyA || manyB) {
				reach[i][j+1] = true
			}
			if i < len(a) && j < len(b) && !manyA && !manyB && partsMeet(a[i], b[j]) {
				reach[i+1][j+1] = true
			}
		}
	}
	return reach[len(a)][len(b)]
}

// partsMeet reports whether some name may match both parts. Names that differ only in case
// are one file on some systems.
func partsMeet(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	nameA, plainA := plain(a)
	nameB, plainB := plain(b)
	switch {
	case plainA && plainB:
		return strings.EqualFold(nameA, nameB)
	case plainA:
		return matches(b, nameA)
	case plainB:
		return matches(a, nameB)
	}
	headA, tailA := ends(strings.ToLower(a))
	headB, tailB := ends(strings.ToLower(b))
	return (strings.HasPrefix(headA, headB) || strings.HasPrefix(headB, headA)) &&
		(strings.HasSuffix(tailA, tailB) || strings.HasSuffix(tailB, tailA))
}

// plain returns the name that a part stands for; ok is false for a glob.
func plain(part string) (name string, is bool) {
	if name, is = strings.CutPrefix(part, verbatim); is {
		return name, true
	}
	return part, !isGlob(part)
}

// matches reports whether a glob may match name in any case: [^A] matches A but not in
// lower case.
func matches(glob, name string) bool {
	return doublestar.MatchUnvalidated(glob, name) || doublestar.MatchUnvalidated(strings.ToLower(glob), strings.ToLower(name))
}

// ends returns the literal prefix and suffix of a glob.
func ends(glob string) (head, tail string) {
	head = glob[:strings.IndexAny(glob, `*?[{\`)]
	if !strings.Contains(glob, `\`) {
		tail = glob[strings.LastIndexAny(glob, "*?]}")+1:]
	}
	return head, tail
}

// braces expands {a,b}, so that the result can be split at slashes. It widens a pattern
// with too many alternatives, or with a form that is not easily expanded, to everything
// below its literal prefix.
func braces(pattern string) []string {
	if out, ok := spelled(pattern); ok {
		return out
	}
	return []string{widen(pattern)}
}

func spelled(pattern string) (out []string, ok bool) {
	const most = 64
	out = []string{""}
	for pattern != "" {
		open := strings.IndexByte(pattern, '{')
		if open < 0 {
			for i := range out {
				out[i] += pattern
			}
			break
		}
		if strings.ContainsAny(pattern[:open], `\[`) {
			return nil, false
		}
		depth, start := 1, open+1
		var alternatives []string
		at := start
		for ; at < len(pattern) && depth > 0; at++ {
			switch pattern[at] {
			case '{':
				depth++
			case '}':
				depth--
			case '\\', '[':
				return nil, false
			}
			if depth == 0 || depth == 1 && pattern[at] == ',' {
				alternatives = append(alternatives, pattern[start:at])
				start = at + 1
			}
		}
		var next []string
		for _, o := range out {
			for _, a := range alternatives {
				inner, ok := spelled(a)
				if !ok || len(next)+len(inner) > most {
					return nil, false
				}
				for _, i := range inner {
					next = append(next, o+pattern[:open]+i)
				}
			}
		}
		out, pattern = next, pattern[at:]
	}
	return out, true
}

// widen covers everything below the literal directory at the beginning of a glob.
func widen(pattern string) string {
	base, _ := doublestar.SplitPattern(pattern)
	if base == "." || isGlob(base) {
		return "**"
	}
	return base + "/**"
}
