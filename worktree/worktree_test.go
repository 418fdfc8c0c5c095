package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/worktree/merge"
)

func TestMain(m *testing.M) {
	for k, v := range map[string]string{
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org",
		"GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org",
	} {
		os.Setenv(k, v)
	}
	os.Exit(m.Run())
}

// sh runs git as a person would, in dir.
func sh(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	full := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// commit writes files (name, content pairs) and commits everything in dir.
func commit(t testing.TB, dir, message string, files ...string) string {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		write(t, dir, files[i], files[i+1])
	}
	sh(t, dir, "add", "-A")
	sh(t, dir, "commit", "-q", "--allow-empty", "-m", message)
	return sh(t, dir, "rev-parse", "HEAD")
}

// newRepo makes a repository with one commit in a folder with an awkward name.
func newRepo(t testing.TB) *Repo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my répo")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "init", "-q", "-b", "main")
	commit(t, dir, "first", "a.txt", "a\n", "dir/b.txt", "b\n", ".gitignore", "*.ign\nignored/\n")
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// branchWith makes a branch at start with one commit of the given files.
func branchWith(t testing.TB, r *Repo, name, start string, files ...string) merge.Tip {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "w")
	sh(t, r.Root, "worktree", "add", "-q", "-b", name, dir, start)
	id := commit(t, dir, name, files...)
	sh(t, r.Root, "worktree", "remove", dir)
	return merge.Tip{Name: name, Commit: id}
}

func head(t testing.TB, r *Repo) string { return sh(t, r.Root, "rev-parse", "HEAD") }

// beside is a path next to the repository's root.
func beside(r *Repo, name string) string { return filepath.Join(filepath.Dir(r.Root), name) }

func lend(t testing.TB, r *Repo, s LendSpec) *Tree {
	t.Helper()
	if s.Start == "" {
		s.Start = head(t, r)
	}
	tree, err := r.Lend(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// shape is all that can be seen of a tree: status, staged content, files with
// modes, bytes and link targets. Given paths are left out, and folders that hold
// no file, which git knows nothing of; some it lists as ignored all the same.
func shape(t testing.TB, dir string, without ...string) string {
	t.Helper()
	var b strings.Builder
	status := strings.Split(sh(t, dir, "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--ignored=matching"), "\x00")
	status = slices.DeleteFunc(status, func(entry string) bool {
		folder, ignored := strings.CutPrefix(entry, "! ")
		return ignored && strings.HasSuffix(folder, "/") && hollow(t, filepath.Join(dir, folder))
	})
	b.WriteString(strings.Join(status, "\x00"))
	b.WriteString("\n" + sh(t, dir, "ls-files", "-s", "-v", "-z") + "\n")
	err := filepath.Walk(dir, func(full string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, full)
		for _, w := range without {
			if rel == w {
				if info.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
		}
		switch {
		case rel == ".git" && info.IsDir():
			return filepath.SkipDir
		case rel == ".git", info.IsDir():
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := os.Readlink(full)
			fmt.Fprintf(&b, "%q -> %q\n", rel, target)
		default:
			data, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%q %v %q\n", rel, info.Mode(), data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hollow reports whether there is no file in a folder, however deep.
func hollow(t testing.TB, dir string) bool {
	t.Helper()
	none := true
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			none, err = false, filepath.SkipAll
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return none
}
