package guard

import (
	"slices"
	"strings"
)

// copies judges programs that make files of others.
func (s *shell) copies(name string, args []word) {
	to := plain(args, "tSmoge", "target-directory", "suffix", "mode", "owner", "group")
	links := name == "ln" || name == "cp" && has(args, "ls", "link", "symbolic-link")
	if links && s.Leads { // by a second name of a file what it holds can be changed
		s.writeAll("linking", to, true)
		for _, dir := range folders(args) {
			s.ledger(name, dir)
		}
		if len(to) > 0 {
			s.ledger(name, to[len(to)-1])
		}
	}
	if name == "rsync" && has(args, "", "remove-source-files") {
		s.writeAll("moving", to, false)
	}
	if len(to) > 1 || name == "ln" && len(to) == 1 {
		s.write("writing", to[len(to)-1], false)
	}
	if name != "rsync" { // of which -t keeps times
		s.into(args)
	}
}

// ledger refuses a supervisor a link among what is its own to write: what is
// written by that name is another file.
func (s *shell) ledger(name string, at word) {
	all, ok := s.Wheres(s.dir, at.text)
	if ok && slices.ContainsFunc(all, func(path string) bool { return s.Keeps(path, false) || s.Keeps(path+"/x", false) }) {
		s.refuse(name + " " + at.text + " is refused: a supervisor makes no links among its notes, for what is written by one changes another file. Copy the file: cp FILE memory/")
	}
}

// into judges the folders of -t.
func (s *shell) into(args []word) {
	for _, dir := range folders(args) {
		s.write("writing", dir, false)
	}
}

// folders are the values of -t and of its long form, by itself or at the end of
// other letters.
func folders(args []word) (all []word) {
	for i, a := range args {
		if a.is("--") {
			break
		}
		next := word{}
		if i+1 < len(args) {
			next = args[i+1]
		}
		name, value, attached := strings.Cut(a.text, "=")
		switch {
		case len(name) > len("--t") && strings.HasPrefix("--target-directory", name):
			if !attached {
				all = append(all, next)
			} else {
				all = append(all, word{value, a.whole})
			}
		case a.option() && !strings.HasPrefix(a.text, "--"):
			letters, value, ok := strings.Cut(a.text[1:], "t")
			if ok && value == "" {
				all = append(all, next)
			} else if ok && !strings.ContainsAny(letters, "Smog") {
				all = append(all, word{value, a.whole})
			}
		}
	}
	return all
}

// modeless are the files of chmod, chown and chgrp, behind the mode or owner.
func modeless(name string, args []word) []word {
	reference, mode := has(args, "", "reference"), false
	var rest []word
	for _, a := range args {
		if name == "chmod" && a.option() && strings.Trim(a.text, "-rwxXst") == "" {
			mode = true
			continue
		}
		rest = append(rest, a)
	}
	files := plain(rest, "")
	if !reference && !mode && len(files) > 0 {
		files = files[1:]
	}
	return files
}
