package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/testkit/agenttest/fuzzing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("here", 3600))

// newJournal returns a journal with a clock that the test sets.
func newJournal(t testing.TB) (*Journal, *time.Time) {
	now := noon
	return &Journal{Root: t.TempDir(), Now: func() time.Time { return now }}, &now
}

func readFile(t testing.TB, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	return string(b)
}

// Added entries are read back, from a file that is easy to read.
func TestAdd(t *testing.T) {
	j, now := newJournal(t)
	first := Entry{At: noon, Title: "Login form", By: "w1", Tags: []string{"auth", "web"}, Text: "Chose JWT.\n\n## 11:00:00 Not an entry\n*by user*\n# shell comment\n\\## 11:00 nor this"}
	day, err := j.Add(t.Context(), first)
	if err != nil || day != "2026-03-01" {
		t.Fatalf("%s, %v", day, err)
	}
	*now = noon.Add(time.Minute)
	_, err = j.Add(t.Context(), Entry{Title: "Bare"})
	must(t, err)
	_, err = j.Add(t.Context(), Entry{Title: "Starts with a name", Text: "*by user*"})
	must(t, err)
	p, err := j.Show(day)
	must(t, err)
	if len(p.Entries) != 3 || !reflect.DeepEqual(p.Entries[0], first) || p.Entries[1].Title != "Bare" || p.Entries[1].By != "" || p.Entries[2].Text != "*by user*" || p.Entries[2].By != "" {
		t.Errorf("%+v", p.Entries)
	}
	want := "# 2026-03-01\n\n## 12:00:00 Login form\n*by w1; tags: auth, web*\n\nChose JWT.\n\n\\## 11:00:00 Not an entry\n*by user*\n# shell comment\n\\\\## 11:00 nor this\n\n## 12:01:00 Bare\n\n## 12:01:00 Starts"
	if !strings.HasPrefix(p.Text, want) {
		t.Errorf("%s", p.Text)
	}
	// A person's text stays, also if their last line has no newline.
	path := filepath.Join(j.Root, ".cmux/journal", day, entriesFile)
	must(t, os.WriteFile(path, []byte("# My day\nthoughts\n## 09:30 By hand\nearly"), 0o600))
	_, err = j.Add(t.Context(), Entry{Title: "After"})
	must(t, err)
	p, err = j.Show(day)
	must(t, err)
	if len(p.Entries) != 2 || p.Entries[0].Title != "By hand" || p.Entries[0].Text != "early" || p.Entries[0].At.Hour() != 9 || p.Entries[1].Title != "After" {
		t.Errorf("%+v", p.Entries)
	}
}

func TestAddChecks(t *testing.T) {
	j, _ := newJournal(t)
	for what, e := range map[string]Entry{
		"no title": {Text: "x"}, "lines": {Title: "a\nb"}, "long title": {Title: strings.Repeat("x", MaxTitle+1)}, "long text": {Title: "x", Text: strings.Repeat("x", MaxText+1)},
		"no text": {Title: "\xff"}, "tag": {Title: "x", Tags: []string{"a, b"}}, "name": {Title: "x", By: "a*\n## 12:00 x"},
	} {
		if _, err := j.Add(t.Context(), e); err == nil {
			t.Errorf("%s: added", what)
		}
	}
	if days, err := j.Days(); err != nil || len(days) != 0 {
		t.Errorf("%v, %v", days, err)
	}
	for _, day := range []string{"", "today", "2026-02-30", "2026-3-1", "../2026-03-01"} {
		if _, err := j.Show(day); !errors.Is(err, ErrDay) {
			t.Errorf("%q: %v", day, err)
		}
	}
}

// Concurrent writers lose nothing of each other's.
func TestManyWriters(t *testing.T) {
	j, _ := newJournal(t)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for n := range 25 {
				_, err := j.Add(t.Context(), Entry{Title: fmt.Sprint(i, "/", n), Text: strings.Repeat("x", n*50)})
				_, err2 := j.Reflect(t.Context(), "ideas", "w1", fmt.Sprint(i, "/", n))
				if err != nil || err2 != nil {
					t.Error(err, err2)
				}
			}
		})
	}
	writers.Wait()
	p, err := j.Show("2026-03-01")
	must(t, err)
	if len(p.Entries) != 200 || strings.Count(p.Reflection, "\n- 12:00 (w1) ") != 200 {
		t.Errorf("%d entries, %d notes", len(p.Entries), strings.Count(p.Reflection, "\n- "))
	}
	for _, e := range p.Entries {
		if n := 0; true {
			fmt.Sscanf(e.Title[strings.Index(e.Title, "/")+1:], "%d", &n)
			if len(e.Text) != n*50 {
				t.Errorf("%s has %d bytes", e.Title, len(e.Text))
			}
		}
	}
}

// Only the owner can read the folder, and git can track it.
func TestModes(t *testing.T) {
	j, _ := newJournal(t)
	_, err := j.Add(t.Context(), Entry{Title: "x"})
	must(t, err)
	_, err = j.Reflect(t.Context(), "ideas", "", "x")
	must(t, err)
	path, err := j.Attach("msg-a.md", []byte("x"))
	if err != nil || path != ".cmux/journal/2026-03-01/attachments/msg-a.md" {
		t.Errorf("%s, %v", path, err)
	}
	err = filepath.WalkDir(filepath.Join(j.Root, ".cmux/journal"), func(path string, d os.DirEntry, err error) error {
		info, ierr := d.Info()
		must(t, errors.Join(err, ierr))
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return nil
	})
	must(t, err)
	if ignore := readFile(t, j.Root, ".cmux/.gitignore"); !strings.Contains(ignore, "!/journal/") {
		t.Error(ignore)
	}
}

func TestKeep(t *testing.T) {
	j, _ := newJournal(t)
	for i, want := range []string{"plan.md", "plan-2.md", "plan-3.md"} {
		path, err := j.Artifact("plan.md", []byte(fmt.Sprint(i)))
		if err != nil || filepath.Base(path) != want || readFile(t, j.Root, path) != fmt.Sprint(i) {
			t.Errorf("%s, %v", path, err)
		}
	}
	for _, name := range []string{"", "../x", "a/b", ".hidden", "..", strings.Repeat("x", 300), "a\x00b"} {
		if path, err := j.Artifact(name, nil); err == nil {
			t.Errorf("%q: %s", name, path)
		}
	}
	p, err := j.Show("2026-03-01")
	must(t, err)
	if strings.Join(p.Artifacts, " ") != "plan-2.md plan-3.md plan.md" || len(p.Attachments) != 0 {
		t.Errorf("%+v", p)
	}
}

// No link leads out of the folder.
func TestLinks(t *testing.T) {
	j, _ := newJournal(t)
	out := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(j.Root, ".cmux/journal"), 0o700))
	must(t, os.Symlink(out, filepath.Join(j.Root, ".cmux/journal/2026-03-01")))
	if _, err := j.Add(t.Context(), Entry{Title: "x"}); err == nil {
		t.Error("written through a link")
	}
	if all, err := os.ReadDir(out); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestReflect(t *testing.T) {
	j, now := newJournal(t)
	if day, text, err := j.HandOffNotes(); day != "" || text != "" || err != nil {
		t.Errorf("%q, %q, %v", day, text, err)
	}
	day, err := j.Reflect(t.Context(), HandOff, "supervisor", "api is half done:\n## see t3")
	must(t, err)
	_, err = j.Reflect(t.Context(), "ideas", "", "cache it")
	must(t, err)
	_, err = j.Reflect(t.Context(), HandOff, "", "and the db")
	must(t, err)
	want := `# Reflection, 2026-03-01

## Investigate next

## Mistakes and patterns found

## Ideas for improvement

- 12:00 cache it

## Research queue

## Hand-off notes

- 12:00 (supervisor) api is half done:
  ## see t3
- 12:00 and the db
`
	if got := readFile(t, j.Root, ".cmux/journal", day, reflectionFile); got != want {
		t.Errorf("%s", got)
	}
	*now = noon.AddDate(0, 0, 2)
	_, err = j.Reflect(t.Context(), "mistakes", "", "slept")
	must(t, err)
	on, notes, err := j.HandOffNotes()
	if err != nil || on != "2026-03-01" || !strings.HasPrefix(notes, "- 12:00 (supervisor)") || !strings.HasSuffix(notes, "and the db") {
		t.Errorf("%s: %s, %v", on, notes, err)
	}
	if on, text, err := j.Reflection(); err != nil || on != "2026-03-03" || !strings.Contains(text, "slept") {
		t.Errorf("%s: %s, %v", on, text, err)
	}
	for _, bad := range [][2]string{{"nothing", "x"}, {"ideas", " \n"}, {"ideas", strings.Repeat("x", MaxNote+1)}} {
		if _, err := j.Reflect(t.Context(), bad[0], "", bad[1]); err == nil {
			t.Errorf("%v: noted", bad)
		}
	}
	// A person's own rules for git stay.
	path := filepath.Join(j.Root, ".cmux/journal/2026-03-03", reflectionFile)
	must(t, os.WriteFile(path, []byte("mine\n\n## hand-off notes\n\n\n## Other\nx"), 0o600))
	_, err = j.Reflect(t.Context(), HandOff, "", "n")
	must(t, err)
	_, err = j.Reflect(t.Context(), "ideas", "", "i")
	must(t, err)
	if got := readFile(t, path); got != "mine\n\n## hand-off notes\n\n- 12:00 n\n\n\n## Other\nx\n\n## Ideas for improvement\n\n- 12:00 i\n" {
		t.Errorf("%q", got)
	}
}

func TestSearch(t *testing.T) {
	j, now := newJournal(t)
	_, err := j.Add(t.Context(), Entry{Title: "JWT tokens", Text: "RS256 for the tokens"})
	must(t, err)
	_, err = j.Artifact("plan.md", []byte("tokens expire\n"))
	must(t, err)
	_, err = j.Artifact("picture.png", []byte("tokens\x00"))
	must(t, err)
	*now = noon.AddDate(0, 0, 1)
	_, err = j.Reflect(t.Context(), "ideas", "", "rotate TOKENS")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(j.Root, MemoryFile), []byte("a\nTokens are in vault\n"), 0o600))
	found, err := j.Search(t.Context(), Query{Words: "Tokens"})
	must(t, err)
	var got []string
	for _, h := range found.Hits {
		got = append(got, fmt.Sprintf("%s:%d %s", h.Path, h.Line, h.Text))
	}
	want := []string{
		"MEMORY.md:2 Tokens are in vault",
		".cmux/journal/2026-03-02/reflection.md:9 - 12:00 rotate TOKENS",
		".cmux/journal/2026-03-01/journal.md:3 ## 12:00:00 JWT tokens",
		".cmux/journal/2026-03-01/journal.md:5 RS256 for the tokens",
		".cmux/journal/2026-03-01/artifacts/plan.md:1 tokens expire",
	}
	if !reflect.DeepEqual(got, want) || found.More || len(found.Skipped) != 1 {
		t.Errorf("%q, %v", got, found.Skipped)
	}
	for _, c := range []struct {
		q Query
		n int
	}{
		{Query{Words: "tokens rs256"}, 1}, {Query{Words: "tokens", Since: "2026-03-02"}, 2}, {Query{Words: "tokens", Most: 3}, 3}, {Query{Words: "nothing"}, 0},
		{Query{Words: "tok RS"}, 1}, {Query{Words: "okens"}, 0}, {Query{Words: "## 12:00"}, 1}, {Query{Words: "256"}, 0},
		{Query{Words: "tokens", Without: func(path string) bool { return path == MemoryFile }}, 4},
	} {
		found, err := j.Search(t.Context(), c.q)
		if err != nil || len(found.Hits) != c.n || found.More != (c.n == 3) {
			t.Errorf("%q since %q: %+v, %v", c.q.Words, c.q.Since, found, err)
		}
	}
	for _, q := range []Query{{}, {Words: "x", Since: "yesterday"}} {
		if _, err := j.Search(t.Context(), q); err == nil {
			t.Errorf("%+v: no error", q)
		}
	}
}

func TestMemory(t *testing.T) {
	j, _ := newJournal(t)
	for lines, warns := range map[int]bool{0: false, 1: false, MemoryLines: false, MemoryLines + 1: true} {
		must(t, os.WriteFile(filepath.Join(j.Root, MemoryFile), []byte(strings.Repeat("x\n", lines)), 0o600))
		m, err := j.Memory()
		if err != nil || m.Lines != lines || (m.Warning() != "") != warns {
			t.Errorf("%d lines: %+v, %v", lines, m, err)
		}
	}
	must(t, os.Remove(filepath.Join(j.Root, MemoryFile)))
	if m, err := j.Memory(); err != nil || m.Text != "" || m.Warning() != "" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// Every entry is read back as that one entry.
func FuzzEntry(f *testing.F) {
	f.Add("Title", "text\n## 12:00 x\n\\## 13:00:00 y", "w1", "a")
	f.Add("## 12:00 x", "*by user*", "", "")
	f.Fuzz(func(t *testing.T, title, text, by, tag string) {
		e := Entry{At: noon, Title: title, Text: text, By: by}
		if tag != "" {
			e.Tags = []string{tag}
		}
		if e.Check() != nil || by != strings.TrimSpace(by) {
			t.Skip()
		}
		all := parse("2026-03-01", []byte("# 2026-03-01\n"+e.markdown()+e.markdown()), noon.Location())
		if len(all) != 2 || all[0].Title != strings.TrimSpace(title) || all[0].By != by || !reflect.DeepEqual(all[0], all[1]) {
			t.Fatalf("%q became %q", e, all)
		}
		if want := strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)); all[0].Text != want {
			t.Fatalf("%q became %q", want, all[0].Text)
		}
	})
}
