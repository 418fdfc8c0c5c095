package wrapper

import (
	"io"
	"net"
	"path/filepath"
	"testing"
)

// A connection that comes in while the server closes is ended, and does not
// hold it open: the runner dials as soon as an attempt began, which a short one
// does not outlast.
func TestLateConnection(t *testing.T) {
	s, err := listen(t.Context(), filepath.Join(t.TempDir(), "s"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	if s.admit(ours) {
		t.Fatal("taken in after the close")
	}
	if _, err := theirs.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the other end reads %v, want EOF", err)
	}
	s.conns.Wait()
}
