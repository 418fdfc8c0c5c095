package git

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVersion(t *testing.T) {
	for out, ok := range map[string]bool{
		"git version 2.38.0\n": true, "git version 2.39.5 (Apple Git-154)\n": true, "git version 3.0\n": true,
		"git version 2.37.9\n": false, "git version 1.8.3.1\n": false, "git version next\n": false, "git version 2.45.GIT\n": true,
	} {
		if err := versionOK(out); (err == nil) != ok || err != nil && !errors.Is(err, ErrGit) {
			t.Errorf("%q: %v", out, err)
		}
	}
}

func TestLockPath(t *testing.T) {
	for _, c := range []struct{ stderr, want string }{
		{"fatal: Unable to create '/r/.git/worktrees/w/index.lock': File exists.\n\nAnother git process", "/r/.git/worktrees/w/index.lock"},
		{"fatal: update_ref failed for ref 'HEAD': cannot lock ref 'HEAD': Unable to create '/r/.git/HEAD.lock': File exists.", "/r/.git/HEAD.lock"},
		{"error: could not lock config file .git/config: File exists", "/d/.git/config.lock"},
		{"error: could not lock config file .git/config: Permission denied", ""},
		{"fatal: Unable to create '/r/.git/index': File exists.", ""},
		{"nothing of the kind", ""},
	} {
		if got := lockPath(c.stderr, "/d"); got != c.want {
			t.Errorf("%q: %q, want %q", c.stderr, got, c.want)
		}
	}
}

// gone is a writer that takes nothing before the process whose pipe it has has
// ended.
type gone struct {
	bytes.Buffer
	end, ours *os.File
}

func (w *gone) Write(b []byte) (int, error) {
	w.ours.Close() // the process has its own
	if _, err := io.Copy(io.Discard, w.end); err != nil {
		return 0, err
	}
	return w.Buffer.Write(b)
}

// A reader that is slower than git is no failure, however long it takes.
func TestSlowReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := Exec(t.Context(), t.TempDir(), os.Environ(), "version")
	cmd.WaitDelay = time.Nanosecond
	cmd.ExtraFiles = []*os.File{w}
	slow := &gone{end: r, ours: w}
	if err := drain(t.Context(), cmd, slow); err != nil || !strings.HasPrefix(slow.String(), "git version") {
		t.Errorf("%q, %v", slow.String(), err)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("1 .M N... 100644 100644 100644 aa bb a b\x002 R. N... 1 2 3 a b R100 new\x00old\x00u UU N... 1 2 3 4 a b c x y\x00? new\x00! ign/\x00")
	f.Fuzz(func(t *testing.T, out string) {
		entries, err := ParseStatus(Fields(out))
		if err == nil && len(entries) > len(Fields(out)) {
			t.Errorf("%d entries of %q", len(entries), out)
		}
	})
}

// The lock on the main worktree's index is its person's.
func TestLockOfTheMainIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".git")
	lock := filepath.Join(dir, "index.lock")
	if err := os.MkdirAll(filepath.Join(dir, "objects"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{lock, filepath.Join(dir, "HEAD")} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	old := Started.Add(-time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if removed, _ := breakLock(t.Context(), lock, time.Now()); removed {
		t.Error("the main worktree's index lock was removed")
	}
}

// The branch of the first commit stands in the way before there is one.
func TestTakes(t *testing.T) {
	dir := t.TempDir()
	r := &Repo{Root: dir}
	try := func(args ...string) {
		t.Helper()
		if _, err := Run(t.Context(), dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"init", "-q", "-b", "trunk"}, "trunk"},
		{[]string{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"}, "trunk"},
		{[]string{"branch", "more"}, "more trunk"},
	} {
		try(step.args...)
		if all, err := r.Takes(t.Context()); err != nil || strings.Join(all, " ") != step.want {
			t.Errorf("after git %s: %q, %v", step.args, all, err)
		}
	}
}
