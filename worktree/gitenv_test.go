package worktree

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/worktree/git"
	"cmux/worktree/merge"
)

// Every git of cmux's own is made by Git; the tools of benchmarks and tests aside.
func TestOneConstructor(t *testing.T) {
	found := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "benchruns" || d.Name() == "agenttest") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(name)
		for l := range strings.Lines(string(b)) {
			if !strings.Contains(l, "exec.Command") || !strings.Contains(l, `"git"`) {
				continue
			}
			found++
			// The guard asks what an agent's own git would do, in its environment.
			if filepath.Base(name) != "gitenv.go" && filepath.ToSlash(name) != "../agents/kinds/guard/places/machine.go" {
				t.Errorf("%s makes a git of its own: %s", name, strings.TrimSpace(l))
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d files looked at, %v", found, err)
	}
}

// What the repository's configuration names is not run, and what replace
// objects, grafts and the variables of a hook show is not seen.
func TestGitRunsNothingOfTheRepository(t *testing.T) {
	r := newRepo(t)
	first := head(t, r)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	write(t, filepath.Dir(program), "program", "#!/bin/sh\necho \"$0 $*\" >> '"+ran+"'\ncat\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	second := commit(t, r.Root, "second", "a.txt", "two\n", ".gitattributes", "*.txt diff=evil\n")
	for key, value := range map[string]string{
		"core.fsmonitor": program, "core.pager": program, "core.editor": program, "core.askPass": program,
		"diff.external": program, "diff.evil.command": program, "diff.evil.textconv": program,
		"gpg.program": program, "commit.gpgSign": "true", "log.showSignature": "true", "alias.status": "!" + program,
		"core.hooksPath": filepath.Dir(program),
	} {
		sh(t, r.Root, "config", key, value)
	}
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit", "post-merge"} {
		if err := os.Link(program, filepath.Join(filepath.Dir(program), hook)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_EXTERNAL_DIFF", program)
	t.Setenv("GIT_PAGER", program)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
	t.Setenv("GIT_CONFIG_VALUE_0", program)

	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "b", Start: second})
	write(t, tree.Path, "a.txt", "three\n")
	if _, err := r.CommitAll(t.Context(), tree.Path, "third"); err != nil {
		t.Fatal(err)
	}
	write(t, tree.Path, "a.txt", "four\n")
	must[[]string](t)(r.ChangedFiles(t.Context(), tree.Path, first))
	must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{Force: true}))
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("programs of the repository ran:\n%s", b)
	}

	os.Unsetenv("GIT_CONFIG_COUNT")
	sh(t, r.Root, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "replace", second, first)
	write(t, r.GitDir, "info/grafts", second+"\n")
	all := must[[]git.Commit](t)(r.Commits(t.Context(), first, second))
	if len(all) != 1 || all[0].Subject != "second" {
		t.Errorf("commits %v, through a replace object or a graft", all)
	}
	if d := must[git.DiffStat](t)(r.DiffStat(t.Context(), first, second)); d.Files != 2 {
		t.Errorf("%+v, through a replace object", d)
	}
}

// Settings that git accepts neither fail cmux's own git nor change what it reads.
func TestSettingsOfAPerson(t *testing.T) {
	r := newRepo(t)
	start := head(t, r)
	gone := filepath.Join(t.TempDir(), "gone")
	config := filepath.Join(t.TempDir(), "config")
	for key, value := range map[string]string{
		"diff.orderFile": gone, "blame.ignoreRevsFile": gone, "core.attributesFile": gone, "core.excludesFile": gone, "commit.template": gone,
		"mailmap.file": gone, "core.hooksPath": gone, "gpg.program": gone, "diff.external": gone, "interactive.diffFilter": gone,
		"diff.noPrefix": "true", "diff.mnemonicPrefix": "true", "diff.relative": "true", "diff.submodule": "log", "diff.ignoreSubmodules": "all",
		"diff.autoRefreshIndex": "false", "diff.renames": "copies", "diff.suppressBlankEmpty": "true", "diff.colorMoved": "zebra",
		"status.showStash": "true", "status.branch": "true", "status.short": "true", "status.showUntrackedFiles": "no", "status.renames": "copies",
		"merge.ff": "false", "merge.verifySignatures": "true", "merge.autoStash": "true", "merge.conflictStyle": "diff3", "merge.log": "true",
		"branch.w.mergeOptions": "--squash --no-commit", "branch.main.mergeOptions": "--squash",
		"commit.gpgSign": "true", "tag.gpgSign": "true", "push.gpgSign": "true", "log.showSignature": "true", "log.follow": "true",
		"log.decorate": "full", "log.date": "relative", "format.pretty": "oneline", "i18n.logOutputEncoding": "UTF-16",
		"color.ui": "always", "color.diff": "always", "color.status": "always", "color.branch": "always", "column.ui": "always",
		"submodule.recurse": "true", "fetch.recurseSubmodules": "true", "fetch.prune": "true", "push.recurseSubmodules": "check",
		"checkout.defaultRemote": "nowhere", "clone.defaultRemoteName": "elsewhere", "worktree.guessRemote": "true", "worktree.useRelativePaths": "true",
		"core.quotePath": "true", "core.abbrev": "4", "core.untrackedCache": "true", "core.splitIndex": "true", "index.version": "4",
		"user.useConfigOnly": "true", "safe.bareRepository": "explicit", "protocol.version": "0", "advice.detachedHead": "true",
	} {
		sh(t, r.Root, "config", "--file", config, key, value)
	}
	other := branchWith(t, r, "other", start, "o.txt", "o\n")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	tree := lend(t, r, LendSpec{Path: beside(r, "w"), Branch: "w", Start: start, Owner: "o"})
	write(t, tree.Path, "é.txt", "new\n")
	write(t, tree.Path, "a.txt", "changed\n")
	if got := must[[]string](t)(r.ChangedFiles(t.Context(), tree.Path, start)); !slices.Equal(got, []string{"a.txt", "é.txt"}) {
		t.Errorf("changed %q", got)
	}
	id := must[string](t)(r.CommitAll(t.Context(), tree.Path, "é"))
	if all := must[[]git.Commit](t)(r.Commits(t.Context(), start, id)); len(all) != 1 || all[0].Subject != "é" {
		t.Errorf("%+v", all)
	}
	if got := must[[]git.FileStat](t)(r.FileStats(t.Context(), start, id)); len(got) != 2 || got[0].Added != 1 {
		t.Errorf("%+v", got)
	}
	tree = lend(t, r, LendSpec{Path: tree.Path, Branch: "w", Owner: "o", Contributions: []merge.Tip{other}})
	if n := sh(t, tree.Path, "diff-index", "HEAD"); n != "" || read(t, tree.Path, "o.txt") != "o\n" {
		t.Errorf("after a contribution: %q", n)
	}
	if _, err := r.MergeInto(t.Context(), MergeSpec{Path: beside(r, "m"), Target: "main", StateFile: filepath.Join(t.TempDir(), "s"), Branches: []merge.Tip{{Name: "w"}}}); err != nil {
		t.Error(err)
	}
	if n := sh(t, r.Root, "rev-list", "--count", "w..main"); n != "0" || read(t, r.Root, "o.txt") != "o\n" {
		t.Errorf("main has %s commits beside w's", n)
	}
	write(t, tree.Path, "left", "left\n")
	snap := must[*Snapshot](t)(r.Remove(t.Context(), tree.Path, RemoveSpec{}))
	must[*Tree](t)(r.Restore(t.Context(), snap, RestoreSpec{}))
}
