package journal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cmux/signals"
)

const reflectionFile = "reflection.md"

// Section is a part of reflection.md.
type Section struct {
	Name  string // in commands: investigate
	Title string // its heading
}

// Sections returns the sections of a new reflection.md, in order.
func Sections() []Section {
	return []Section{
		{"investigate", "Investigate next"},
		{"mistakes", "Mistakes and patterns found"},
		{"ideas", "Ideas for improvement"},
		{"research", "Research queue"},
		{HandOff, "Hand-off notes"},
	}
}

// HandOff is the section that the next supervisor reads.
const HandOff = "hand-off"

// ErrSection means that there is no section with that name.
var ErrSection = errors.New("no such section")

func titleOf(section string) (string, error) {
	for _, s := range Sections() {
		if s.Name == section {
			return s.Title, nil
		}
	}
	return "", fmt.Errorf("%.40q: %w", section, ErrSection)
}

// MaxNote bounds a note in reflection.md.
const MaxNote = 4 << 10

// Reflect adds a note with its author to the list of a section in today's reflection.md.
// The rest of the file does not change.
func (j *Journal) Reflect(ctx context.Context, section, by, text string) (day string, err error) {
	title, err := titleOf(section)
	if err != nil {
		return "", err
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", errors.New("the note is empty")
	} else if len(text) > MaxNote {
		return "", fmt.Errorf("the note has %d bytes; at most %d are allowed: shorten it, or use cmux journal add", len(text), MaxNote)
	}
	now := j.Now()
	day = Day(now)
	dir, err := j.make(day, "")
	if err != nil {
		return "", fmt.Errorf("journal: %w", err)
	}
	release, err := signals.Hold(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("journal: %w", err)
	}
	defer release()
	path := filepath.Join(dir, reflectionFile)
	had, err := read(path)
	if err != nil {
		return "", err
	}
	if len(had) == 0 {
		had = []byte(template(day))
	}
	note := "- " + now.Format("15:04")
	if by != "" {
		note += " (" + by + ")"
	}
	// Indent the lines of a note so that they belong to its list and begin no heading.
	note += " " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
	return day, signals.WriteFile(path, []byte(insert(string(had), title, note)), 0o600)
}

// ReflectionFile returns the path of a day's reflection; day must be valid.
func (j *Journal) ReflectionFile(day string) string {
	return filepath.Join(j.dir(), day, reflectionFile)
}

// template returns a new reflection.md.
func template(day string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Reflection, %s\n", day)
	for _, s := range Sections() {
		fmt.Fprintf(&b, "\n## %s\n", s.Title)
	}
	return b.String()
}

// insert puts a note at the end of the section with a title; if there is none, it adds the
// section at the end.
func insert(text, title, note string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	lines := slices.Collect(strings.Lines(text))
	begin := slices.IndexFunc(lines, func(l string) bool { return isHeading(l, title) })
	if begin < 0 {
		return text + "\n## " + title + "\n\n" + note
	}
	end := begin + 1
	for end < len(lines) && !strings.HasPrefix(lines[end], "## ") && !strings.HasPrefix(lines[end], "# ") {
		end++
	}
	for end > begin+1 && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	if end == begin+1 {
		note = "\n" + note
	}
	return strings.Join(slices.Insert(lines, end, note), "")
}

func isHeading(line, title string) bool {
	name, ok := strings.CutPrefix(line, "## ")
	return ok && strings.EqualFold(strings.TrimSpace(name), title)
}

// Reflection returns the newest reflection.md and its day; both empty: there is none.
func (j *Journal) Reflection() (day, text string, err error) {
	days, err := j.Days()
	if err != nil {
		return "", "", err
	}
	for _, day := range slices.Backward(days) {
		b, err := read(filepath.Join(j.dir(), day, reflectionFile))
		if err != nil {
			return "", "", err
		}
		if len(b) > 0 {
			return day, string(b), nil
		}
	}
	return "", "", nil
}

// HandOffNotes returns the notes for the next supervisor from the newest day that has any;
// empty: there are none.
func (j *Journal) HandOffNotes() (day, text string, err error) {
	days, err := j.Days()
	if err != nil {
		return "", "", err
	}
	title, err := titleOf(HandOff)
	if err != nil {
		return "", "", err
	}
	for _, day := range slices.Backward(days) {
		b, err := read(filepath.Join(j.dir(), day, reflectionFile))
		if err != nil {
			return "", "", err
		}
		if text := section(string(b), title); text != "" {
			return day, text, nil
		}
	}
	return "", "", nil
}

// section returns the text below the heading with a title.
func section(text, title string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "# ") {
			inside = isHeading(line, title)
			continue
		}
		if inside {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}
