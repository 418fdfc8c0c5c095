package subject

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/org/task"
	"cmux/signals"
	"cmux/worktree/git"
)

func TestParse(t *testing.T) {
	for about, want := range map[string][2]string{"node:api": {"node", "api"}, "task:t7": {"task", "t7"}, "merge:t7": {"merge", "t7"}, "node:r1/api": {"node", "r1/api"}} {
		if kind, name, err := Parse(about); err != nil || kind != want[0] || name != want[1] {
			t.Errorf("%s: %q, %q, %v", about, kind, name, err)
		}
	}
	for _, about := range []string{"", "api", "node", "node:", "run:r1", ":x", "Task:t1"} {
		if _, _, err := Parse(about); err == nil {
			t.Errorf("%q passes", about)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		end  bool
		want string
	}{
		{"0123456789", false, "0123456789"}, {"0123456789abcdefghij", false, "0123456\n[...]"}, {"0123456789abcdefghij", true, "[...]\ndefghij"},
		{"öööööööööö", false, "ööö\n[...]"},
	} {
		if got := cut(c.text, 13, c.end); got != c.want || len(got) > 13 {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// project is a repository whose branch work changed a line that main has changed too, and a
// task whose work that is.
func project(t *testing.T, body string) *Reader {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		if _, err := git.Run(t.Context(), root, append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "code"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q", "-b", "main")
	for _, c := range []struct{ from, branch, text string }{{"", "", "one\n"}, {"main", "work", "two\n"}, {"main", "main", "three\n"}} {
		if c.branch == "work" {
			run("checkout", "-q", "-b", c.branch)
		} else if c.branch != "" {
			run("checkout", "-q", c.branch)
		}
		write(c.text)
		run("add", "code")
		run("commit", "-q", "-m", "code")
	}
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	b, err := task.OpenBook(root, time.Now, true)
	if err != nil {
		t.Fatal(err)
	}
	title, branch := "Write two", "work"
	add := task.Change{Task: "t1", Op: task.OpAdd, By: "user", Fields: task.Fields{Title: &title, Body: &body, Branch: &branch}}
	if _, _, err := b.Change(t.Context(), func(*task.List) ([]task.Change, error) { return []task.Change{add}, nil }); err != nil {
		t.Fatal(err)
	}
	return &Reader{Root: root, Target: "main", Now: time.Now}
}

func TestTask(t *testing.T) {
	r := project(t, "Say two.\n"+strings.Repeat("x", 64<<10))
	for about, wants := range map[string][]string{
		"task:t1":  {"Task t1: Write two\nIt is open.", "Say two.", "[...]", "What work changes", "code | 2 +-"},
		"merge:t1": {"The work of task t1 (Write two), on work, is to be merged into main.", "main and work do not fit together in:\ncode", "-one\n+three", "-one\n+two", "Say two."},
	} {
		got, err := r.Facts(t.Context(), about)
		if err != nil || len(got) > most {
			t.Fatalf("%s: %d bytes, %v", about, len(got), err)
		}
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%.3000s", about, want, got)
			}
		}
	}
	for _, none := range []string{"task:t2", "merge:t2", "node:api", "node:r1/api", "node:../x"} {
		if _, err := r.Facts(t.Context(), none); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", none, err)
		}
	}
	if name, err := r.Resolve("merge:t1"); err != nil || name != "merge:t1" {
		t.Errorf("%q, %v", name, err)
	}
}
