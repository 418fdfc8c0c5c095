package guard

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cmux/agents/kinds/guard/places"
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
		if reason := g.KeepsOut(c.Dir, p, true); reason != "" {
			return reason
		}
	}
	return ""
}

// speaking are programs of which a word is most often a text about a path.
var speaking = []string{"cmux", "git", "echo", "printf"}

// privacy judges the words of a command for what they name, in an option's value
// and inside of a script for another interpreter too.
func (s *shell) privacy(args []word) {
	if len(s.PrivateDirs) == 0 {
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
		for _, p := range s.PrivateDirs {
			s.spoken(a.text, p, s.MyDirs)
			if rel, ok := ofState(p); ok {
				mine := make([]string, len(s.MyDirs))
				for i, m := range s.MyDirs {
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
			s.refuse(places.KeepsKey(p))
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
	s.refuse(s.KeepsOut(s.dir, w.text, below && s.inCmux(w.text)))
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
	all, _ := places.Braced(abs)
	return slices.ContainsFunc(all, func(path string) bool {
		r, err := s.Resolved(path)
		parts := strings.Split(filepath.Clean(path), string(filepath.Separator))
		if err == nil {
			parts = append(parts, strings.Split(r, string(filepath.Separator))...)
		}
		return slices.ContainsFunc(parts, func(part string) bool { return places.Matches(part, ".cmux") })
	})
}
