package control

import (
	"os"
	"testing"
	"time"

	"cmux/agents/endpoint"
	"cmux/signals"
)

// A server that was killed notes no end: the next one is not up while what is
// written is of the earlier.
func TestServerThatStartsIsNotUp(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	lock, err := signals.TryLock(endpoint.LockPath(root))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	p := &Project{Root: root}
	for _, c := range []struct {
		pid int
		up  bool
	}{{os.Getpid() + 1, false}, {os.Getpid(), true}} {
		if err := endpoint.Write(root, endpoint.Place{Port: 8420, PID: c.pid, StartedAt: time.Now(), Instance: "i"}); err != nil {
			t.Fatal(err)
		}
		s := p.Server()
		if s.Up != c.up || (s.URL != "") != c.up || (s.Why == "it is starting") == c.up {
			t.Errorf("the lock's holder is another: %v: %+v", !c.up, s)
		}
	}
}
