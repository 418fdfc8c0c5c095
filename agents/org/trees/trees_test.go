package trees

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/org/standing"
	"cmux/worktree"
	"cmux/worktree/merge"
)

// TestStart starts branches from the work of other tasks, in a real repository.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	work := func(branch, from, file, text string) string {
		t.Helper()
		git("checkout", "-q", "-b", branch, from)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "-q", "-m", branch)
		return git("rev-parse", "HEAD")
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "base")
	one := work("task/t1", "main", "a", "one")
	work("task/t2", "main", "b", "two")
	other := work("task/t3", "main", "a", "other")
	work("task/t4", "task/t1", "c", "more")
	repo, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	trees := Git{repo}
	t1, t2, t3 := standing.Contribution{Task: "t1", Commit: one}, standing.Contribution{Task: "t2", Branch: "task/t2"}, standing.Contribution{Task: "t3", Commit: other}
	for _, test := range []struct {
		name, branch string
		from         []standing.Contribution
		files        string // of the start; empty: the branch exists
		in           []bool
		conflict     string
	}{
		{name: "nothing", branch: "new", files: ""},
		{name: "one", branch: "new", from: []standing.Contribution{t1}, files: "a", in: []bool{true}},
		{name: "two, one by its branch", branch: "new", from: []standing.Contribution{t1, t2}, files: "a\nb", in: []bool{true, true}},
		{name: "one without a branch", branch: "new", from: []standing.Contribution{t1, {Task: "t9", Branch: "task/t9"}}, files: "a", in: []bool{true, false}},
		{name: "a branch that is there", branch: "task/t4", from: []standing.Contribution{t1, t2}, in: []bool{true, false}},
		{name: "a conflict", branch: "new", from: []standing.Contribution{t1, t3}, in: []bool{false, false}, conflict: "t1 and t3 conflict in a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			commit, err := trees.Start(t.Context(), test.branch, "main", test.from)
			var conflict *merge.ConflictError
			if test.conflict != "" {
				if !errors.As(err, &conflict) || conflict.Error() != test.conflict {
					t.Fatalf("error %v, want %q", err, test.conflict)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			for i, c := range test.from {
				if c.In != test.in[i] {
					t.Errorf("%s is in: %t, want %t", c.Task, c.In, test.in[i])
				}
			}
			again, _ := trees.Start(t.Context(), test.branch, "main", test.from)
			if again != commit {
				t.Errorf("it starts at %s, and then at %s", commit, again)
			}
			if commit == "" {
				if test.files != "" {
					t.Error("it starts nowhere")
				}
				return
			}
			if got := git("ls-tree", "--name-only", commit); got != test.files {
				t.Errorf("the start holds %q, want %q", got, test.files)
			}
		})
	}
	// The integration branch has moved, and does not fit.
	work("moved", "main", "a", "moved")
	git("branch", "-f", "main", "moved")
	_, err = trees.Start(t.Context(), "new", "main", []standing.Contribution{t1})
	if err == nil || err.Error() != "main and t1 conflict in a" {
		t.Errorf("error %v", err)
	}
}
