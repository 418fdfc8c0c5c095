package files

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"cmux/agents/platform/fence"
	"cmux/worktree/gitfile"
)

// What fails because a node ends meanwhile is asked again where its worktree leads then; what
// fails otherwise is not.
func TestNodeEndsMeanwhile(t *testing.T) {
	tree, private := t.TempDir(), t.TempDir()
	own := filepath.Join(private, gitfile.Separate)
	lead := func(to string) {
		if err := os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+to+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	head := filepath.Join(own, "HEAD")
	if err := errors.Join(os.Mkdir(own, 0o700), os.WriteFile(head, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	failed := errors.New("not a git repository")
	for name, c := range map[string]struct {
		ends  func() // during the first call
		calls int
	}{
		"another failure": {func() {}, 1},
		"it has ended":    {func() { lead(private) }, 2},
		"it is ending": {func() {
			if err := os.Remove(head); err != nil {
				t.Fatal(err)
			}
			ended.Go(func() { lead(private) })
		}, 2},
	} {
		lead(own)
		if err := os.WriteFile(head, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		calls := 0
		w := Span{Dir: tree, tree: true}
		err := w.unmoved(t.Context(), func() error {
			if calls++; calls == 1 {
				c.ends()
				return failed
			}
			return nil
		})
		ended.Wait()
		if calls != c.calls || (err != nil) != (calls == 1) {
			t.Errorf("%s: %d calls, %v", name, calls, err)
		}
	}
}

// Git that writes the files of a project follows no link that its supervisor has put there.
func TestPlainLedgers(t *testing.T) {
	if _, err := fence.Hides(); err != nil {
		t.Skip(err)
	}
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "memory/in"), 0o700), os.Mkdir(filepath.Join(root, "src"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"memory/in/to", "src/to"} {
		if err := os.Symlink(t.TempDir(), filepath.Join(root, d)); err != nil {
			t.Fatal(err)
		}
	}
	write := exec.Command("sh", "-c", "for f in memory/in/to/x memory/in/x src/to/x; do echo x > $f && echo wrote $f; done 2>/dev/null")
	write.Dir = root
	if err := plain()(write, root, ""); err != nil {
		t.Fatal(err)
	}
	out, err := write.Output()
	if want := "wrote memory/in/x\nwrote src/to/x\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}

	// Without such folders nothing changes.
	other := exec.Command("true")
	if err := plain()(other, t.TempDir(), ""); err != nil || other.Args[0] != "true" {
		t.Errorf("%v: %q", err, other.Args)
	}
}
