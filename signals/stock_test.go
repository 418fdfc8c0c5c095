package signals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Markers from a stock are like others, also when it is empty, and leave no files.
func TestStock(t *testing.T) {
	dir := t.TempDir()
	s := NewStock(dir)
	var pending []*Pending
	for i := range 20 {
		p, err := s.Prepare(fmt.Sprint("n", i), i)
		must(t, err)
		pending = append(pending, p)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 && pending[0].fd >= 0 {
		t.Errorf("there before they are published: %v, %v", entries, err)
	}
	for i, p := range pending {
		must(t, p.Publish())
		path := filepath.Join(dir, fmt.Sprint("n", i, ".done"))
		b, err := os.ReadFile(path)
		if want := fmt.Sprintln(i); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v, want %q", path, b, err, want)
		}
		info, err := os.Stat(path)
		must(t, err)
		if got := p.Identity(); got.MTime != info.ModTime().UnixNano() || got.Size != info.Size() {
			t.Errorf("the identity is %+v, the file %v %d", got, info.ModTime(), info.Size())
		}
		if info.Mode().Perm() != 0o644 {
			t.Errorf("mode %v", info.Mode())
		}
	}
	p, err := s.Prepare("n0", 7)
	must(t, err)
	if err := p.Publish(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	for _, c := range []struct {
		name string
		code int
	}{{"../x", 0}, {"x", 256}, {"x", -1}} {
		if _, err := s.Prepare(c.name, c.code); err == nil {
			t.Errorf("%+v was prepared", c)
		}
	}
	s.Close()
	if entries, _ := os.ReadDir(dir); len(entries) != 20 {
		t.Errorf("left are %v", entries)
	}
}

// Files made for a folder that has been replaced are not linked into the new one.
func TestStockOfAFolderThatIsGone(t *testing.T) {
	parent := t.TempDir()
	dir, other := filepath.Join(parent, "signals"), filepath.Join(parent, "other")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Mkdir(other, 0o755))
	s := NewStock(dir)
	defer s.Close()
	p, err := s.Prepare("a", 0)
	must(t, err)
	must(t, p.Publish())
	must(t, os.RemoveAll(dir))
	if _, err := s.Prepare("a", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its folder: %v", err)
	}
	must(t, os.Mkdir(dir, 0o755))
	for range stocked + 1 { // those of the old folder, and new ones
		p, err := s.Prepare("a", 3)
		must(t, err)
		must(t, p.Publish())
		must(t, os.Remove(filepath.Join(dir, "a.done")))
	}
}
