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

// Names below .cmux/journal/YYYY-MM-DD.
const (
	Folder      = "journal"
	entriesFile = "journal.md"
	artifacts   = "artifacts"
	attachments = "attachments"
)

// maxFile bounds what is read of one file.
const maxFile = 16 << 20

// Journal is the journal of a project.
type Journal struct {
	Root string // of the project
	Now  func() time.Time
}

func (j *Journal) dir() string { return filepath.Join(j.Root, signals.Folder, Folder) }

// Day is the day of a moment, by the clock on the wall where that is told.
func Day(at time.Time) string { return at.Format(time.DateOnly) }

// Today is the day that it is.
func (j *Journal) Today() string { return Day(j.Now()) }

// ErrDay says that a text names no day.
var ErrDay = errors.New("a day is written YYYY-MM-DD")

func (j *Journal) day(day string) (string, error) {
	if at, err := time.Parse(time.DateOnly, day); err != nil || Day(at) != day {
		return "", fmt.Errorf("%.40q is no day: %w", day, ErrDay)
	}
	return filepath.Join(j.dir(), day), nil
}

// make makes a folder of a day, and has the person's repository be able to track
// the journal.
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

// Bounds of an entry.
const (
	MaxTitle = 200
	MaxText  = 256 << 10
)

var tagShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN][\pL\pN._/-]{0,49}$`) })

// Check says why an entry cannot be added as it is.
func (e *Entry) Check() error {
	switch {
	case strings.TrimSpace(e.Title) == "":
		return errors.New("an entry needs a title")
	case len(e.Title) > MaxTitle:
		return fmt.Errorf("the title has %d bytes, and %d is the most: say the rest in the text", len(e.Title), MaxTitle)
	case strings.ContainsAny(e.Title, "\n\r"):
		return errors.New("the title has more than one line: say the rest in the text")
	case len(e.Text) > MaxText:
		return fmt.Errorf("the text has %d bytes, and %d is the most: keep it as an artifact", len(e.Text), MaxText)
	case !utf8.ValidString(e.Title) || !utf8.ValidString(e.Text):
		return errors.New("the entry is not text (UTF-8)")
	}
	if strings.ContainsAny(e.By, "*;\n\r") {
		return fmt.Errorf("%.60q is no name", e.By)
	}
	for _, tag := range e.Tags {
		if !tagShape().MatchString(tag) {
			return fmt.Errorf("%.60q is no tag: a tag is a word", tag)
		}
	}
	return nil
}

// Add appends an entry to its day and returns that.
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

// appendText appends a text to a file by a single write, behind a first line
// where the file is new.
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
		case size < 0: // a line that does not end
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

// end is the size of a file, negative when its last line does not end.
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

// heading begins an entry: the time, and the title.
var heading = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^## ([0-2][0-9]:[0-5][0-9](?::[0-5][0-9])?) (.*)$`) })

// about is the line behind it.
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

// escaped is a text without space at its ends, none of whose lines begins an
// entry: Markdown shows them as they were.
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

// unescaped is a line as escaped was given it.
func unescaped(line string) string {
	if rest := strings.TrimLeft(line, `\`); rest != line && heading().MatchString(rest) {
		return line[1:]
	}
	return line
}

// parse reads the entries of a day. What stands before the first is nobody's.
func parse(day string, text []byte, zone *time.Location) (all []Entry) {
	var body []string
	flush := func() {
		if len(all) > 0 {
			all[len(all)-1].Text = strings.TrimSpace(strings.Join(body, "\n"))
		}
		body = nil
	}
	fresh := false // the line behind the heading comes next
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

// Page is what the journal has of a day.
type Page struct {
	Day         string   `json:"day"`
	Entries     []Entry  `json:"entries"`
	Text        string   `json:"-"` // journal.md as it stands
	Reflection  string   `json:"reflection"`
	Artifacts   []string `json:"artifacts"`   // names
	Attachments []string `json:"attachments"` // names
}

// Show is the page of a day. A day of which there is nothing is an empty page.
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

// Entries are those of a day alone.
func (j *Journal) Entries(day string) ([]Entry, error) {
	dir, err := j.day(day)
	if err != nil {
		return nil, err
	}
	text, err := read(filepath.Join(dir, entriesFile))
	return parse(day, text, j.Now().Location()), err
}

// read is a file of the journal; empty when it is not there.
func read(path string) ([]byte, error) {
	b, err := signals.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// names are those of the files in a folder.
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

// Days are the days that the journal has, oldest first.
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

// Attach keeps the long body of a message, durably, and returns its path as it
// reads from the project's root.
func (j *Journal) Attach(name string, body []byte) (string, error) {
	return j.keep(attachments, name, body)
}

// Artifact keeps a file that an agent made, durably, and returns its path as it
// reads from the project's root. One of the same name stays: the new one is
// numbered.
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

// Write keeps a page of its own beside today's, durably, and returns its path as it
// reads from the project's root. One of the same name is replaced.
func (j *Journal) Write(name string, text []byte) (string, error) {
	if name == entriesFile || name == reflectionFile {
		return "", fmt.Errorf("journal: %s is not replaced", name)
	}
	return j.keep("", name, text)
}

func (j *Journal) keep(sub, name string, data []byte) (string, error) {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") || len(name) > 200 || bytes.IndexByte([]byte(name), 0) >= 0 {
		return "", fmt.Errorf("journal: %.80q is no name for a file", name)
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
