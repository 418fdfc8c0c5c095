package book

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cmux/agents/platform/harmless"
	"cmux/agents/room"
	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestFileName(t *testing.T) {
	for given, want := range map[string]string{
		"notes.txt":            "notes.txt",
		"/home/me/a b.txt":     "a_b.txt",
		`C:\Users\me\b.txt`:    "b.txt",
		"../../etc/passwd":     "passwd",
		"..":                   "file",
		".":                    "file",
		"":                     "file",
		"/":                    "file",
		".env":                 "env",
		"-rf":                  "rf",
		"---.txt":              "file.txt",
		"a\nb\x1b[2J\x00.md":   "a_b__2J_.md",
		"*?[x]{a,b}$(id)`.sh":  "___x__a_b___id__.sh",
		"Übersicht_画像.png":     "Übersicht_画像.png",
		"a\u202eb\u200bc.txt":  "a_b_c.txt",
		"a\u034fb\ufe0fc.txt":  "a_b_c.txt",
		"\xff\xfe.bin":         "file.bin",
		"archive.tar.gz":       "archive.tar.gz",
		"name.":                "name.",
		"[PASS] @ann\n> x.txt": "_PASS___ann___x.txt",
	} {
		if got := FileName(given); got != want {
			t.Errorf("%q is called %q, and not %q", given, got, want)
		}
	}
	for _, long := range []string{strings.Repeat("x", 300<<10), strings.Repeat("ü", 300<<10) + ".txt", "x." + strings.Repeat("y", 300<<10)} {
		got := FileName(long)
		if len(got) > maxFileName || !utf8.ValidString(got) || strings.HasSuffix(long, ".txt") != strings.HasSuffix(got, ".txt") {
			t.Errorf("a long name is %q", got)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzFileName(f *testing.F) {
	for _, s := range []string{"a.txt", "../x", "\x1b]0;x\a", "a\u2028b", ".-._"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, given string) {
		got := FileName(given)
		if got == "" || len(got) > maxFileName || filepath.Base(got) != got || strings.HasPrefix(got, ".") || harmless.Line(got) != got || strings.ContainsAny(got, "*?[]{}$`'\"\\ ;&|<>()") {
			t.Errorf("%q is called %q", given, got)
		}
		if id := fileOf(got, []byte("x")).File; !fileID.MatchString(id) {
			t.Errorf("%q names no file", id)
		}
		if FileName(got) != got {
			t.Errorf("%q is %q the second time", got, FileName(got))
		}
	})
}

func (b *Book) attached(t *testing.T, name, text string) room.File {
	t.Helper()
	f, err := b.Attach(t.Context(), name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return *f
}

func TestAttach(t *testing.T) {
	b := newBook(t)
	f := b.attached(t, "../a b.txt", "hello")
	if again := b.attached(t, "../a b.txt", "hello"); again != f || f.Name != "a_b.txt" || f.Size != 5 {
		t.Errorf("%+v, then %+v", f, again)
	}
	if other := b.attached(t, "a b.txt", "other"); other.File == f.File {
		t.Errorf("two files are %s", f.File)
	}
	n, _, err := b.Say(t.Context(), Message{By: room.User, Text: "see", Files: []room.File{f}})
	if err != nil {
		t.Fatal(err)
	}
	if l := b.must(t)[n-1]; len(l.Files) != 1 || l.Files[0] != f || b.Whole(&f) != nil {
		t.Errorf("%+v, %v", l, b.Whole(&f))
	}
	// A long text is in another file, and the names of files stay in the line.
	n, _, err = b.Say(t.Context(), Message{By: room.User, Text: strings.Repeat("x", mostInLine+1), Files: []room.File{f}})
	if l := b.must(t)[n-1]; err != nil || len(l.Files) != 1 || len(l.Text) <= mostInLine {
		t.Errorf("%d files, %d bytes, %v", len(l.Files), len(l.Text), err)
	}
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"empty": {nil, "empty is empty"},
		"large": {make([]byte, MaxFile+1), "large is larger than 10.0 MB"},
	} {
		if _, err := b.Attach(t.Context(), name, c.data); !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := b.Say(t.Context(), Message{By: room.User, Text: "x", Files: make([]room.File, MaxFiles+1)}); !errors.Is(err, ErrFile) {
		t.Errorf("too many: %v", err)
	}
	if _, _, err := b.Say(t.Context(), Message{By: room.User, Text: "x", Files: []room.File{{Name: "no", File: "0123456789abcdef-no"}}}); !errors.Is(err, ErrFile) {
		t.Errorf("one that is not there: %v", err)
	}
	for _, id := range []string{"", "..", "../room.jsonl", "0123456789abcdef-no", "0123456789abcdef-../x", f.File + "\n"} {
		if _, _, err := b.File(id); !errors.Is(err, ErrFile) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := os.WriteFile(b.FilePath(&f), []byte("hullo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Whole(&f); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a changed file: %v", err)
	}
	if _, _, err := b.File(f.File); err == nil {
		t.Error("a changed file is read")
	}
	if err := b.give(&f, filepath.Join(t.TempDir(), "to")); err == nil {
		t.Error("a changed file is given")
	}
	if b.attached(t, "a b.txt", "hello"); b.Whole(&f) != nil {
		t.Errorf("attached again: %v", b.Whole(&f))
	}
	if err := b.Order(t.Context(), "o", room.DoClose, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Attach(t.Context(), "x", []byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("in a closed room: %v", err)
	}
}

// A room has so many bytes of files. What was left by one who was killed before its message
// goes, what a message names stays.
func TestAttachTidies(t *testing.T) {
	b := newBook(t)
	large := strings.Repeat("x", MaxFile-1)
	var kept []room.File
	for i := range MaxAttached / MaxFile {
		f := b.attached(t, "large", fmt.Sprint(i)+large)
		if i < 9 {
			if _, _, err := b.Say(t.Context(), Message{By: room.User, Text: "see", Files: []room.File{f}}); err != nil {
				t.Fatal(err)
			}
			kept = append(kept, f)
		}
	}
	_, err := b.Attach(t.Context(), "one more", []byte("x"))
	if !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), "one_more") || !strings.Contains(err.Error(), "the room auth has 100.0 MB") {
		t.Fatalf("one more: %v", err)
	}
	now := b.now
	b.now = func() time.Time { return now().Add(2 * unnamed) }
	one := b.attached(t, "one more", "x")
	entries, err := os.ReadDir(filepath.Join(b.dir, Files))
	if err != nil || len(entries) != 10 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	for _, f := range append(kept, one) {
		if err := b.Whole(&f); err != nil {
			t.Error(err)
		}
	}
}

// A copy of a member's is made again where it is not whole. What the member has put in its
// place is neither followed nor written into.
func TestGive(t *testing.T) {
	b := newBook(t)
	f := b.attached(t, "a.txt", "hello")
	dir := filepath.Join(filepath.Dir(filepath.Dir(b.dir)), "agents", "auth.claude", Files)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	to := filepath.Join(dir, f.File)
	for name, put := range map[string]func() error{
		"nothing":             func() error { return nil },
		"a whole one":         func() error { return b.give(&f, dir) },
		"a torn one":          func() error { return os.WriteFile(to, []byte("hel"), 0o600) },
		"another of its size": func() error { return os.WriteFile(to, []byte("hullo"), 0o600) },
		"a link":              func() error { return os.Symlink(secret, to) },
		"a link to the same":  func() error { return os.Symlink(b.FilePath(&f), to) },
		"a hard link":         func() error { return os.Link(secret, to) },
	} {
		t.Run(name, func(t *testing.T) {
			os.RemoveAll(dir)
			if err := errors.Join(os.WriteFile(secret, []byte("mine"), 0o600), os.Mkdir(dir, 0o700), put()); err != nil {
				t.Fatal(err)
			}
			if err := b.give(&f, dir); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(to)
			text, _ := os.ReadFile(to)
			other, _ := os.ReadFile(secret)
			entries, _ := os.ReadDir(dir)
			if err != nil || !info.Mode().IsRegular() || string(text) != "hello" || string(other) != "mine" || len(entries) != 1 {
				t.Errorf("%v %v %q, %q beside it, %d files", err, info.Mode(), text, other, len(entries))
			}
		})
	}
	t.Run("a link for the folder", func(t *testing.T) {
		os.RemoveAll(dir)
		elsewhere := t.TempDir()
		if err := os.Symlink(elsewhere, dir); err != nil {
			t.Fatal(err)
		}
		if err := b.give(&f, dir); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%v", err)
		}
		if entries, _ := os.ReadDir(elsewhere); len(entries) != 0 {
			t.Errorf("%d files are behind the link", len(entries))
		}
	})
}

// What was attached by several at once is there once, and each has it.
func TestAttachAtOnce(t *testing.T) {
	b := newBook(t)
	done := make(chan error)
	for i := range 8 {
		go func() {
			f, err := b.Attach(t.Context(), "a", bytes.Repeat([]byte{byte('a' + i%2)}, 1000))
			if err == nil {
				_, _, err = b.Say(t.Context(), Message{By: room.User, Text: "x", Files: []room.File{*f}})
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, l := range b.must(t) {
		for _, f := range l.Files {
			if err := b.Whole(&f); err != nil {
				t.Error(err)
			}
		}
	}
}
