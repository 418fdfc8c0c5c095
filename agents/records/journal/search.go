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

// Hit is a line that was found.
type Hit struct {
	Path string `json:"path"` // as it reads from the project's root
	Day  string `json:"day,omitempty"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Query says what is looked for.
type Query struct {
	Words string // all of these words, wherever they stand in a line, each as the beginning of one, in either case
	Since string // from this day on; empty: all
	Most  int    // of the hits; 0: 200

	// Without reports of a file, by its path from the root, that it is known to have no
	// such line; nil: nothing is known.
	Without func(path string) bool
}

// Found is what a search found: the newest day first, and in a file from its
// beginning.
type Found struct {
	Hits []Hit `json:"hits"`
	More bool  `json:"more"` // there are more hits than were asked for

	// Skipped are files that were not looked into, as they are too large or no text.
	Skipped []string `json:"skipped"`
}

// Search looks through MEMORY.md and the files of the journal.
func (j *Journal) Search(ctx context.Context, q Query) (*Found, error) {
	words := strings.Fields(strings.ToLower(q.Words))
	if len(words) == 0 {
		return nil, errors.New("say what to look for")
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
	if err := look(memoryFile, ""); err != nil {
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

// in looks for lines of a file that have all words.
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

// begins reports whether a line has a word, or more, that begins with w.
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

// Letter reports whether a character is of a word.
func Letter(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.M, r)
}

const memoryFile = "MEMORY.md"

// MemoryLines is how long MEMORY.md should be at the most: it is shown to every
// agent, whole.
const MemoryLines = 200

// Memory is MEMORY.md at the project's root.
type Memory struct {
	Path  string
	Text  string // empty: there is none
	Lines int
}

// Memory reads MEMORY.md.
func (j *Journal) Memory() (*Memory, error) {
	m := &Memory{Path: filepath.Join(j.Root, memoryFile)}
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

// Warning says that MEMORY.md is too long; empty: it is not.
func (m *Memory) Warning() string {
	if m.Lines <= MemoryLines {
		return ""
	}
	return fmt.Sprintf("MEMORY.md has %d lines, and agents read all of it: keep it below %d and move the rest to the journal", m.Lines, MemoryLines)
}
