package worktree

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
			if filepath.Base(name) != "gitenv.go" && filepath.ToSlash(name) != "../agents/guard/machine.go" {
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
	all := must[[]Commit](t)(r.Commits(t.Context(), first, second))
	if len(all) != 1 || all[0].Subject != "second" {
		t.Errorf("commits %v, through a replace object or a graft", all)
	}
	if d := must[DiffStat](t)(r.DiffStat(t.Context(), first, second)); d.Files != 2 {
		t.Errorf("%+v, through a replace object", d)
	}
}
