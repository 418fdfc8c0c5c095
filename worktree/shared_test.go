package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was put back is what was there, and putting back can be taken back.
func TestRestoreShared(t *testing.T) {
	r := newRepo(t)
	sh(t, r.Root, "config", "remote.origin.url", "https://good/x")
	sh(t, r.Root, "config", "--add", "remote.origin.fetch", "one")
	sh(t, r.Root, "config", "--add", "remote.origin.fetch", "two")
	write(t, r.GitDir, "hooks/pre-push", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(r.GitDir, "hooks/pre-push"), 0o755); err != nil {
		t.Fatal(err)
	}
	first := head(t, r)
	before := must[*Shared](t)(r.Shared(t.Context(), r.Root, false))
	if c := before.Compare(must[*Shared](t)(r.Shared(t.Context(), r.Root, false))); len(c) > 0 {
		t.Fatalf("nothing was changed: %v", c)
	}

	second := commit(t, r.Root, "second")
	sh(t, r.Root, "config", "remote.origin.url", "https://evil/x")
	sh(t, r.Root, "config", "--unset-all", "remote.origin.fetch")
	sh(t, r.Root, "config", "core.sshCommand", "a=b 'c' \"d\"")
	sh(t, r.Root, "replace", second, first)
	os.Remove(filepath.Join(r.GitDir, "hooks/pre-push"))
	os.Symlink("/bin/true", filepath.Join(r.GitDir, "hooks/post-merge"))
	write(t, r.GitDir, "info/attributes", "* -diff\n")
	after := must[*Shared](t)(r.Shared(t.Context(), r.Root, false))
	changes := before.Compare(after)
	var said []string
	for _, c := range changes {
		said = append(said, c.String())
	}
	want := []string{
		"setting core.sshcommand: none -> a=b 'c' \"d\"",
		"setting remote.origin.fetch: one, two -> none",
		"setting remote.origin.url: https://good/x -> https://evil/x",
		".git/hooks/post-merge: none -> link to /bin/true",
		`.git/hooks/pre-push: "#!/bin/sh", executable -> none`,
		`.git/info/attributes: none -> "* -diff"`,
		"refs/replace/" + second + ": none -> " + first,
	}
	if strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("changes\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range changes {
		if !c.Sensitive() || c.Ordinary() {
			t.Errorf("%s passes for harmless", c)
		}
	}
	if left := must[[]Change](t)(r.RestoreShared(t.Context(), before, changes)); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	now := must[*Shared](t)(r.Shared(t.Context(), r.Root, false))
	if c := before.Compare(now); len(c) > 0 {
		t.Errorf("put back, and still %v", c)
	}
	must[[]Change](t)(r.RestoreShared(t.Context(), after, after.Compare(now)))
	if c := after.Compare(must[*Shared](t)(r.Shared(t.Context(), r.Root, false))); len(c) > 0 {
		t.Errorf("taken back, and still %v", c)
	}
}

// The commands that a message names to undo a change do so.
func TestUndo(t *testing.T) {
	r := newRepo(t)
	sh(t, r.Root, "config", "user.name", "An n'a")
	sh(t, r.Root, "tag", "v0")
	sh(t, r.Root, "branch", "b")
	first := head(t, r)
	before := must[*Shared](t)(r.Shared(t.Context(), r.Root, true))
	second := commit(t, r.Root, "second")
	sh(t, r.Root, "reset", "-q", "--hard", first)
	sh(t, r.Root, "config", "user.name", "Mallory")
	sh(t, r.Root, "config", "alias.x", "!evil")
	sh(t, r.Root, "tag", "-d", "v0")
	sh(t, r.Root, "tag", "v1")
	sh(t, r.Root, "branch", "-f", "b", second)
	changes := before.Compare(must[*Shared](t)(r.Shared(t.Context(), r.Root, true)))
	if len(changes) != 5 {
		t.Fatalf("%v", changes)
	}
	for _, c := range changes {
		if _, err := (command{dir: r.Root, args: []string{"-c", "alias.undo=!" + c.Undo, "undo"}}).run(t.Context()); err != nil {
			t.Errorf("%s: %v", c.Undo, err)
		}
	}
	if c := before.Compare(must[*Shared](t)(r.Shared(t.Context(), r.Root, true))); len(c) > 0 {
		t.Errorf("undone, and still %v", c)
	}
}

func BenchmarkShared(b *testing.B) {
	for _, refs := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("refs=%d", refs), func(b *testing.B) {
			r := newRepo(b)
			id := head(b, r)
			var in strings.Builder
			for i := range refs {
				fmt.Fprintf(&in, "create refs/tags/t%d %s\n", i, id)
			}
			if _, err := (command{dir: r.Root, args: []string{"update-ref", "--stdin"}, stdin: []byte(in.String())}).run(b.Context()); err != nil {
				b.Fatal(err)
			}
			sh(b, r.Root, "pack-refs", "--all")
			before, err := r.Shared(b.Context(), r.Root, true)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				now, err := r.Shared(b.Context(), r.Root, true)
				if err != nil || len(before.Compare(now)) > 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

// A push is held up by what decides about it, and by nothing else that a person
// does meanwhile.
func TestPushes(t *testing.T) {
	none := &Shared{Files: map[string]SharedFile{}}
	full := &Shared{Files: map[string]SharedFile{"hooks/commit-msg": {}}, Config: []Setting{{"local", "remote.origin.url", "x"}, {"global", "core.hookspath", "hooks"}}}
	setting := func(key string) Change { return Change{Kind: ChangedSetting, Scope: "local", Name: key, New: "x"} }
	file := func(name string) Change { return Change{Kind: ChangedFile, Name: name, New: "x"} }
	for _, c := range []struct {
		c          Change
		none, full bool
	}{
		{setting("remote.up.url"), true, false}, {setting("remote.origin.pushurl"), true, true}, {setting("remote.pushdefault"), true, true},
		{setting("url.x.insteadof"), true, true}, {setting("core.sshcommand"), true, true}, {setting("include.path"), true, true},
		{setting("core.hookspath"), false, false}, {setting("core.editor"), false, false}, {setting("alias.st"), false, false},
		{setting("filter.lfs.clean"), false, false}, {setting("credential.helper"), true, true},
		{file("hooks/pre-commit"), false, false}, {file("hooks/pre-push"), false, true}, {file("info/exclude"), false, false},
		{file("info/attributes"), false, false}, {file("config"), true, true}, {file("objects/info/alternates"), true, true},
	} {
		if a, b := none.Pushes(c.c), full.Pushes(c.c); a != c.none || b != c.full {
			t.Errorf("%s: %v and %v", c.c, a, b)
		}
	}
	for want, s := range map[string]*Shared{os.DevNull: none, "hooks": full, "/g/hooks": {Files: map[string]SharedFile{"hooks/x": {}}}} {
		if got := s.HooksPath("/g"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
