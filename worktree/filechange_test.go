package worktree

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/worktree/git"
)

// What git says of a tree in which everything happens that can happen to a file.
func TestReadChanges(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, dir, "init", "-q", "-b", "main")
	long := strings.Repeat("the same line\n", 20)
	write("kept", "kept\n")
	write("gone", "gone\n")
	write("old name", long)
	write("bin", "\x00\x01")
	write("typed", "a file\n")
	write("odd\tname\nand \"quotes\"", "one\n")
	sh(t, dir, "add", "-A")
	sh(t, dir, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "one")
	write("dir/new", "1\n2\n")
	write("new name", long+"one more\n")
	write("bin", "\x00\x02")
	write("odd\tname\nand \"quotes\"", "two\n")
	for _, name := range []string{"gone", "old name", "typed"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("kept", filepath.Join(dir, "typed")); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "add", "-A")
	out, err := git.Run(t.Context(), dir, "diff", "-z", "--raw", "--numstat", "--find-renames", "HEAD", "--")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadChanges(out)
	if err != nil {
		t.Fatal(err)
	}
	want := []FileChange{
		{Path: "bin", How: FileModified, Binary: true},
		{Path: "dir/new", How: FileAdded, Added: 2},
		{Path: "gone", How: FileDeleted, Deleted: 1},
		{Path: "new name", Was: "old name", How: FileRenamed, Added: 1},
		{Path: "odd\tname\nand \"quotes\"", How: FileModified, Added: 1, Deleted: 1},
		{Path: "typed", How: FileRetyped, Added: 1, Deleted: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, bad := range []string{"nonsense", ":1 2 3", "1\t2\tnowhere", ":\x00", "1\t2"} {
		if all, err := ReadChanges(bad); err == nil {
			t.Errorf("%q: %+v", bad, all)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzReadChanges(f *testing.F) {
	f.Add(":100644 100644 a b M\x00x\x001\t2\tx\x00")
	f.Add(":100644 100644 a b R100\x00x\x00y\x000\t0\t\x00x\x00y\x00")
	f.Fuzz(func(t *testing.T, out string) {
		if _, err := ReadChanges(out); err != nil {
			t.Skip()
		}
	})
}
