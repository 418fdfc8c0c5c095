package guard

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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
	return what + " is refused: cmux keeps a person's key there, by which it tells their orders from others'. Go on without it; if that cannot be done: cmux blocked \"what you need from there\""
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
	for _, a := range args[1:] {
		text := a.text
		if _, value, ok := strings.Cut(text, "="); ok {
			s.reads(word{value, a.whole})
		}
		s.reads(a)
		if slices.Contains(speaking, program) {
			continue
		}
		for _, p := range s.private {
			for _, after, found := strings.Cut(text, p); found; _, after, found = strings.Cut(after, p) {
				if slices.ContainsFunc(s.mine, func(m string) bool {
					return m == p+after || strings.HasPrefix(p+after, m+"/") && !strings.Contains(p+after, "/..")
				}) {
					continue
				}
				if r, _ := utf8.DecodeRuneInString(after); !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r) {
					s.refuse(keepsKey(p))
				}
			}
		}
	}
}

// maxReads bounds the words of which is looked up on disk where they lead.
const maxReads = 10_000

// reads judges one word as a path. The end of its last name may not be known.
func (s *shell) reads(w word) {
	if s.looked++; s.looked > maxReads {
		return
	}
	s.refuse(s.keepsOut(s.dir, w.text, false))
}
