package recovery

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cmux/agents/records/incident"
)

// On a disk that is full when the snapshot is taken nothing is checked out and
// nothing is lost; with space again, the recovery is carried out.
func TestDiskFullAtSnapshot(t *testing.T) {
	w := newWorld(t, true)
	full := filepath.Join(t.TempDir(), "full")
	must(t, os.Mkdir(full, 0o755))
	if err := unix.Mount("cmux-test", full, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(full, unix.MNT_DETACH)) })
	// The objects of the repository stand there, and nothing else.
	objects := filepath.Join(w.Root, ".git", "objects")
	must(t, os.CopyFS(filepath.Join(full, "objects"), os.DirFS(objects)))
	must(t, os.RemoveAll(objects))
	must(t, os.Symlink(filepath.Join(full, "objects"), objects))
	w.step()
	good := w.commit("ok")
	w.steps(1)
	broken := w.commit("broken")
	w.steps(1)
	junk := make([]byte, 1<<20)
	rand.Read(junk)
	must(t, os.WriteFile(filepath.Join(w.Tree, "junk"), junk, 0o644))
	w.state.Left = append(w.state.Left, "junk") // as if the check had made it
	w.steps(2)
	ballast, err := os.Create(filepath.Join(full, "ballast"))
	must(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	must(t, ballast.Close())
	w.settle()
	if r := w.state.Run; r.End != Failed || !strings.Contains(strings.ToLower(r.Detail), "space") {
		t.Errorf("%+v", r)
	}
	if got := w.git(w.Tree, "rev-parse", "HEAD"); got != broken {
		t.Errorf("%s is checked out", got)
	}
	if b, err := os.ReadFile(filepath.Join(w.Tree, "junk")); err != nil || string(b) != string(junk) {
		t.Errorf("the file is gone: %v", err)
	}
	if i := w.incident(); i.State != incident.Open || i.Advice == nil {
		t.Errorf("%+v", i)
	}
	must(t, os.Remove(ballast.Name()))
	must(t, w.Order(t.Context(), w.state))
	if r := w.state.Run; r.End != RolledBack || r.Best != good {
		t.Errorf("%+v", r)
	}
	all, err := w.Repo.Snapshots(t.Context())
	must(t, err)
	if len(all) == 0 || all[len(all)-1].Reason != w.state.Run.reason() {
		t.Errorf("%+v", all)
	}
}
