package worktree

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// holding starts git in dir such that it holds a lock, and returns once it does.
func holding(t *testing.T, dir, stdin string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// The editor says that it runs, and is gone with its input.
	cmd.Env = append(os.Environ(), "GIT_EDITOR=sh -c 'echo at work; exec cat >/dev/null'")
	cmd.Stdout = w
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	if _, err := io.WriteString(in, stdin); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal("it never came to hold its lock:", err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
}

func noting(ctx context.Context, into *[]string) context.Context {
	return git.WithNotes(ctx, func(s string) { *into = append(*into, s) })
}

func TestLockOfAKilledGit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("who holds a lock is known on Linux alone")
	}
	r := newRepo(t)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "b"})
	write(t, tree.Path, "a.txt", "new\n")
	lock := filepath.Join(tree.GitDir, "index.lock")
	held := holding(t, tree.Path, "", "commit", "-a")
	if _, err := os.Lstat(lock); err != nil {
		t.Fatal(err)
	}

	var notes []string
	ctx := noting(t.Context(), &notes)
	_, err := r.CommitAll(ctx, tree.Path, "work")
	var h *hint.Error
	if !errors.As(err, &h) || !strings.Contains(err.Error(), lock) || !strings.Contains(err.Error(), "git (pid") || len(notes) > 0 {
		t.Errorf("while a git holds it: %v, notes %q", err, notes)
	}

	kill(t, held)
	if _, err := os.Lstat(lock); err != nil {
		t.Fatal("the kill left no lock:", err)
	}
	if _, err := r.CommitAll(ctx, tree.Path, "work"); err != nil {
		t.Errorf("after the kill: %v", err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "removed "+lock) {
		t.Errorf("notes %q", notes)
	}
	if s := sh(t, tree.Path, "status", "--porcelain"); s != "" {
		t.Errorf("left uncommitted: %s", s)
	}
}

// A lock that others may have, too, is removed when it is older than this
// process, and a person learns of one that is not.
func TestSharedLockOfAKilledGit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("who holds a lock is known on Linux alone")
	}
	r := newRepo(t)
	first := head(t, r)
	second := commit(t, r.Root, "second")
	sh(t, r.Root, "branch", "x/y", first)
	kill(t, holding(t, r.Root, "start\nupdate refs/heads/x/y "+second+"\nprepare\n", "update-ref", "--stdin"))
	lock := filepath.Join(r.GitDir, "refs", "heads", "x", "y.lock")
	// git says "start: ok" before it holds the lock.
	if _, err := os.Lstat(lock); err != nil {
		write(t, filepath.Dir(lock), "y.lock", "")
	}

	var notes []string
	ctx := noting(t.Context(), &notes)
	err := r.UpdateRef(ctx, "refs/heads/x/y", second, first)
	if err == nil || !strings.Contains(err.Error(), "rm ") || len(notes) > 0 {
		t.Fatalf("a younger one: %v, notes %q", err, notes)
	}
	old := git.Started.Add(-time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if err := r.UpdateRef(ctx, "refs/heads/x/y", second, first); err != nil {
		t.Fatal(err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], lock) {
		t.Errorf("notes %q", notes)
	}
}
