package signals

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "registry.json")
	for _, content := range []string{"one", "", "a longer one"} {
		must(t, WriteFile(name, []byte(content), 0o600))
		if got := read(t, name); got != content {
			t.Errorf("content %q, want %q", got, content)
		}
	}
	st, err := os.Stat(name)
	must(t, err)
	if st.Mode() != 0o600 {
		t.Errorf("mode %v, want 0600", st.Mode())
	}
	if got := list(t, dir); !reflect.DeepEqual(got, []string{"registry.json"}) {
		t.Errorf("folder holds %v", got)
	}
}

func TestWriteFileLeavesNothingOnFailure(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "taken")
	must(t, os.MkdirAll(filepath.Join(name, "inside"), 0o755)) // rename onto it fails
	if err := WriteFile(name, []byte("x"), 0o644); err == nil {
		t.Error("replaced a folder")
	}
	if got := list(t, dir); !reflect.DeepEqual(got, []string{"taken"}) {
		t.Errorf("folder holds %v", got)
	}
	if err := WriteFile(filepath.Join(dir, "none", "f"), nil, 0o644); !os.IsNotExist(err) && err == nil {
		t.Error("wrote into a missing folder")
	}
}

func TestWriteFileReplacesALink(t *testing.T) {
	dir := t.TempDir()
	target, name := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	write(t, target, "theirs")
	must(t, os.Symlink(target, name))
	must(t, WriteFile(name, []byte("ours"), 0o644))
	if read(t, target) != "theirs" || read(t, name) != "ours" {
		t.Errorf("target %q, link %q", read(t, target), read(t, name))
	}
}
