package serving

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/control/project"
	"cmux/agents/platform/endpoint"
	"cmux/agents/runs/run"
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
	p := &Serving{Project: &project.Project{Root: root}}
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

// A server that is frozen, as by SIGSTOP, takes connections and says nothing: its
// monitor ends it after three questions.
func TestFrozenServerIsEnded(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the system takes connections; nobody reads them
	if _, err := endpoint.MakeToken(root); err != nil {
		t.Fatal(err)
	}
	if err := endpoint.Write(root, endpoint.Place{Port: l.Addr().(*net.TCPAddr).Port, PID: os.Getpid(), StartedAt: time.Now(), Instance: "i"}); err != nil {
		t.Fatal(err)
	}
	k := &serverKeeper{run: &run.Run{Plan: run.Plan{Root: root}}, log: log.New(io.Discard), every: 10 * time.Millisecond, patience: 50 * time.Millisecond}
	if why := k.watch(t.Context(), make(chan error, 1)); why != "it did not answer 3 times in a row, and was ended" {
		t.Errorf("%q", why)
	}
	ended := make(chan error, 1)
	ended <- nil
	if why := k.watch(t.Context(), ended); why != "" || len(ended) != 1 {
		t.Errorf("%q", why)
	}
}
