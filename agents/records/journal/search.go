package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cmux/signals"
)

// Hit is a matching line.
type Hit struct {
	Path string `json:"path"` // relative to the project's root
	Day  string `json:"day,omitempty"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Query is what to search for.
type Query struct {
	Words string // each must begin a word of the line, in any case and order
	Since string // from this day on; empty: all days
	Most  int    // limit of hits; 0: 200

	// Without reports whether a file, by its path from the root, is known to have no
	// matching line; nil: nothing is known.
	Without func(path string) bool
}

// Found is the result of a search: the newest day first, each file from its beginning.
type Found struct {
	Hits []Hit `json:"hits"`
	More bool  `json:"more"` // there are more hits than Most

	// Skipped are files that were not searched, because they are too large or not text.
	Skipped []string `json:"skipped"`
}

// Search searches MEMORY.md and the files of the journal.
func (j *Journal) Search(ctx context.Context, q Query) (*Found, error) {
	words := strings.Fields(strings.ToLower(q.Words))
	if len(words) == 0 {
		return nil, errors.New("the search is empty")
	}
	if q.Since != "" {
		if _, err := j.day(q.Since); err != nil {
			return nil, err
		}
	}
	if q.Most <= 0 {
		q.Most = 200
	}
	found := &Found{Hits: []Hit{}, Skipped: []string{}}
	look := func(rel, day string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if q.Without != nil && q.Without(rel) {
			return nil
		}
		return found.in(filepath.Join(j.Root, filepath.FromSlash(rel)), rel, day, words, q.Most)
	}
	if err := look(MemoryFile, ""); err != nil {
		return nil, err
	}
	days, err := j.Days()
	if err != nil {
		return nil, err
	}
	for _, day := range slices.Backward(days) {
		if day < q.Since || found.More {
			break
		}
		files := []string{entriesFile, reflectionFile}
		for _, sub := range []string{artifacts, attachments} {
			all, err := names(filepath.Join(j.dir(), day, sub))
			if err != nil {
				return nil, err
			}
			for _, name := range all {
				files = append(files, sub+"/"+name)
			}
		}
		for _, file := range files {
			if err := look(strings.Join([]string{signals.Folder, Folder, day, file}, "/"), day); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// in finds the lines of a file that have all words.
func (f *Found) in(path, rel, day string, words []string, most int) error {
	text, err := signals.ReadFile(path, maxFile)
	var size *signals.SizeError
	var odd *signals.FileError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &size), errors.As(err, &odd), err == nil && (!utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0):
		f.Skipped = append(f.Skipped, rel)
		return nil
	case err != nil:
		return fmt.Errorf("search: %w", err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		lower := strings.ToLower(line)
		if slices.ContainsFunc(words, func(w string) bool { return !begins(lower, w) }) {
			continue
		}
		if len(f.Hits) == most {
			f.More = true
			return nil
		}
		f.Hits = append(f.Hits, Hit{rel, day, n, strings.TrimSpace(line)})
	}
	return nil
}

// begins reports whether a word of a line begins with w.
func begins(line, w string) bool {
	first, _ := utf8.DecodeRuneInString(w)
	for at := 0; ; {
		i := strings.Index(line[at:], w)
		if i < 0 {
			return false
		}
		at += i
		if before, _ := utf8.DecodeLastRuneInString(line[:at]); at == 0 || !Letter(first) || !Letter(before) {
			return true
		}
		at += utf8.RuneLen(first)
	}
}

// Letter reports whether a character can be in a word.
func Letter(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.M, r)
}

// MemoryFile is the name of the file at the root of a project that every agent is shown.
const MemoryFile = "MEMORY.md"

// MemoryLines is the recommended maximum of lines in MEMORY.md, because every agent reads
// all of it.
const MemoryLines = 200

// Memory is MEMORY.md at the project's root.
type Memory struct {
	Path  string
	Text  string // empty: the file does not exist
	Lines int
}

// Memory reads MEMORY.md.
func (j *Journal) Memory() (*Memory, error) {
	m := &Memory{Path: filepath.Join(j.Root, MemoryFile)}
	b, err := read(m.Path)
	if err != nil {
		return nil, err
	}
	m.Text = string(b)
	m.Lines = strings.Count(strings.TrimRight(m.Text, "\n"), "\n")
	if m.Text != "" {
		m.Lines++
	}
	return m, nil
}

// Warning warns that MEMORY.md is too long; empty: it is not.
func (m *Memory) Warning() string {
	if m.Lines <= MemoryLines {
		return ""
	}
	return fmt.Sprintf("MEMORY.md has %d lines, and agents read all of it: keep it below %d and move the rest to the journal", m.Lines, MemoryLines)
}
