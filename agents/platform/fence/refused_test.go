package fence

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestMentioned(t *testing.T) {
	for _, line := range []string{
		"bash: line 1: /o/x y: Permission denied",
		"sh: 1: cannot create /o/x y: Permission denied",
		"touch: cannot touch '/o/x y': Permission denied",
		"mkdir: cannot create directory ‘/o/x y’: Permission denied",
		"mv: cannot move 'a/b' to '/o/x y': Permission denied",
		"PermissionError: [Errno 13] Permission denied: '/o/x y'",
		"Error: EACCES: permission denied, open '/o/x y'",
		"open /o/x y: permission denied",
		"fatal: Unable to create '/o/x y': Permission denied",
		"error: could not lock config file /o/x y: Operation not permitted",
		`failed to create "/o/x y": Permission denied (os error 13)`,
		"tee: /o/x y: Permission denied",
	} {
		got := Mentioned("before /a/b\n"+line+"\nafter /c/d: fine\n", "/w")
		plain := Mentioned(strings.ReplaceAll(line, "x y", "xy"), "/w")
		if !slices.Contains(plain, "/o/xy") {
			t.Errorf("%s: without a space: %q", line, plain)
		}
		if !strings.Contains(line, "cannot create /") && !strings.Contains(line, "open /") && !strings.Contains(line, "file /") && !slices.Contains(got, "/o/x y") {
			t.Errorf("%s: %q", line, got)
		}
		if slices.Contains(got, "/a/b") || slices.Contains(got, "/c/d") {
			t.Errorf("%s: another line was read: %q", line, got)
		}
	}
	if got := Mentioned("rm: cannot remove '../other/f': Permission denied", "/w/a"); !slices.Contains(got, "/w/other/f") {
		t.Errorf("relative: %q", got)
	}
	if got := Mentioned("/bin/sh: 1: cannot create web/page: Permission denied", "/w"); slices.Contains(got, "/bin/sh") || !slices.Contains(got, "/w/web/page") {
		t.Errorf("the program that says it: %q", got)
	}
	if got := Mentioned("Permission denied (publickey). https://x.org/a", "/w"); len(got) != 0 {
		t.Errorf("no path: %q", got)
	}
}

func TestRefuses(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"in", "out"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "out"), filepath.Join(base, "in/link")); err != nil {
		t.Fatal(err)
	}
	f := &Fence{Write: []string{filepath.Join(base, "in")}}
	for path, want := range map[string]bool{
		"in/new": false, "in": false, "out": true, "out/new": true, "inside": true, // beside it
		"in/link/new": true, "out/gone/new": false, // fails without a fence too
	} {
		if got := f.Refuses(filepath.Join(base, path)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestListening: what is printed is passed on as it is, and a refusal is found however the
// output is cut.
func TestListening(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	said := "cloning\ntouch: cannot touch '" + home + "/made': Permission denied\n" + strings.Repeat("x", 3*longestLine) + "\n" + home + "/more: Permission denied\nend"
	for size := 1; size < len(said); size = size*2 + 1 {
		var e Ear
		e.Hear(said) // is not begun
		e.Begin(&Fence{}, home)
		var out bytes.Buffer
		l := e.Writer(&out)
		for part := range slices.Chunk([]byte(said), size) {
			if _, err := l.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != said {
			t.Errorf("parts of %d: the output was changed", size)
		}
		if got := e.Take(); !slices.Equal(got, []string{home + "/made", home + "/more"}) {
			t.Errorf("parts of %d: %q", size, got)
		}
	}
}

// FuzzMentioned: whatever a program prints, what is named is a clean absolute path.
func FuzzMentioned(f *testing.F) {
	f.Add("touch: cannot touch '/o/x': Permission denied", "/w")
	f.Add("a/b: permission denied\n'", "/")
	f.Fuzz(func(t *testing.T, text, dir string) {
		if !filepath.IsAbs(dir) {
			dir = "/" + dir
		}
		got := Mentioned(text, dir)
		for _, path := range got {
			if !filepath.IsAbs(path) || path != filepath.Clean(path) {
				t.Errorf("%q", path)
			}
		}
		if len(got) > mostMentioned {
			t.Error(len(got))
		}
	})
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }
