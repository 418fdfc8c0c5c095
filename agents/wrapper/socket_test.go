package wrapper

import (
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A connection that comes in while the server closes does not hold it open:
// the runner dials as soon as an attempt began, which a short one may not see.
func TestCloseDuringDial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for range 300 {
		s, err := listen(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		var dialed sync.WaitGroup
		conns := make(chan net.Conn, 4)
		for range 4 {
			dialed.Go(func() {
				if c, err := net.Dial("unix", path); err == nil {
					conns <- c
				}
			})
		}
		closed := make(chan error, 1)
		go func() { closed <- s.close() }()
		select {
		case err := <-closed:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("close waits for a connection that nobody ends")
		}
		dialed.Wait()
		close(conns)
		for c := range conns {
			c.Close()
		}
	}
}
