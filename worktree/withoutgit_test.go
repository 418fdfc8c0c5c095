package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"cmux/worktree/git"
)

// What TracksNothing says must be what git says, and it says nothing where it
// cannot know.
func TestTracksNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		do   [][]string
		want bool
	}{
		{"nothing was added", [][]string{{"init", "-q"}}, true},
		{"another file", [][]string{{"init", "-q"}, {"add", "f"}}, true},
		{"a file of it", [][]string{{"init", "-q"}, {"add", "-f", ".cmux/x"}}, false},
		{"a link in its place", [][]string{{"init", "-q"}, {"update-index", "--add", "--cacheinfo", "120000,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,.cmux"}}, false},
		{"a file beside it", [][]string{{"init", "-q"}, {"add", ".cmux-agents.yml"}}, true},
		{"a file of it, paths shortened", [][]string{{"init", "-q"}, {"add", "-f", ".c", ".cmux/x"}, {"update-index", "--index-version", "4"}}, false},
		{"a file of it, index split", [][]string{{"init", "-q"}, {"add", "-f", ".cmux/x"}, {"update-index", "--split-index"}, {"add", "f"}}, false},
		{"another file, index split", [][]string{{"init", "-q"}, {"add", "f"}, {"update-index", "--split-index"}}, false},
		{"a repository elsewhere", [][]string{{"init", "-q", "--separate-git-dir=../elsewhere"}}, false},
		{"no repository", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			for _, name := range []string{"f", ".c", ".cmux-agents.yml", ".cmux/x"} {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range c.do {
				if _, err := git.Run(t.Context(), root, args...); err != nil {
					t.Fatal(err)
				}
			}
			if got := git.TracksNothing(root, ".cmux"); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if tracked, err := git.Run(t.Context(), root, "ls-files", "--", ".cmux"); git.TracksNothing(root, ".cmux") && (err != nil || tracked != "") {
				t.Errorf("git tracks %q, %v", tracked, err)
			}
		})
	}
}
