package control

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cmux/agents/control/files"
	"cmux/agents/control/runs"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/worktree"
)

// The files of a node are those that are not committed as well, each with both of
// its sides, whatever kind of file it is; without the worktree, and where only what
// is committed is asked for, they are those of the branch.
func TestNodeChanges(t *testing.T) {
	const shown = 1 << 20 // bytes of a file
	s := worked(t)
	tree := filepath.Join(filepath.Dir(s.Root), "scratch-a")
	s.write(filepath.Join(tree, "untracked"), "three\n")
	s.write(filepath.Join(tree, "bin"), "\x00\x01")
	s.write(filepath.Join(tree, "big"), strings.Repeat("é", shown))
	s.write(filepath.Join(tree, "README"), "changed\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(tree, "away")); err != nil {
		t.Fatal(err)
	}
	was := s.gitIn(s.Root, "show", "main:README")
	id := s.run.Plan.ID
	changes := func(committed bool) *files.Changes {
		t.Helper()
		c, err := s.Runs().NodeChanges(t.Context(), id, "a", runs.Part{Committed: committed})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := changes(false)
	want := []worktree.FileChange{
		{Path: "README", How: worktree.FileModified, Added: 1, Deleted: strings.Count(was, "\n") + 1},
		{Path: "a", How: worktree.FileAdded, Added: 1},
		{Path: "away", How: worktree.FileAdded, Added: 1},
		{Path: "big", How: worktree.FileAdded, Added: 1},
		{Path: "bin", How: worktree.FileAdded, Binary: true},
		{Path: "untracked", How: worktree.FileAdded, Added: 1},
	}
	if !c.Live || c.Start != s.run.Plan.Base || c.Tip != s.gitIn(s.Root, "rev-parse", "scratch/a") || !reflect.DeepEqual(c.Files, want) {
		t.Errorf("%+v\nwant %+v", c, want)
	}
	file := func(path string, committed bool) *files.FilePair {
		t.Helper()
		f, err := s.Runs().NodeFile(t.Context(), id, "a", path, "", runs.Part{Committed: committed})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if f := file("README", false); strings.TrimSpace(f.Old.Text) != was || f.New.Text != "changed\n" || f.Old.Kind != "file" {
		t.Errorf("%+v, %+v", f.Old, f.New)
	}
	if f := file("away", false); f.Old != nil || f.New.Kind != "link" || f.New.Text != "/etc/passwd" {
		t.Errorf("%+v", f.New)
	}
	if f := file("bin", false); !f.New.Binary || f.New.Text != "" {
		t.Errorf("%+v", f.New)
	}
	if f := file("big", false); !f.New.Cut || f.New.Binary || len(f.New.Text) > shown || f.New.Size != 2*shown {
		t.Errorf("cut %v, binary %v, %d of %d bytes", f.New.Cut, f.New.Binary, len(f.New.Text), f.New.Size)
	}
	for _, path := range []string{"none", "../README", "/etc/passwd", ".git", ".GIT/config", ".cmux/token", "away/x", "a\x00"} {
		if f, err := s.Runs().NodeFile(t.Context(), id, "a", path, "", runs.Part{}); err == nil {
			t.Errorf("%q: %+v", path, f)
		}
	}
	// What is not committed is left out where it is not asked for.
	if c := changes(true); c.Live || len(c.Files) != 1 || c.Files[0].Path != "a" {
		t.Errorf("%+v", c)
	}
	if f := file("README", true); strings.TrimSpace(f.New.Text) != was {
		t.Errorf("%+v", f.New)
	}
	// A large file that is committed is cut as well.
	s.gitIn(tree, "add", "-A")
	s.gitIn(tree, "commit", "-q", "-m", "more")
	if c := changes(false); c.Live || len(c.Files) != 6 {
		t.Errorf("all of it is committed: %+v", c)
	}
	if f := file("big", true); !f.New.Cut || f.New.Size != 2*shown || len(f.New.Text) > shown {
		t.Errorf("cut %v, %d of %d bytes", f.New.Cut, len(f.New.Text), f.New.Size)
	}
	s.gitIn(s.Root, "worktree", "remove", "--force", "../scratch-a")
	if c := changes(false); c.Live || len(c.Files) != 6 {
		t.Errorf("%+v", c)
	}
	// Of a past run it is what its node left.
	s.begin(runner.StartOptions{Headless: true})
	c, err := s.Runs().NodeChanges(t.Context(), id, "a", runs.Part{})
	if err != nil || c.Live || len(c.Files) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = s.Runs().NodeChanges(t.Context(), id, "none", runs.Part{})
	if _, rerr := run.Open(s.Root, id); err == nil || rerr != nil {
		t.Errorf("%v, %v", err, rerr)
	}
}
