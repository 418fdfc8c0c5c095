package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cmux/signals"
)

// Names in .cmux/journal/YYYY-MM-DD.
const (
	Folder      = "journal"
	entriesFile = "journal.md"
	artifacts   = "artifacts"
	attachments = "attachments"
)

// maxFile bounds how much of a file is read.
const maxFile = 16 << 20

// Journal is the journal of a project.
type Journal struct {
	Root string // of the project
	Now  func() time.Time
}

func (j *Journal) dir() string { return filepath.Join(j.Root, signals.Folder, Folder) }

// Day returns the day of a time, in the local time zone.
func Day(at time.Time) string { return at.Format(time.DateOnly) }

// Today returns the current day.
func (j *Journal) Today() string { return Day(j.Now()) }

// ErrDay means that a text is not a day.
var ErrDay = errors.New("a day is written YYYY-MM-DD")

func (j *Journal) day(day string) (string, error) {
	if at, err := time.Parse(time.DateOnly, day); err != nil || Day(at) != day {
		return "", fmt.Errorf("%.40q is not a day: %w", day, ErrDay)
	}
	return filepath.Join(j.dir(), day), nil
}

// make makes the folder of a day, and makes sure that git can track the journal.
func (j *Journal) make(day, sub string) (string, error) {
	dir, err := j.day(day)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, sub)
	_, before := signals.Type(j.dir())
	if err := signals.MkdirAll(dir, 0o700); err != nil {
		return "", signals.Explain(err)
	}
	if errors.Is(before, fs.ErrNotExist) {
		if err := signals.Init(j.Root); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// Entry is an entry of a day.
type Entry struct {
	At    time.Time `json:"at"`
	Title string    `json:"title"`
	By    string    `json:"by,omitempty"`
	Tags  []string  `json:"tags,omitempty"`
	Text  string    `json:"text,omitempty"`
}

// Limits of an entry.
const (
	MaxTitle = 200
	MaxText  = 256 << 10
)

var tagShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN][\pL\pN._/-]{0,49}$`) })

// Check returns why an entry cannot be added, or nil.
func (e *Entry) Check() error {
	switch {
	case strings.TrimSpace(e.Title) == "":
		return errors.New("an entry needs a title")
	case len(e.Title) > MaxTitle:
		return fmt.Errorf("the title has %d bytes; at most %d are allowed: put the rest into the text", len(e.Title), MaxTitle)
	case strings.ContainsAny(e.Title, "\n\r"):
		return errors.New("the title has more than one line: put the rest into the text")
	case len(e.Text) > MaxText:
		return fmt.Errorf("the text has %d bytes; at most %d are allowed: keep it as an artifact", len(e.Text), MaxText)
	case !utf8.ValidString(e.Title) || !utf8.ValidString(e.Text):
		return errors.New("the entry is not text (UTF-8)")
	}
	if strings.ContainsAny(e.By, "*;\n\r") {
		return fmt.Errorf("%.60q is not a name", e.By)
	}
	for _, tag := range e.Tags {
		if !tagShape().MatchString(tag) {
			return fmt.Errorf("%.60q is not a tag: a tag is one word", tag)
		}
	}
	return nil
}

// Add appends an entry to its day and returns the day.
func (j *Journal) Add(ctx context.Context, e Entry) (day string, err error) {
	if e.At.IsZero() {
		e.At = j.Now()
	}
	if err := e.Check(); err != nil {
		return "", err
	}
	day = Day(e.At)
	dir, err := j.make(day, "")
	if err != nil {
		return "", fmt.Errorf("journal: %w", err)
	}
	return day, appendText(ctx, filepath.Join(dir, entriesFile), "# "+day+"\n", e.markdown())
}

// appendText appends a text to a file by a single write. A new file gets a first line
// before it.
func appendText(ctx context.Context, path, first, text string) error {
	release, err := signals.Hold(ctx, filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer release()
	f, err := signals.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", signals.Explain(err))
	}
	size, err := end(f)
	if err == nil {
		switch {
		case size == 0:
			text = first + text
		case size < 0: // the last line has no newline
			text = "\n" + text
		}
		size = max(size, -size)
		var n int
		if n, err = f.WriteString(text); err != nil && n > 0 {
			err = errors.Join(err, f.Truncate(size))
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("journal: write %s: %w", path, signals.Explain(err))
	}
	return nil
}

// end returns the size of a file, negative if its last line has no newline.
func end(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return 0, err
	}
	if last[0] != '\n' {
		return -info.Size(), nil
	}
	return info.Size(), nil
}

const clock = "15:04:05"

// heading returns the first line of an entry: the time and the title.
var heading = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^## ([0-2][0-9]:[0-5][0-9](?::[0-5][0-9])?) (.*)$`) })

// about returns the second line of an entry.
var about = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\*(by ([^*;]+))?(; )?(tags: ([^*;]+))?\*$`) })

func (e *Entry) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s %s\n", e.At.Format(clock), strings.TrimSpace(e.Title))
	var line []string
	if e.By != "" {
		line = append(line, "by "+e.By)
	}
	if len(e.Tags) > 0 {
		line = append(line, "tags: "+strings.Join(e.Tags, ", "))
	}
	if len(line) > 0 {
		fmt.Fprintf(&b, "*%s*\n", strings.Join(line, "; "))
	}
	if text := escaped(e.Text); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	return b.String()
}

// escaped returns a text trimmed, with every line escaped that would begin an entry.
// Markdown shows the lines unchanged.
func escaped(text string) string {
	text = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if heading().MatchString(strings.TrimLeft(line, `\`)) {
			lines[i] = `\` + line
		}
	}
	return strings.Join(lines, "\n")
}

// unescaped returns a line without the escape of escaped.
func unescaped(line string) string {
	if rest := strings.TrimLeft(line, `\`); rest != line && heading().MatchString(rest) {
		return line[1:]
	}
	return line
}

// parse parses the entries of a day. Text before the first entry belongs to none.
func parse(day string, text []byte, zone *time.Location) (all []Entry) {
	var body []string
	flush := func() {
		if len(all) > 0 {
			all[len(all)-1].Text = strings.TrimSpace(strings.Join(body, "\n"))
		}
		body = nil
	}
	fresh := false // the next line is the second line of an entry
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := heading().FindStringSubmatch(line); m != nil {
			at, err := time.ParseInLocation(time.DateOnly+" "+clock, day+" "+(m[1] + ":00")[:8], zone)
			if err == nil {
				flush()
				all = append(all, Entry{At: at, Title: m[2]})
				fresh = true
				continue
			}
		}
		if m := about().FindStringSubmatch(line); fresh && m != nil && len(line) > 2 {
			e := &all[len(all)-1]
			e.By = m[2]
			if m[5] != "" {
				e.Tags = strings.Split(m[5], ", ")
			}
			fresh = false
			continue
		}
		fresh = false
		body = append(body, unescaped(line))
	}
	flush()
	return all
}

// Page is everything in the journal for one day.
type Page struct {
	Day         string   `json:"day"`
	Entries     []Entry  `json:"entries"`
	Text        string   `json:"-"` // journal.md, unchanged
	Reflection  string   `json:"reflection"`
	Artifacts   []string `json:"artifacts"`   // names
	Attachments []string `json:"attachments"` // names
}

// Show returns the page of a day. A day without files has an empty page.
func (j *Journal) Show(day string) (*Page, error) {
	dir, err := j.day(day)
	if err != nil {
		return nil, err
	}
	p := &Page{Day: day, Entries: []Entry{}}
	text, err := read(filepath.Join(dir, entriesFile))
	if err != nil {
		return nil, err
	}
	p.Text = string(text)
	p.Entries = append(p.Entries, parse(day, text, j.Now().Location())...)
	reflection, err := read(filepath.Join(dir, reflectionFile))
	if err != nil {
		return nil, err
	}
	p.Reflection = string(reflection)
	if p.Artifacts, err = names(filepath.Join(dir, artifacts)); err != nil {
		return nil, err
	}
	p.Attachments, err = names(filepath.Join(dir, attachments))
	return p, err
}

// Entries returns only the entries of a day.
func (j *Journal) Entries(day string) ([]Entry, error) {
	dir, err := j.day(day)
	if err != nil {
		return nil, err
	}
	text, err := read(filepath.Join(dir, entriesFile))
	return parse(day, text, j.Now().Location()), err
}

// read returns a file of the journal; empty if it does not exist.
func read(path string) ([]byte, error) {
	b, err := signals.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// names returns the names of the files in a folder.
func names(dir string) ([]string, error) {
	entries, err := signals.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := []string{}
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

// Days returns the days of the journal, oldest first.
func (j *Journal) Days() ([]string, error) {
	entries, err := signals.ReadDir(j.dir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var days []string
	for _, e := range entries {
		if _, err := j.day(e.Name()); err == nil && e.IsDir() {
			days = append(days, e.Name())
		}
	}
	slices.Sort(days)
	return days, nil
}

// Attach stores the long body of a message durably and returns its path, relative to the
// project's root.
func (j *Journal) Attach(name string, body []byte) (string, error) {
	return j.keep(attachments, name, body)
}

// Artifact stores an agent's file durably and returns its path, relative to the project's
// root. If the name exists, the new file gets a number.
func (j *Journal) Artifact(name string, data []byte) (string, error) {
	dir, err := j.make(j.Today(), artifacts)
	if err != nil {
		return "", fmt.Errorf("journal: %w", err)
	}
	there, err := names(dir)
	if err != nil {
		return "", err
	}
	ext := filepath.Ext(name)
	for n, base := 2, strings.TrimSuffix(name, ext); slices.Contains(there, name); n++ {
		name = fmt.Sprintf("%s-%d%s", base, n, ext)
	}
	return j.keep(artifacts, name, data)
}

// Write stores a separate page in today's folder durably and returns its path, relative to
// the project's root. It replaces a page of that name.
func (j *Journal) Write(name string, text []byte) (string, error) {
	if name == entriesFile || name == reflectionFile {
		return "", fmt.Errorf("journal: %s cannot be replaced", name)
	}
	return j.keep("", name, text)
}

func (j *Journal) keep(sub, name string, data []byte) (string, error) {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") || len(name) > 200 || bytes.IndexByte([]byte(name), 0) >= 0 {
		return "", fmt.Errorf("journal: %.80q is not a file name", name)
	}
	day := j.Today()
	dir, err := j.make(day, sub)
	if err != nil {
		return "", fmt.Errorf("journal: %w", err)
	}
	if err := signals.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		return "", fmt.Errorf("journal: %w", err)
	}
	return filepath.ToSlash(filepath.Join(signals.Folder, Folder, day, sub, name)), nil
}
