package worktree

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/worktree/git"
	"cmux/worktree/prepare"
)

func TestPrepare(t *testing.T) {
	r := newRepo(t)
	write(t, r.Root, "ignored/lib/x", "lib")
	write(t, r.Root, "a.ign", "a")
	write(t, r.Root, "cfg/b.ign", "b")
	write(t, r.Root, "cfg/plain", "not ignored")
	write(t, r.Root, "dir/c.ign", "c")
	write(t, r.Root, ".worktreeinclude", "cfg/*\n")
	if err := os.Chmod(filepath.Join(r.Root, "a.ign"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	var out bytes.Buffer
	spec := prepare.Spec{
		Copy: []string{"*.ign", "dir/**", "none*"}, Link: []string{"ignored/"},
		Setup:  []string{"echo hello; echo $VALUE > made.ign; echo tracked > new.txt", "mkdir x.ign; echo y > x.ign/y"},
		Env:    append(os.Environ(), "VALUE=42"),
		Output: &out,
	}
	if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, spec); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.ign": "a", "cfg/b.ign": "b", "dir/c.ign": "c", "dir/b.txt": "b\n", "ignored/lib/x": "lib", "made.ign": "42\n"} {
		if got := read(t, tree.Path, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if info, err := os.Stat(filepath.Join(tree.Path, "a.ign")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := os.Lstat(filepath.Join(tree.Path, "cfg/plain")); err == nil {
		t.Error(".worktreeinclude brought a file that git does not ignore")
	}
	for _, want := range []string{`nothing at ` + r.Root + ` matches "none*"`, "cmux: setup: echo hello", "\nhello\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	// Once only.
	spec.Setup = []string{"exit 1"}
	if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, spec); err != nil {
		t.Errorf("ran twice: %v", err)
	}
	// A snapshot has what setup left for git to see, and none of what was given...
	write(t, tree.Path, "mine.ign", "mine")
	snap := must[*Snapshot](t)(r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "w"}))
	if got := sh(t, r.Root, "diff", "--name-only", snap.Commit+"^1", snap.Commit+"^3"); got != "mine.ign\nnew.txt" {
		t.Errorf("saved %q", got)
	}
	// ... unless it was changed since.
	write(t, tree.Path, "a.ign", "changed by the agent")
	snap = must[*Snapshot](t)(r.Snapshot(t.Context(), tree.Path, SnapshotSpec{Name: "w"}))
	if got := sh(t, r.Root, "diff", "--name-only", snap.Commit+"^1", snap.Commit+"^3"); got != "a.ign\nmine.ign\nnew.txt" {
		t.Errorf("saved %q", got)
	}
}

func TestPrepareAgainAfterFailure(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	spec := prepare.Spec{Setup: []string{"echo why >&2; echo x > x.ign; test -e ok && touch went"}}
	err := r.Prepare(t.Context(), tree.Path, tree.GitDir, spec)
	if !errors.Is(err, prepare.ErrSetup) || !strings.Contains(err.Error(), "why") {
		t.Fatalf("%v", err)
	}
	write(t, tree.Path, "ok", "")
	if err := r.Prepare(t.Context(), tree.Path, tree.GitDir, spec); err != nil {
		t.Fatal(err)
	}
	read(t, tree.Path, "went")
	p := must[*prepare.Record](t)(prepare.ReadRecord(tree.GitDir))
	if !p.Done || len(p.Given) != 1 || string(p.Given[0].Path) != "x.ign" {
		t.Errorf("%+v", p)
	}
}

func TestPrepareStaysInside(t *testing.T) {
	r := newRepo(t)
	write(t, r.Root, "../secret/s", "secret")
	if err := os.Symlink("../secret", filepath.Join(r.Root, "out")); err != nil {
		t.Fatal(err)
	}
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	for _, pattern := range []string{"../secret/s", "/etc/passwd", "out/s", "[", "x/../../secret/s"} {
		var out bytes.Buffer
		err := r.Prepare(t.Context(), tree.Path, tree.GitDir, prepare.Spec{Copy: []string{pattern}, Output: &out})
		if err == nil && !strings.Contains(out.String(), "warning") {
			t.Errorf("%q: neither error nor warning", pattern)
		}
		os.Remove(filepath.Join(tree.GitDir, git.PreparedFile))
	}
	found, err := filepath.Glob(filepath.Join(git.EscapeGlob(tree.Path), "*/s"))
	if len(found) > 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

func TestSetupTimeoutEndsTheGroup(t *testing.T) {
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
	fifo := filepath.Join(t.TempDir(), "fifo")
	started := time.Now()
	// The grandchild holds the output: Run returns early only when it dies too.
	err := r.Prepare(t.Context(), tree.Path, tree.GitDir, prepare.Spec{Setup: []string{"mkfifo '" + fifo + "'; sh -c 'cat \"$0\"' '" + fifo + "'; true"}, SetupTimeout: 200 * time.Millisecond})
	if !errors.Is(err, prepare.ErrSetup) || !strings.Contains(err.Error(), "longer than 200ms") {
		t.Fatalf("after %v: %v", time.Since(started), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Prepare(ctx, tree.Path, tree.GitDir, prepare.Spec{Setup: []string{"true"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
