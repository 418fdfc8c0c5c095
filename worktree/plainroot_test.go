package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"cmux/worktree/git"
)

// PlainRoot says what git says, or nothing.
func TestPlainRoot(t *testing.T) {
	for _, c := range []struct {
		name string
		do   [][]string
		in   string // below the root
		env  []string
		want bool
	}{
		{"at the root", [][]string{{"init", "-q"}}, "", nil, true},
		{"deep in it", [][]string{{"init", "-q"}}, "a/b", nil, true},
		{"in the git directory", [][]string{{"init", "-q"}}, ".git/refs", nil, false},
		{"in no repository", nil, "", nil, false},
		{"in a bare one", [][]string{{"init", "-q", "--bare"}}, "refs", nil, false},
		{"one that is bare by its configuration", [][]string{{"init", "-q"}, {"config", "core.bare", "true"}}, "", nil, false},
		{"with its worktree elsewhere", [][]string{{"init", "-q"}, {"config", "core.worktree", "/tmp"}}, "a", nil, false},
		{"with a configuration that is included", [][]string{{"init", "-q"}, {"config", "include.path", "more"}}, "", nil, false},
		{"with its git directory elsewhere", [][]string{{"init", "-q", "--separate-git-dir=../elsewhere"}}, "", nil, false},
		{"below a ceiling", [][]string{{"init", "-q"}}, "a", []string{"GIT_CEILING_DIRECTORIES=/"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			root = filepath.Join(root, "root")
			if err := os.MkdirAll(root, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, args := range c.do {
				if _, err := git.Run(t.Context(), root, args...); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(root, c.in)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			got, want := git.PlainRoot(dir, c.env), ""
			if c.want {
				want = root
				if top, err := git.Run(t.Context(), dir, "rev-parse", "--show-toplevel"); err != nil || git.Line(top) != root {
					t.Errorf("git says %q, %v", top, err)
				}
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
