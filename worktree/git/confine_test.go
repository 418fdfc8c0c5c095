package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/worktree/gitfile"
)

// What WithConfine is given is asked before every command of git's, whichever way it
// starts, and a command that it refuses does not start.
func TestWithConfine(t *testing.T) {
	refused := errors.New("refused")
	asked := 0
	ctx := WithConfine(t.Context(), func(*exec.Cmd, []string) error { asked++; return refused })
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, c := range []Command{{}, {Stdout: out}, {Stdout: new(writer)}} {
		c.Dir, c.Args = t.TempDir(), []string{"version"}
		before := asked
		if _, err := c.Run(ctx); !errors.Is(err, refused) || asked != before+1 {
			t.Errorf("%v, asked %d times", err, asked-before)
		}
	}
	ctx = WithConfine(t.Context(), func(*exec.Cmd, []string) error { return nil })
	if said, err := Run(ctx, t.TempDir(), "version"); err != nil || said == "" {
		t.Errorf("%q, %v", said, err)
	}
}

// What looks at files stays restricted when nothing else is any more, however often that is
// said: it goes into nested repositories.
func TestLooking(t *testing.T) {
	dir := t.TempDir()
	asked := 0
	ctx := WithConfine(t.Context(), func(*exec.Cmd, []string) error { asked++; return nil })
	ctx = Looking(Looking(ctx))
	for _, run := range [][]string{{"init", "-q"}, {"--no-optional-locks", "status"}, {"diff", "--quiet"}, {"diff-files"}, {"log", "--max-count=0", "--all"}} {
		before := asked
		if _, err := Run(ctx, dir, run...); err != nil {
			t.Fatal(err)
		}
		if got, want := asked > before, looks(append([]string{"git"}, run...)); got != want || want == (run[0] == "init" || run[0] == "log") {
			t.Errorf("%q: restricted: %v", run, got)
		}
	}
}

// Where an agent lives, what looks at files is restricted, though git reads no settings of
// the agent's in the worktree itself.
func TestLookingAtRest(t *testing.T) {
	dir := t.TempDir()
	if _, err := Run(t.Context(), dir, "init", "-q"); err != nil {
		t.Fatal(err)
	}
	asked := 0
	ctx := WithForeign(WithTree(t.Context(), dir, filepath.Join(dir, ".git")), func(*exec.Cmd, []string) error { asked++; return nil })
	for _, run := range []string{"status", "version"} {
		if _, err := Run(ctx, dir, run); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("restricted: %d of a git status and another", asked)
	}
}

// Where a program may put links, git follows none, unless something else restricts it.
func TestPlainAtRest(t *testing.T) {
	dir := t.TempDir()
	private := filepath.Join(dir, ".git")
	if _, err := Run(t.Context(), dir, "init", "-q"); err != nil {
		t.Fatal(err)
	}
	asked := ""
	ctx := WithPlain(t.Context(), func(_ *exec.Cmd, tree, private string) error { asked += tree + " " + private + "\n"; return nil })
	ctx = WithForeign(ctx, func(*exec.Cmd, []string) error { return nil })
	for _, ctx := range []context.Context{ctx, WithTree(WithConfine(ctx, func(*exec.Cmd, []string) error { return nil }), dir, private), WithTree(ctx, dir, private)} {
		for _, run := range [][]string{{"status"}, {"read-tree", "--empty"}} {
			if _, err := Run(ctx, dir, run...); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Where none lives, it is asked when git writes files.
	if want := dir + " \n" + dir + " " + private + "\n"; asked != want {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// git does not run with an agent's settings, in a worktree with a git directory of its own,
// without being restricted.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tree/sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for to, foreign := range map[string]bool{"/repo/.git/worktrees/x": false, "/repo/.git/worktrees/x/" + gitfile.Separate: true} {
		if err := os.WriteFile(filepath.Join(dir, "tree/.git"), []byte("gitdir: "+to+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{dir, filepath.Join(dir, "tree"), filepath.Join(dir, "tree/sub")} {
			want := foreign && in != dir
			if _, err := Run(t.Context(), in, "version"); (err != nil) != want {
				t.Errorf("%s in %s: %v", to, in, err)
			}
			asked := false
			ctx := WithForeign(t.Context(), func(*exec.Cmd, []string) error { asked = true; return nil })
			if _, err := Run(ctx, in, "version"); err != nil || asked != want {
				t.Errorf("%s in %s: asked %v, %v", to, in, asked, err)
			}
		}
	}
}

// Once an agent has worked in a worktree with a git directory of its own, git is restricted
// in the repositories inside, and where it goes into them; elsewhere it is not.
func TestNestedRepositories(t *testing.T) {
	dir := t.TempDir()
	tree, private, other := filepath.Join(dir, "tree"), filepath.Join(dir, "repo/.git/worktrees/x"), filepath.Join(dir, "repo/.git/worktrees/y")
	nested, forged := filepath.Join(tree, "sub"), filepath.Join(tree, "forged")
	for _, d := range []string{private, other, filepath.Join(nested, "in"), filepath.Join(forged, "in"), filepath.Join(tree, "plain")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{
		filepath.Join(tree, ".git"):            "gitdir: " + private + "\n",
		filepath.Join(private, "gitdir"):       filepath.Join(tree, ".git") + "\n",
		filepath.Join(private, gitfile.Fenced): "",
		filepath.Join(other, "gitdir"):         filepath.Join(dir, "theirs/.git") + "\n",
		filepath.Join(other, gitfile.Fenced):   "",
		filepath.Join(forged, ".git"):          "gitdir: " + other + "\n",
		filepath.Join(nested, ".git"):          "gitdir: " + filepath.Join(private, "modules/sub") + "\n",
		filepath.Join(forged, "in", ".git"):    "gitdir: /nowhere\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	own := []string{tree, filepath.Join(private, "modules")}
	for _, c := range []struct {
		in, run string
		asked   bool
		write   []string
	}{
		{dir, "version", false, nil},
		{tree, "version", false, nil},
		{tree, "status", true, nil},
		{filepath.Join(tree, "plain"), "status", true, nil},
		{nested, "version", true, own},
		{filepath.Join(nested, "in"), "status", true, own},
		{forged, "version", true, own},
		{filepath.Join(forged, "in"), "version", true, own},
	} {
		asked, write := false, []string(nil)
		ctx := WithForeign(t.Context(), func(_ *exec.Cmd, w []string) error { asked, write = true, w; return nil })
		_, _ = Run(ctx, c.in, c.run) // what git finds there does not matter
		if looks([]string{"git", c.run}) && len(write) > 0 {
			write = write[:len(write)-1] // see TestLFSCopies
		}
		if asked != c.asked || !slices.Equal(write, c.write) {
			t.Errorf("git %s in %s: asked %v, may write %q", c.run, c.in, asked, write)
		}
	}
	if _, err := Run(t.Context(), nested, "version"); err == nil || !strings.Contains(err.Error(), "does not run there") {
		t.Errorf("unrestricted in a repository inside: %v", err)
	}
	if err := os.Remove(filepath.Join(private, gitfile.Fenced)); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), nested, "version"); err != nil {
		t.Errorf("where no agent was: %v", err)
	}
}

type writer struct{}

func (*writer) Write(b []byte) (int, error) { return len(b), nil }

// A restricted command that compares files gets a folder for what Git LFS copies meanwhile,
// which is gone afterwards. A command that changes something gets none.
func TestLFSCopies(t *testing.T) {
	dir, given := t.TempDir(), []string(nil)
	ctx := WithConfine(t.Context(), func(_ *exec.Cmd, write []string) error { given = write; return nil })
	for _, args := range [][]string{{"init", "-q"}, {"commit", "--allow-empty", "-qm", "x"}} {
		if _, err := (Command{Dir: dir, Args: args, Config: []string{"user.name=a", "user.email=a@b"}}).Run(ctx); err != nil || len(given) > 0 {
			t.Errorf("%q: %v, may also write %q", args, err, given)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte("a filter=e\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"add", "-A"},
		{"config", "filter.e.clean", `touch "$(git config lfs.storage)/made" && echo storage: "$(git config lfs.storage)" >&2`},
	} {
		if _, err := Run(t.Context(), dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	said := ""
	if _, err := (Command{Dir: dir, Args: []string{"status"}, Stdout: &out, Warned: &said}).Run(ctx); err != nil || len(given) != 1 {
		t.Fatalf("%v, may also write %q", err, given)
	}
	if !strings.Contains(said, "storage: "+given[0]) || There(given[0]) {
		t.Errorf("%s is there: %v; the filter said %q", given[0], There(given[0]), said)
	}
}
