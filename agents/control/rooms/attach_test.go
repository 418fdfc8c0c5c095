package rooms

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/control/project"
	"cmux/agents/room/book"
)

// What cannot be attached is refused by its name, and nothing is said.
func TestAttachRefuses(t *testing.T) {
	p := newRooms(t)
	b := p.made(t, "r")
	at := func(name string) string { return filepath.Join(p.Root, name) }
	file := func(name, text string) string {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("folder"), 0o700))
	must(syscall.Mkfifo(at("pipe"), 0o600))
	must(os.Symlink("nowhere", at("dangling")))
	must(os.Symlink("folder", at("to-folder")))
	must(os.Symlink("loop", at("loop")))
	file("large", strings.Repeat("x", book.MaxFile+1))
	many := []string{}
	for range book.MaxFiles + 1 {
		many = append(many, file("one", "x"))
	}
	for _, c := range []struct {
		attach []string
		says   string
	}{
		{[]string{"nosuch"}, "nosuch: no such file"},
		{[]string{"folder"}, "folder: it is a folder"},
		{[]string{"to-folder"}, "it is a folder"},
		{[]string{"pipe"}, "pipe: it is no regular file"},
		{[]string{"/dev/zero"}, "/dev/zero: it is no regular file"},
		{[]string{"dangling"}, "dangling: no such file"},
		{[]string{"loop"}, "too many levels of symbolic links"},
		{[]string{file("empty", "")}, "empty is empty"},
		{[]string{"large"}, "large is larger than 10.0 MB"},
		{many, "11 files, and a message may have 10"},
		{[]string{"one", "nosuch"}, "nosuch: no such file"},
	} {
		if said, err := p.Say(t.Context(), "r", Say{Text: "see", Attach: c.attach}); !errors.Is(err, project.ErrUsage) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %+v, %v", c.attach, said, err)
		}
	}
	if lines, _, err := b.Lines(); err != nil || len(lines) != 2 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// A link is followed, the same file is there once, and the same key is the same message.
func TestAttached(t *testing.T) {
	p := newRooms(t)
	b := p.made(t, "r")
	if err := errors.Join(os.WriteFile(filepath.Join(p.Root, "a.log"), []byte("boom"), 0o600), os.Symlink("a.log", filepath.Join(p.Root, "link.log"))); err != nil {
		t.Fatal(err)
	}
	say := Say{Text: "see", Key: "k", Attach: []string{"a.log", "link.log", "./a.log"}}
	for range 2 {
		if said, err := p.Say(t.Context(), "r", say); err != nil || said.Message != 3 || said.Note != "" {
			t.Fatalf("%+v, %v", said, err)
		}
	}
	say.Attach = say.Attach[:0]
	if said, err := p.Say(t.Context(), "r", say); err != nil || !strings.Contains(said.Note, "says something else") {
		t.Errorf("without its files: %+v, %v", said, err)
	}
	all, _, err := p.Messages("r", 0, 10)
	if err != nil || len(all) != 1 || len(all[0].Files) != 2 || all[0].Files[0].Name != "a.log" || all[0].Files[1].Name != "link.log" {
		t.Fatalf("%+v, %v", all, err)
	}
	if broken, _, _, err := p.Check("r"); err != nil || len(broken) != 0 {
		t.Errorf("%v, %v", broken, err)
	}
	for name, f := range all[0].Files {
		got, data, err := p.File("r", f.File)
		if err != nil || *got != f || string(data) != "boom" {
			t.Errorf("%d: %+v %q %v", name, got, data, err)
		}
	}
	if text, err := p.Export("r", Markdown); err != nil || !strings.Contains(text, "\nattached: files/"+all[0].Files[0].File+" (4 B)\n") {
		t.Errorf("%s %v", text, err)
	}
	// What was uploaded and not said is nobody's to read.
	f, err := p.Upload(t.Context(), "r", "b.log", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.File("r", f.File); !errors.Is(err, project.ErrMissing) {
		t.Errorf("%v", err)
	}
	if _, err := p.Say(t.Context(), "r", Say{Text: "and this", Files: []string{f.File, f.File}}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(b.FilePath(&all[0].Files[0])), os.WriteFile(b.FilePath(f), []byte("y"), 0o600)); err != nil {
		t.Fatal(err)
	}
	broken, _, _, err := p.Check("r")
	if err != nil || len(broken) != 2 || broken[0].Line != 3 || !strings.Contains(broken[0].What, "a.log is missing") || broken[1].Line != 4 || !strings.Contains(broken[1].What, "b.log was changed") {
		t.Errorf("%v, %v", broken, err)
	}
}

// A file that grows while it is read is not attached half.
func TestAttachChanging(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	_, err = readOpen(path, func(r io.Reader) ([]byte, error) {
		data, err := io.ReadAll(r)
		_, werr := f.Write([]byte("more"))
		return data, errors.Join(err, werr)
	})
	if err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("%v", err)
	}
}
