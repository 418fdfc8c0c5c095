package worktree

import (
	"cmux/worktree/hint"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spoil makes the loose object of a revision one that a power cut left.
func spoil(t *testing.T, r *Repo, dir, rev string, content string) (id string) {
	t.Helper()
	id = sh(t, dir, "rev-parse", rev)
	object := filepath.Join(r.GitDir, "objects", id[:2], id[2:])
	if err := os.Chmod(object, 0o666); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(object)
	if err == nil {
		err = os.WriteFile(object, append(b[:min(len(b), len(content))], content[min(len(b), len(content)):]...)[:len(content)], 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// An object that is broken is written again from the worktree's file before that
// goes, be the tree clean or not.
func TestRemoveMendsABrokenObject(t *testing.T) {
	for _, dirty := range []bool{false, true} {
		for _, content := range []string{"", strings.Repeat("x", 30)} {
			r := newRepo(t)
			tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
			commit(t, tree.Path, "work", "dir/b.txt", "some work that is long enough to be cut off\n", "crlf.txt", "line\n", ".gitattributes", "crlf.txt text eol=crlf\n")
			sh(t, tree.Path, "checkout", "-q", "-f", "HEAD")
			if dirty {
				write(t, tree.Path, "new", "new")
			}
			spoil(t, r, tree.Path, "HEAD:dir/b.txt", content)
			spoil(t, r, tree.Path, "HEAD:crlf.txt", "")
			if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); err != nil {
				t.Fatal(err)
			}
			if got := sh(t, r.Root, "show", "w:dir/b.txt"); !strings.HasPrefix(got, "some work") {
				t.Error(got)
			}
			sh(t, r.Root, "fsck")
		}
	}
}

// What cannot be mended is refused and named, and the files can be kept.
func TestRemoveRefusesWhatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		spoil string
		work  func(t *testing.T, dir string)
	}{
		"a file of the start":           {"HEAD:.gitignore", func(t *testing.T, dir string) { write(t, dir, ".gitignore", "other") }},
		"a file that has changed since": {"HEAD:a.txt", func(t *testing.T, dir string) { write(t, dir, "a.txt", "other") }},
		"an older version":              {"HEAD~1:a.txt", func(*testing.T, string) {}},
		"a folder of an older version":  {"HEAD~1:dir", func(*testing.T, string) {}},
		"a folder":                      {"HEAD:dir", func(*testing.T, string) {}},
		"an older commit":               {"HEAD~1", func(*testing.T, string) {}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Owner: "o"})
			commit(t, tree.Path, "one", "a.txt", "1\n", "dir/b.txt", "one\n")
			commit(t, tree.Path, "two", "a.txt", "2\n", "dir/b.txt", "two\n")
			c.work(t, tree.Path)
			id := spoil(t, r, tree.Path, c.spoil, "")
			_, err := r.Remove(t.Context(), tree.Path, RemoveSpec{})
			var h *hint.Error
			if !errors.Is(err, ErrUnsavable) || !errors.As(err, &h) || !strings.Contains(err.Error(), id[2:]) && !strings.Contains(err.Error(), id[:12]) {
				t.Fatalf("want a refusal that names %s: %v", id, err)
			}
			if all := must[[]Snapshot](t)(r.Snapshots(t.Context())); len(all) > 0 {
				t.Errorf("a snapshot that cannot be read is left: %+v", all)
			}
			literally(t, r, h.Try)
			if read(t, tree.Path+".found", "dir/b.txt") != "two\n" {
				t.Error("not kept")
			}
			if _, err := r.Remove(t.Context(), tree.Path, RemoveSpec{}); err != nil {
				t.Error(err)
			}
		})
	}
}
