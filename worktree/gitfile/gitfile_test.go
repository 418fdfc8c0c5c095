package gitfile

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPrivate(t *testing.T) {
	long := "gitdir: /" + strings.Repeat("x", maxFile)
	for _, tt := range []struct {
		name, content, want string
		err                 error
	}{
		{"absolute", "gitdir: /r/.git/worktrees/a\n", "/r/.git/worktrees/a", nil},
		{"relative", "gitdir: ../r/.git/modules/a\n", "TREE/../r/.git/modules/a", nil},
		{"no newline", "gitdir: /r/", "/r", nil},
		{"a space at the end of the name", "gitdir: /r \r\n", "/r ", nil},
		{"not git's", "see /r\n", "", ErrNone},
		{"empty", "", "", ErrNone},
		{"no path", "gitdir: \n", "", ErrNone},
		{"without an end", long, "", ErrNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := t.TempDir()
			if err := os.WriteFile(filepath.Join(tree, ".git"), []byte(tt.content), 0o644); err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(tt.want, "TREE", tree)
			if want != "" {
				want = filepath.Clean(want)
			}
			if got, err := Private(tree); got != want || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v; want %q, %v", got, err, want, tt.err)
			}
		})
	}
	none, folder, pipe := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(pipe, ".git"), 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]error{none: fs.ErrNotExist, folder: ErrNone, pipe: ErrNone} {
		if got, err := Private(dir); got != "" || !errors.Is(err, want) {
			t.Errorf("%s: %q, %v; want %v", dir, got, err, want)
		}
	}
}

// Nothing waits for a named pipe in a git directory, or reads a device without an end.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	pipe, tree := filepath.Join(dir, "pipe"), filepath.Join(dir, "tree")
	for _, d := range []string{pipe, tree} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(syscall.Mkfifo(filepath.Join(pipe, "commondir"), 0o644), os.Symlink("/dev/zero", filepath.Join(pipe, "HEAD")),
		os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+pipe), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if got := Common(pipe); got != pipe {
		t.Errorf("got %s", got)
	}
	if got := Branch(tree, "other"); got != "other" {
		t.Errorf("got %s", got)
	}
	if b, err := Read(filepath.Join(tree, ".git"), 8); !errors.Is(err, ErrNone) {
		t.Errorf("of a larger file: %q, %v", b, err)
	}
}

// What it says is what git says.
func TestAsGitSays(t *testing.T) {
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	root, tree := filepath.Join(dir, "r"), filepath.Join(dir, "t")
	git(dir, "init", "-q", root)
	git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one")
	git(root, "worktree", "add", "-q", "--detach", tree)
	private, err := Private(tree)
	if err != nil {
		t.Fatal(err)
	}
	if want := git(tree, "rev-parse", "--absolute-git-dir"); private != want {
		t.Errorf("private %s, git says %s", private, want)
	}
	for _, gitDir := range []string{private, filepath.Join(root, ".git")} {
		if got, want := Common(gitDir), git(tree, "rev-parse", "--path-format=absolute", "--git-common-dir"); got != want {
			t.Errorf("common of %s is %s, git says %s", gitDir, got, want)
		}
	}
}
