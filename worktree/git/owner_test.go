package git

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A record that is a named pipe is torn; nobody waits for it.
func TestOwnerIsAPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, OwnerFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if rec, err := ReadOwner(dir); err != nil || rec != (OwnerRecord{}) {
		t.Errorf("got %+v, %v", rec, err)
	}
	if !Torn(dir) {
		t.Error("it is not torn")
	}
}
