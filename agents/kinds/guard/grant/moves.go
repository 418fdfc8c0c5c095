package grant

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cmux/agents/kinds/guard/places"
)

// plainName is the name in the worktree of a file that a command of the shell may
// write, move or remove where the file tools may write it. No link leads there, no
// other repository is around it, and no part of the name is hidden, as the names are
// that programs read of themselves.
func (s site) plainName(name string) (rel string, ok bool) {
	at := s.Written(s.dir, name)
	here := filepath.Join(s.TreeDir, filepath.FromSlash(at.Rel))
	if r, err := s.Resolved(here); !isPath(name) || at.Whose != places.Own || at.Rel == "." || err != nil || r != here || !s.File(s.dir, name) || s.apart(at) {
		return "", false
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if part == ".." {
			return "", false // where it leads depends on links
		}
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(at.Rel, map[bool]string{true: ".cmux/"}[s.Leads]), "/") {
		if strings.HasPrefix(part, ".") {
			return "", false
		}
	}
	for dir := path.Dir(at.Rel); dir != "."; dir = path.Dir(dir) {
		if s.Machine.Exists(filepath.Join(s.TreeDir, filepath.FromSlash(dir), ".git")) {
			return "", false
		}
	}
	return at.Rel, true
}

// overlaps reports whether commands before have moved, removed or written a file of
// this name, or one above or below it. A file system may take another case for it.
func (v *voucher) overlaps(rel string) bool {
	return slices.ContainsFunc(v.moved, func(m string) bool { return sameOrBelow(m, rel) || sameOrBelow(rel, m) })
}

func sameOrBelow(dir, rel string) bool {
	dir, rel = strings.ToLower(dir), strings.ToLower(rel)
	return dir == "." || rel == dir || strings.HasPrefix(rel, dir+"/")
}

// movesKept reports whether a form moves or removes files that git keeps as they are,
// and overwrites only such files. It writes down which ones.
func (v *voucher) movesKept(f *form, m match) bool {
	var touched, kept []string
	for _, name := range m["KEPT"] {
		rel, ok := v.plainName(name)
		if !ok {
			return false
		}
		if i := slices.Index(v.fresh, rel); i >= 0 && f.words == "rm" && !v.changed && !v.recorded {
			v.fresh = slices.Delete(v.fresh, i, i+1)
			continue
		}
		kept = append(kept, rel)
	}
	if len(kept) == 0 && len(m["KEPT"]) > 0 && f.words == "rm" {
		return true
	}
	touched = append(touched, kept...)
	if f.to {
		targets, ok := v.targets(m, kept)
		if !ok {
			return false
		}
		touched = append(touched, targets...)
		for _, t := range targets {
			if v.Machine.Exists(filepath.Join(v.TreeDir, filepath.FromSlash(t))) {
				kept = append(kept, t)
			}
		}
	}
	for i, rel := range touched {
		if v.overlaps(rel) || slices.ContainsFunc(touched[:i], func(other string) bool { return sameOrBelow(other, rel) || sameOrBelow(rel, other) }) {
			return false
		}
	}
	if len(kept) == 0 || !v.provesGit(touched) || !v.git.keptByGit(kept) || f.program() == "git" && !v.git.unstaged(touched) {
		return false
	}
	v.moved, v.gone = append(v.moved, touched...), true
	return true
}

// targets are the files that those of a move become. A folder takes them in under
// their own names: one that is there, or one that the text has made. When that
// failed, the only file gets the folder's name.
func (v *voucher) targets(m match, files []string) (targets []string, ok bool) {
	if len(m["TO"]) != 1 || len(files) == 0 {
		return nil, false
	}
	to := m["TO"][0]
	rel := v.Written(v.dir, to).Rel
	at := filepath.Join(v.TreeDir, filepath.FromSlash(rel))
	_, err := v.Machine.Names(at)
	there := rel == "." || v.Machine.Exists(at) && err == nil
	if there || slices.ContainsFunc(v.made, func(m string) bool { return strings.EqualFold(m, rel) }) {
		if _, ok := v.plainName(to); !there && (!ok || v.Machine.Exists(at)) {
			return nil, false
		}
		for _, f := range files {
			t, ok := v.plainName(path.Join(strings.TrimRight(to, "/"), path.Base(f)))
			if !ok {
				return nil, false
			}
			targets = append(targets, t)
		}
		return targets, true
	}
	rel, ok = v.plainName(to)
	return []string{rel}, ok && len(files) == 1 && !strings.HasSuffix(to, "/")
}

// keptByGit reports whether each of these is one file that git tracks, looks at, and
// finds as it is in the last commit.
func (g *gitFacts) keptByGit(files []string) bool {
	listed, ok := g.ask("", append([]string{"ls-files", "-v", "-z", "--stage", "--"}, files...)...)
	var names []string
	for entry := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		// H is that git looks whether the file is changed, 100 a file that is no link.
		if !strings.HasPrefix(about, "H 100") {
			return false
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if want := slices.Sorted(slices.Values(files)); !ok || !slices.Equal(names, want) {
		return false
	}
	changed, ok := g.ask("", append([]string{"status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all", "--"}, files...)...)
	return ok && changed == ""
}

// unstaged reports whether the index holds nothing at, above or below these files that
// the last commit does not have: git drops that to make room.
func (g *gitFacts) unstaged(files []string) bool {
	staged, ok := g.ask("", "diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD")
	for name := range strings.SplitSeq(strings.TrimSuffix(staged, "\x00"), "\x00") {
		ok = ok && (name == "" || !slices.ContainsFunc(files, func(f string) bool { return sameOrBelow(f, name) || sameOrBelow(name, f) }))
	}
	return ok
}

// plainFormat is a format of printf that calculates nothing.
var plainFormat = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[^%\\]|%[%s]|\\[nrt\\"'])+$`) })

// writes reports whether a command puts literal text into a file that is not there
// yet, or that the text has made, or adds it to one of the node's own.
func (v *voucher) writes(c command) bool {
	at := v.SpotOf(v.dir)
	if c.looped || !v.placed || at.Whose != places.Own || at.State != "" || !v.builds() && !v.notes() || v.changed || v.recorded {
		return false
	}
	words := c.words[1:]
	switch {
	case c.here:
		if !v.reaches("cat") {
			return false
		}
	case c.is("echo"):
	case c.is("printf") && len(words) > 0 && plainFormat().MatchString(words[0].text):
	default:
		return false
	}
	if slices.ContainsFunc(words, func(w lexeme) bool { return w.here || w.open || strings.HasPrefix(w.text, "-") }) {
		return false
	}
	rel, ok := v.plainName(c.to)
	if !ok || strings.HasSuffix(c.to, "/") || !slices.Contains(v.wrote, rel) && v.overlaps(rel) {
		return false
	}
	if at := filepath.Join(v.TreeDir, filepath.FromSlash(rel)); !v.Machine.Exists(at) {
		v.fresh = append(v.fresh, rel)
	} else if _, err := v.Machine.Text(at); err != nil || !c.adds {
		return false
	}
	v.moved, v.wrote = append(v.moved, rel), append(v.wrote, rel)
	return true
}

// makesNew reports whether files are not there, and the file tools may write them.
func (v *voucher) makesNew(names []string) bool {
	for _, name := range names {
		rel, ok := v.plainName(name)
		if !ok || strings.HasSuffix(name, "/") || v.changed || v.recorded || v.overlaps(rel) || v.Machine.Exists(filepath.Join(v.TreeDir, filepath.FromSlash(rel))) {
			return false
		}
		v.moved, v.wrote, v.fresh = append(v.moved, rel), append(v.wrote, rel), append(v.fresh, rel)
	}
	return true
}

// edits reports whether sed changes just these files of the node's own, and leaves at
// most copies that were not there. The sed of BSD systems takes the word behind -i for
// the ending of the copy, and then the first other word for the script.
func (v *voucher) edits(f *form, m match) bool {
	_, copied, _ := strings.Cut(f.words, "-i")
	if copied = strings.TrimSpace(copied); copied == "" && f.needs != "" {
		copied = "-e"
	}
	if edits := m["EDIT"]; len(edits) > 1 {
		if !slices.ContainsFunc(f.options, func(o string) bool { return o == "-e EDIT" }) || slices.ContainsFunc(edits, func(e string) bool { return !isSureEdit(e) }) ||
			slices.ContainsFunc(append(edits[1:len(edits):len(edits)], "-e"), func(name string) bool { return v.Machine.Exists(places.Absolute(v.dir, name)) }) {
			return false // files, to a sed that takes the first -e for the ending
		}
	}
	for _, name := range m["EDITED"] {
		rel, ok := v.plainName(name)
		at := filepath.Join(v.TreeDir, filepath.FromSlash(rel))
		if _, err := v.Machine.Text(at); !ok || err != nil || v.changed || v.recorded || v.overlaps(rel) {
			return false
		}
		v.moved = append(v.moved, rel)
		if copied == "" {
			if writesAsScript(name) {
				return false
			}
			continue
		}
		rel, ok = v.plainName(name + copied)
		if !ok || v.overlaps(rel) || v.Machine.Exists(at+copied) {
			return false
		}
		v.moved, v.wrote = append(v.moved, rel), append(v.wrote, rel)
	}
	return true
}

// writesAsScript reports whether a sed that takes a name for its script might write.
func writesAsScript(name string) bool {
	if rest, ok := strings.CutPrefix(name, "/"); ok { // a pattern that chooses lines
		_, name, _ = strings.Cut(rest, "/")
		name = strings.TrimLeft(name, "I")
	}
	switch {
	case len(name) < 2 || strings.ContainsAny(name[:1], "wW0123456789,+ "):
		return true
	case name[0] != 's':
		return false
	}
	parts := strings.SplitN(name[2:], name[1:2], 3)
	return len(parts) == 3 && strings.ContainsAny(parts[2], "wWe")
}

// keepsAll reports whether folders are a supervisor's to write in.
func (s site) keepsAll(folders []string) bool {
	return s.notes() && !slices.ContainsFunc(folders, func(f string) bool { return !s.ledger(s.dir, path.Join(f, "x")) })
}
