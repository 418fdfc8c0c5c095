package places

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// KeepsOut judges a path that a call names, to read or to write it. below says
// that everything below it goes with it.
func (g *Places) KeepsOut(dir, name string, below bool) string {
	all, ok := Braced(name)
	if !ok && strings.Contains(name, ".cmux") {
		return KeepsKey(name)
	}
	for _, one := range all {
		if reason := g.keepsOutOne(dir, one, below); reason != "" {
			return reason
		}
	}
	return ""
}

// maxBraced bounds the names that the braces of one word make.
const maxBraced = 64

// Braced are the names that the braces of a word make, and the word itself: in
// quotes braces are a part of the name. ok: these are all.
func Braced(name string) (all []string, ok bool) {
	all = []string{name}
	if !strings.Contains(name, "{") {
		return all, true
	}
	if len(name) > MaxValue {
		return all, false
	}
	w := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: name}}}
	if !syntax.SplitBraces(w) {
		return all, true
	}
	for one, err := range expand.BracesSeq(nil, w) {
		if err != nil || len(all) > maxBraced {
			return all, false
		}
		all = append(all, one.Lit())
	}
	return all, true
}

func (g *Places) keepsOutOne(dir, name string, below bool) string {
	if len(g.PrivateDirs) == 0 || name == "" || strings.ContainsRune(name, 0) {
		return ""
	}
	abs := name
	if !filepath.IsAbs(abs) {
		if dir == "" {
			return ""
		}
		abs = dir + string(filepath.Separator) + name
	}
	// A link itself may be meant, or what it leads to; and a program may clean
	// a path before it follows links.
	at := []string{filepath.Clean(abs)}
	for _, path := range []string{abs, filepath.Clean(abs)} {
		if r, err := g.Resolved(path); err == nil {
			at = append(at, r)
		}
	}
	for _, path := range at {
		if slices.ContainsFunc(g.MyDirs, func(m string) bool { return reachesOnly(path, m) }) {
			continue
		}
		for _, p := range g.PrivateDirs {
			if Reaches(path, p) || below && Holds(path, p) && !Holds(path, g.Home) && !Holds(path, g.TreeDir) {
				return KeepsKey(name)
			}
		}
	}
	return ""
}

// reachesOnly reports whether a path, in which nothing stands for another name,
// is the folder or lies in it.
func reachesOnly(path, folder string) bool {
	_, in := Inside(folder, path)
	return in && !strings.ContainsAny(path, "*?[{")
}

func KeepsKey(what string) string {
	return what + " is refused: cmux keeps a person's key there, by which it tells their orders from others'. Continue without it. If that cannot be done, report `blocked` and say what you need from there"
}

// Reaches reports whether a path, or what a pattern of the shell may name, is
// the folder or lies in it.
func Reaches(pattern, folder string) bool {
	const sep = string(filepath.Separator)
	want := strings.Split(strings.Trim(folder, sep), sep)
	have := strings.Split(strings.Trim(pattern, sep), sep)
	if len(have) < len(want) {
		return false
	}
	for i, name := range want {
		if ok, err := filepath.Match(have[i], name); !strings.EqualFold(have[i], name) && (err != nil || !ok) {
			return false
		}
	}
	return true
}

// MaxValue bounds what is kept of a variable's value, in bytes.
const MaxValue = 4 << 10
