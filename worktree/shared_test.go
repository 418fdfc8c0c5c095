package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/worktree/common"
	"cmux/worktree/git"
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
	before := must[*common.State](t)(r.Shared.Read(t.Context(), r.Root, false))
	if c := before.Compare(must[*common.State](t)(r.Shared.Read(t.Context(), r.Root, false))); len(c) > 0 {
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
	after := must[*common.State](t)(r.Shared.Read(t.Context(), r.Root, false))
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
	if left := must[[]common.Change](t)(r.Shared.Restore(t.Context(), before, changes)); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	now := must[*common.State](t)(r.Shared.Read(t.Context(), r.Root, false))
	if c := before.Compare(now); len(c) > 0 {
		t.Errorf("put back, and still %v", c)
	}
	must[[]common.Change](t)(r.Shared.Restore(t.Context(), after, after.Compare(now)))
	if c := after.Compare(must[*common.State](t)(r.Shared.Read(t.Context(), r.Root, false))); len(c) > 0 {
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
	before := must[*common.State](t)(r.Shared.Read(t.Context(), r.Root, true))
	second := commit(t, r.Root, "second")
	sh(t, r.Root, "reset", "-q", "--hard", first)
	sh(t, r.Root, "config", "user.name", "Mallory")
	sh(t, r.Root, "config", "alias.x", "!evil")
	sh(t, r.Root, "tag", "-d", "v0")
	sh(t, r.Root, "tag", "v1")
	sh(t, r.Root, "branch", "-f", "b", second)
	changes := before.Compare(must[*common.State](t)(r.Shared.Read(t.Context(), r.Root, true)))
	if len(changes) != 5 {
		t.Fatalf("%v", changes)
	}
	for _, c := range changes {
		if _, err := (git.Command{Dir: r.Root, Args: []string{"-c", "alias.undo=!" + c.Undo, "undo"}}).Run(t.Context()); err != nil {
			t.Errorf("%s: %v", c.Undo, err)
		}
	}
	if c := before.Compare(must[*common.State](t)(r.Shared.Read(t.Context(), r.Root, true))); len(c) > 0 {
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
			if _, err := (git.Command{Dir: r.Root, Args: []string{"update-ref", "--stdin"}, Stdin: []byte(in.String())}).Run(b.Context()); err != nil {
				b.Fatal(err)
			}
			sh(b, r.Root, "pack-refs", "--all")
			before, err := r.Shared.Read(b.Context(), r.Root, true)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				now, err := r.Shared.Read(b.Context(), r.Root, true)
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
	none := &common.State{Files: map[string]common.SharedFile{}}
	full := &common.State{Files: map[string]common.SharedFile{"hooks/commit-msg": {}}, Config: []common.Setting{{Scope: "local", Key: "remote.origin.url", Value: "x"}, {Scope: "global", Key: "core.hookspath", Value: "hooks"}}}
	setting := func(key string) common.Change {
		return common.Change{Kind: common.ChangedSetting, Scope: "local", Name: key, New: "x"}
	}
	file := func(name string) common.Change { return common.Change{Kind: common.ChangedFile, Name: name, New: "x"} }
	for _, c := range []struct {
		c          common.Change
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
	for want, s := range map[string]*common.State{os.DevNull: none, "hooks": full, "/g/hooks": {Files: map[string]common.SharedFile{"hooks/x": {}}}} {
		if got := s.HooksPath("/g"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What tools set in every clone passes, and nothing that merely looks like it.
func TestHabits(t *testing.T) {
	for _, c := range []struct {
		scope, key, old, new string
		habit                bool
	}{
		{"local", "filter.lfs.clean", "", "git-lfs clean -- %f", true},
		{"local", "filter.lfs.smudge", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f", true},
		{"local", "filter.lfs.process", "", "git-lfs filter-process", true},
		{"local", "filter.lfs.required", "", "true", true},
		{"local", "filter.lfs.clean", "", "git-lfs clean -- %f; evil", false},
		{"local", "filter.lfs.clean", "mine", "git-lfs clean -- %f", false},
		{"local", "filter.lfs.clean", "git-lfs clean -- %f", "", false},
		{"local", "filter.evil.clean", "", "git-lfs clean -- %f", false},
		{"global", "filter.lfs.clean", "", "git-lfs clean -- %f", false},
		{"local", "lfs.repositoryformatversion", "", "0", true},
		{"local", "lfs.url", "", "https://evil", false},
		{"local", "lfs.customtransfer.x.path", "", "evil", false},
		{"local", "blame.ignorerevsfile", "", ".git-blame-ignore-revs", true},
		{"local", "blame.ignorerevsfile", "", "/etc/passwd", false},
		{"local", "diff.lockb.binary", "", "true", true},
		{"local", "diff.lockb.textconv", "", "cat", false},
		{"local", "diff.lockb.command", "", "evil", false},
		{"local", "diff.external", "", "evil", false},
		{"local", "extensions.worktreeconfig", "", "true", true},
		{"local", "extensions.worktreeconfig", "true", "", false},
		{"local", "extensions.partialclone", "", "origin", false},
		{"worktree", "core.sparsecheckout", "", "true", true},
		{"local", "core.sparsecheckout", "", "true", false},
		{"worktree", "core.hookspath", "", "/tmp/evil", false},
		{"local", "alias.st", "", "status", false},
	} {
		change := common.Change{Kind: common.ChangedSetting, Scope: c.scope, Name: c.key, Old: c.old, New: c.new}
		if got := change.Habit(); got != c.habit || got && (change.Sensitive() || change.Runs() || !change.Ordinary()) {
			t.Errorf("%s (%s): habit %v, sensitive %v, runs %v, ordinary %v", change, c.scope, got, change.Sensitive(), change.Runs(), change.Ordinary())
		}
	}
}

// A sparse checkout of the main worktree holds up nothing. Anything else in the
// same file does.
func TestSparseMainWorktree(t *testing.T) {
	r := newRepo(t)
	write(t, r.Root, "sub/f", "x")
	commit(t, r.Root, "files")
	linked := filepath.Join(t.TempDir(), "linked")
	sh(t, r.Root, "worktree", "add", "-q", linked)
	look := func(dir string) *common.State { return must[*common.State](t)(r.Shared.Read(t.Context(), dir, true)) }
	before := map[string]*common.State{r.Root: look(r.Root), linked: look(linked)}
	step := func(harm bool, args ...string) {
		t.Helper()
		sh(t, r.Root, args...)
		for dir, was := range before {
			changes, found := was.Compare(look(dir)), false
			for _, c := range changes {
				found = found || c.Sensitive() || c.Runs() || !c.Ordinary()
			}
			if found != harm || len(changes) == 0 {
				t.Errorf("%v in %s: %v", args, dir, changes)
			}
		}
	}
	step(false, "sparse-checkout", "init", "--cone")
	step(false, "sparse-checkout", "set", "sub")
	step(false, "sparse-checkout", "disable")
	step(true, "config", "--worktree", "core.hooksPath", "/tmp/evil")
	step(true, "config", "--worktree", "core.sparseCheckout", "true")
	step(false, "config", "--worktree", "--unset", "core.hooksPath")
}
