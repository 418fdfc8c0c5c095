package run

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/platform/seal"
)

// another makes one more run of r's project, of the program at path.
func another(t *testing.T, r *Run, path string) *Run {
	t.Helper()
	next, err := Create(Plan{ID: NewID(time.Now()), Root: r.Plan.Root, Config: r.Plan.Config, Graph: r.Plan.Graph}, nil, nil, path)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// script is a program of its own at path, written into the file that is there.
func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func prints(t *testing.T, r *Run, want string) {
	t.Helper()
	out, err := exec.Command(r.Binary()).Output()
	if err != nil || string(out) != want+"\n" {
		t.Errorf("%s says %q, %v, want %s", r.Binary(), out, err, want)
	}
}

// The runs of a project share a copy of each version, and an upgrade, be it
// into the same file, changes nothing for those that are there.
func TestOneCopyAVersion(t *testing.T) {
	r := newRun(t)
	at := filepath.Join(t.TempDir(), "cmux")
	script(t, at, "one")
	first, second := another(t, r, at), another(t, r, at)
	if first.Binary() != second.Binary() || first.Plan.Program != second.Plan.Program {
		t.Errorf("%+v and %+v", first.Plan.Program, second.Plan.Program)
	}
	script(t, at, "two")
	third := another(t, r, at)
	prints(t, first, "one")
	prints(t, third, "two")
	// The same content in another file is the same version.
	elsewhere := filepath.Join(t.TempDir(), "cmux")
	script(t, elsewhere, "one")
	fourth := another(t, r, elsewhere)
	if fourth.Binary() != first.Binary() {
		t.Errorf("%s is no copy of the version %s", fourth.Binary(), first.Binary())
	}
	for _, run := range []*Run{first, second, third, fourth} {
		again, err := Open(r.Plan.Root, run.Plan.ID)
		if err != nil || again.Binary() != run.Binary() || filepath.Dir(again.Binary()) == filepath.Join(again.Dir, binDir) {
			t.Errorf("opened again it is %v, %v", again, err)
		}
		if strangers, err := run.ProveBin(); err != nil || strangers != nil {
			t.Errorf("%q, %v", strangers, err)
		}
	}
	if entries, _ := os.ReadDir(programsDir(r.Plan.Root)); len(entries) != 6 { // with /bin/sh of newRun, each with its note
		t.Errorf("left: %v", entries)
	}
}

// A second start of the same file reads neither it nor the copy.
func TestTheCopyIsFoundByItsFile(t *testing.T) {
	r := newRun(t)
	at := filepath.Join(t.TempDir(), "cmux")
	script(t, at, "one")
	first := another(t, r, at)
	own, err := seal.Find()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	source, device, err := fileOf(at, info)
	if err != nil {
		t.Fatal(err)
	}
	key := programKey(own, r.Plan.Root)
	if kept, ok := r.keptProgram(key, source, device); !ok || kept != first.Plan.Program {
		t.Errorf("%+v, %v, want %+v", kept, ok, first.Plan.Program)
	}
	note := noteOf(first.Bin)
	was := read(t, note)
	// A note that somebody else wrote does not count, nor one about another file.
	for what, spoil := range map[string]func() error{
		"a note that was changed": func() error {
			return os.WriteFile(note, []byte(strings.Replace(string(was), `"copy":{`, `"copy":{"x":1,`, 1)), 0o600)
		},
		"a note of another version": func() error {
			return errors.Join(os.Remove(note), os.WriteFile(filepath.Join(programsDir(r.Plan.Root), "0123456789abcdef.json"), was, 0o600))
		},
		"a copy that was changed": func() error {
			f, err := os.OpenFile(first.Binary(), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("# more\n")
			return errors.Join(err, f.Close())
		},
	} {
		if err := os.WriteFile(note, was, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if kept, ok := r.keptProgram(key, source, device); ok {
			t.Errorf("%s: %+v", what, kept)
		}
		next := another(t, r, at)
		prints(t, next, "one")
		if entries, err := os.ReadDir(next.Bin); err != nil || len(entries) != 1 {
			t.Errorf("%s: left %v, %v", what, entries, err)
		}
		first, was = next, read(t, note)
	}
}

// What was put in the place of a version before it is made is not executed.
func TestNoForeignCopy(t *testing.T) {
	r := newRun(t)
	at := filepath.Join(t.TempDir(), "cmux")
	script(t, at, "ours")
	sum, err := sumFile(at)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(programsDir(r.Plan.Root), version(sum))
	elsewhere := t.TempDir()
	script(t, filepath.Join(elsewhere, "cmux"), "theirs")
	for what, put := range map[string]func() error{
		"a program": func() error {
			return errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "cmux"), []byte("#!/bin/sh\necho theirs\n"), 0o755))
		},
		"a link to a folder": func() error { return os.Symlink(elsewhere, folder) },
		"a file":             func() error { return os.WriteFile(folder, nil, 0o755) },
		"a program beside": func() error {
			return errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "git"), nil, 0o755))
		},
	} {
		if err := errors.Join(os.RemoveAll(folder), os.RemoveAll(noteOf(folder)), put()); err != nil {
			t.Fatal(err)
		}
		prints(t, another(t, r, at), "ours")
		if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, %v", what, info, err)
		}
		if _, err := os.Lstat(filepath.Join(folder, "git")); err == nil {
			t.Errorf("%s: it is first in the PATH", what)
		}
	}
}

// A copy goes when no run names it, and when that is certain.
func TestPrunePrograms(t *testing.T) {
	r := newRun(t)
	root, at := r.Plan.Root, filepath.Join(t.TempDir(), "cmux")
	script(t, at, "one")
	first := another(t, r, at)
	script(t, at, "two")
	second := another(t, r, at)
	left := filepath.Join(programsDir(root), ".20260101-half-made")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	prune := func(now time.Time) {
		t.Helper()
		if err := PrunePrograms(root, now); err != nil {
			t.Error(err)
		}
	}
	prune(later)
	if !there(first.Binary()) || !there(second.Binary()) || there(left) {
		t.Error("one that a run names is gone, or what a kill left is not")
	}
	if err := os.RemoveAll(first.Dir); err != nil {
		t.Fatal(err)
	}
	prune(time.Now())
	if !there(first.Binary()) {
		t.Error("one that may be that of a run that is being made is gone")
	}
	plan := filepath.Join(second.Dir, planFile)
	was := read(t, plan)
	write(t, plan, []byte("{"))
	if err := PrunePrograms(root, later); err == nil || !there(first.Binary()) {
		t.Errorf("a plan cannot be read: %v", err)
	}
	write(t, plan, was)
	prune(later)
	if there(first.Bin) || there(noteOf(first.Bin)) || !there(second.Binary()) || !there(r.Binary()) {
		t.Error("the wrong one is gone, or none")
	}
}

func BenchmarkKeepProgram(b *testing.B) {
	r := newRun(b)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	own, err := seal.Find()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("kept=false", func(b *testing.B) {
		for b.Loop() {
			if err := errors.Join(os.RemoveAll(programsDir(r.Plan.Root)), r.keepProgram(own, self)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("kept=true", func(b *testing.B) {
		for b.Loop() {
			if err := r.keepProgram(own, self); err != nil {
				b.Fatal(err)
			}
		}
	})
}
