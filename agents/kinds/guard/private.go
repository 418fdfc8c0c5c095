package guard

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// readPaths are what a tool that reads is about to read; none: where it stands.
func (in input) readPaths() []string {
	var found []string
	for _, n := range []string{"file_path", "notebook_path", "path", "uri"} {
		if s := in.text(n); s != "" {
			found = append(found, strings.TrimPrefix(s, "file://"))
		}
	}
	if len(found) == 0 {
		found = []string{"."}
	}
	return found
}

// readTool refuses what nobody but a person's own cmux reads.
func (g *guard) readTool(c Call, in input) string {
	for _, p := range in.readPaths() {
		if reason := g.keepsOut(c.Dir, p, true); reason != "" {
			return reason
		}
	}
	return ""
}

// keepsOut judges a path that a call names, to read or to write it. below says
// that everything below it goes with it.
func (g *guard) keepsOut(dir, name string, below bool) string {
	all, ok := braced(name)
	if !ok && strings.Contains(name, ".cmux") {
		return keepsKey(name)
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

// braced are the names that the braces of a word make, and the word itself: in
// quotes braces are a part of the name. ok: these are all.
func braced(name string) (all []string, ok bool) {
	all = []string{name}
	if !strings.Contains(name, "{") {
		return all, true
	}
	if len(name) > maxValue {
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

func (g *guard) keepsOutOne(dir, name string, below bool) string {
	if len(g.private) == 0 || name == "" || strings.ContainsRune(name, 0) {
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
		if r, err := g.resolve(path); err == nil {
			at = append(at, r)
		}
	}
	for _, path := range at {
		if slices.ContainsFunc(g.mine, func(m string) bool { return reachesOnly(path, m) }) {
			continue
		}
		for _, p := range g.private {
			if reaches(path, p) || below && holds(path, p) && !holds(path, g.home) && !holds(path, g.tree) {
				return keepsKey(name)
			}
		}
	}
	return ""
}

// reachesOnly reports whether a path, in which nothing stands for another name,
// is the folder or lies in it.
func reachesOnly(path, folder string) bool {
	_, in := inside(folder, path)
	return in && !strings.ContainsAny(path, "*?[{")
}

func keepsKey(what string) string {
	return what + " is refused: cmux keeps a person's key there, by which it tells their orders from others'. Continue without it. If that cannot be done, report `blocked` and say what you need from there"
}

// reaches reports whether a path, or what a pattern of the shell may name, is
// the folder or lies in it.
func reaches(pattern, folder string) bool {
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

// speaking are programs of which a word is most often a text about a path.
var speaking = []string{"cmux", "git", "echo", "printf"}

// privacy judges the words of a command for what they name, in an option's value
// and inside of a script for another interpreter too.
func (s *shell) privacy(args []word) {
	if len(s.private) == 0 {
		return
	}
	program := filepath.Base(args[0].text)
	for i, a := range args[1:] {
		below := program == "git" && args[i].is("-C", "--git-dir", "--work-tree") || descends(program, args[1:])
		if _, value, ok := strings.Cut(a.text, "="); ok {
			s.reads(word{value, a.whole}, below)
		}
		s.reads(a, below)
		if slices.Contains(speaking, program) {
			continue
		}
		for _, p := range s.private {
			s.spoken(a.text, p, s.mine)
			if rel, ok := ofState(p); ok {
				mine := make([]string, len(s.mine))
				for i, m := range s.mine {
					mine[i], _ = ofState(m)
				}
				s.spoken(a.text, rel, mine)
			}
		}
	}
}

// ofState is a path in a folder of cmux's state as it is called beside that.
func ofState(path string) (rel string, ok bool) {
	i := strings.LastIndex(path, "/.cmux/")
	return path[i+1:], i >= 0
}

// spoken judges a text, such as a script for another interpreter, that has a
// private path p in it.
func (s *shell) spoken(text, p string, mine []string) {
	relative, at := !filepath.IsAbs(p), 0
	for before, after, found := strings.Cut(text, p); found; before, after, found = strings.Cut(after, p) {
		at += len(before)
		ahead := strings.TrimSuffix(text[:at], "./")
		at += len(p)
		if l, _ := utf8.DecodeLastRuneInString(ahead); relative && (unicode.IsLetter(l) || unicode.IsDigit(l) || strings.ContainsRune("_-./", l)) {
			continue // in a folder of another name
		}
		if slices.ContainsFunc(mine, func(m string) bool {
			return m != "" && (m == p+after || strings.HasPrefix(p+after, m+"/") && !strings.Contains(p+after, "/.."))
		}) {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(after); !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r) {
			s.refuse(keepsKey(p))
		}
	}
}

// descends reports whether a program with these arguments may read all that lies
// in a folder it is given, or stand in it.
func descends(program string, args []word) bool {
	switch program {
	case "ls":
		return has(args, "R", "recursive")
	case "grep", "egrep", "fgrep":
		return has(args, "rR", "recursive", "dereference-recursive", "directories") || has(args, "d")
	case "git":
		return has(args, "", "no-index")
	case "rm", "mv", "mkdir", "rmdir", "touch", "chmod", "chown", "chgrp": // judged as writers
		return false
	case "test", "[", "stat", "readlink", "realpath", "basename", "dirname":
		return false
	}
	return !slices.Contains(speaking, program)
}

// maxReads bounds the words of which is looked up on disk where they lead.
const maxReads = 10_000

// reads judges one word as a path. The end of its last name may not be known.
// below says that all in it is read.
func (s *shell) reads(w word, below bool) {
	if s.looked++; s.looked > maxReads {
		return
	}
	s.refuse(s.keepsOut(s.dir, w.text, below && s.inCmux(w.text)))
}

// inCmux reports whether a word names a folder of cmux's state, or one in it.
func (s *shell) inCmux(name string) bool {
	abs := name
	if !filepath.IsAbs(abs) {
		if s.dir == "" {
			return false
		}
		abs = s.dir + string(filepath.Separator) + name
	}
	all, _ := braced(abs)
	return slices.ContainsFunc(all, func(path string) bool {
		r, err := s.resolve(path)
		parts := strings.Split(filepath.Clean(path), string(filepath.Separator))
		if err == nil {
			parts = append(parts, strings.Split(r, string(filepath.Separator))...)
		}
		return slices.ContainsFunc(parts, func(part string) bool { return matches(part, ".cmux") })
	})
}
