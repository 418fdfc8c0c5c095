package signals

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestLockExcludesAndNamesItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.lock")
	if _, held, err := ReadHolder(path); held || err != nil {
		t.Fatalf("missing file: held %v, %v", held, err)
	}
	l, err := TryLock(path)
	must(t, err)
	_, err = TryLock(path)
	var h *HeldError
	if !errors.As(err, &h) {
		t.Fatalf("second TryLock: %v, want HeldError", err)
	}
	if h.Holder.PID != os.Getpid() || h.Holder.Since.IsZero() || h.Holder.Host == "" || h.Holder.What == "" {
		t.Errorf("holder %+v", h.Holder)
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("held by pid %d", os.Getpid())) {
		t.Errorf("message %q", err)
	}
	if got, held, err := ReadHolder(path); !held || err != nil || got.PID != os.Getpid() {
		t.Errorf("ReadHolder: %v %v %v", got, held, err)
	}
	must(t, l.Unlock())
	if got, held, err := ReadHolder(path); held || err != nil || got.PID != os.Getpid() {
		t.Errorf("after Unlock: last holder %v, held %v, %v", got, held, err)
	}
	l, err = TryLock(path)
	must(t, err)
	must(t, l.Unlock())
}

func TestHolderInBrief(t *testing.T) {
	here, err := os.Hostname()
	must(t, err)
	since := time.Date(2026, 11, 22, 14, 5, 0, 0, time.Local)
	for want, c := range map[string]struct {
		h   Holder
		now time.Time
	}{
		"pid 7, since 14:05":             {Holder{PID: 7, Host: here, Since: since}, since.Add(time.Hour)},
		"pid 7, since 2026-11-22 14:05":  {Holder{PID: 7, Host: here, Since: since}, since.AddDate(0, 0, 1)},
		"pid 7 on far away, since 14:05": {Holder{PID: 7, Host: "far away", Since: since}, since},
		"an unknown process":             {Holder{}, since},
	} {
		if got := c.h.Brief(c.now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLockDiesWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd, out := process(t, "hold", path)
	if got := said(t, out); got != "held" {
		t.Fatal(got)
	}
	_, err := TryLock(path)
	var h *HeldError
	if !errors.As(err, &h) || h.Holder.PID != cmd.Process.Pid {
		t.Fatalf("TryLock: %v, want held by %d", err, cmd.Process.Pid)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	if _, held, err := ReadHolder(path); held || err != nil {
		t.Errorf("after kill -9: held %v, %v", held, err)
	}
	l, err := TryLock(path)
	must(t, err)
	must(t, l.Unlock())
}

func TestLockDiesThoughAChildLives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd, out := process(t, "hold-and-fork", path)
	var child int
	if _, err := fmt.Sscanf(said(t, out), "held %d", &child); err != nil {
		t.Fatal(err)
	}
	// The child ends by itself when process closes the pipe it reads.
	must(t, cmd.Process.Kill())
	cmd.Process.Wait()
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("the child should be alive: %v", err)
	}
	l, err := TryLock(path)
	must(t, err)
	must(t, l.Unlock())
}

// A process that is forked while locks are taken and released must not keep one of them.
func TestLockAndForksAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	var forks sync.WaitGroup
	forks.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := exec.Command("true").Run(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	path := filepath.Join(dir, "lock")
	for range 300 {
		l, err := TryLock(path)
		if err != nil {
			t.Fatal(err)
		}
		must(t, l.Unlock())
	}
	close(stop)
	forks.Wait()
}

// ReadHolder must not make a TryLock fail.
func TestProbingDisturbsNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	stop := make(chan struct{})
	var probes sync.WaitGroup
	for range 4 {
		probes.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				h, held, err := ReadHolder(path)
				if err != nil || held && h.PID != os.Getpid() {
					t.Errorf("probe: %v %v %v", h, held, err)
					return
				}
			}
		})
	}
	for range 500 {
		l, err := TryLock(path)
		if err != nil {
			t.Error(err)
			break
		}
		must(t, l.Unlock())
	}
	close(stop)
	probes.Wait()
}

func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var inside, total int
	for range 8 {
		wg.Go(func() {
			for range 50 {
				l, err := TryLock(path)
				var h *HeldError
				if errors.As(err, &h) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				inside++
				total++
				if inside != 1 {
					t.Errorf("%d holders", inside)
				}
				mu.Unlock()
				mu.Lock()
				inside--
				mu.Unlock()
				must(t, l.Unlock())
			}
		})
	}
	wg.Wait()
	if total == 0 {
		t.Error("nobody ever got the lock")
	}
}

func TestLockGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := TryLock(path)
	must(t, err)
	must(t, l.Check())
	must(t, os.Remove(path))
	if err := l.Check(); !errors.Is(err, ErrLockGone) {
		t.Errorf("removed: %v", err)
	}
	other, err := TryLock(path) // a new file, so a new lock
	must(t, err)
	if err := l.Check(); !errors.Is(err, ErrLockGone) {
		t.Errorf("replaced: %v", err)
	}
	must(t, other.Unlock())
	must(t, l.Unlock())
}

func TestLockHeldByAScript(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("no flock(1)")
	}
	path := filepath.Join(t.TempDir(), "lock")
	l, err := TryLock(path)
	must(t, err)
	if err := exec.Command("flock", "-n", path, "true").Run(); err == nil {
		t.Error("flock(1) got a lock that is held")
	}
	must(t, l.Unlock())
	cmd := exec.Command("flock", path, "cat")
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	eventually(t, "flock(1) holds the lock", func() bool {
		l, err := TryLock(path)
		if err == nil {
			l.Unlock()
		}
		var h *HeldError
		return errors.As(err, &h)
	})
	in.Close()
	cmd.Wait()
}

func TestHolderString(t *testing.T) {
	h := Holder{PID: 7, Host: "box", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local), What: "cmux agents start"}
	if got, want := h.String(), "pid 7 on box since 2026-01-02 03:04:05 (cmux agents start)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
