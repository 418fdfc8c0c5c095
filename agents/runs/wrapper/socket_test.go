package wrapper

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/runs/attempt"
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

// A request is read no further than its bound, each on its own: whoever reaches
// the socket cannot fill the wrapper's memory.
func TestRequestIsBounded(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	requests, left, over := make(chan request), make(chan struct{}), make(chan error, 1)
	go func() { over <- readAhead(ours, requests, left); ours.Close() }()
	small := []byte(`{"op":"hook","payload":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range maxRequest/len(small) + 2 { // together more than one may have
		go theirs.Write(small)
		if q := <-requests; q.Op != attempt.OpHook {
			t.Fatalf("%+v", q.Op)
		}
	}
	chunk, sent := make([]byte, 1<<20), 0
	for i := range chunk {
		chunk[i] = ' '
	}
	theirs.SetWriteDeadline(time.Now().Add(time.Minute))
	for sent <= 2*maxRequest {
		n, err := theirs.Write(chunk)
		if sent += n; err != nil {
			break
		}
	}
	if sent > maxRequest {
		t.Errorf("it took %d bytes, the bound is %d", sent, maxRequest)
	}
	if err := <-over; err != errTooLong {
		t.Error(err)
	}
}
