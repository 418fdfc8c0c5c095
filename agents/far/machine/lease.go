package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cmux/agents/far"
	"cmux/agents/platform/proc"
	"cmux/signals"
)

// awake tells heartbeats that were sent before the machine was suspended from others: how
// long ago they were sent, only a clock that counts the suspension knows.
type awake struct {
	mu  sync.Mutex
	off time.Duration // of the two clocks
	at  time.Time     // by Go's clock: the end of the last suspension
}

// jump is how far the clocks may drift apart without a suspension.
const jump = time.Second

// began is the Go time of which the other clock is measured.
type epoch struct{ mono, boot time.Time }

func newEpoch() epoch { return epoch{time.Now(), now()} }

// sent converts a moment of Go's clock. It fails if the machine was suspended since.
func (a *awake) sent(e epoch, t time.Time) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	mono, boot := time.Now(), now()
	if off := boot.Sub(e.boot) - mono.Sub(e.mono); off > a.off+jump {
		a.off, a.at = off, mono
	}
	if t.Before(a.at) {
		return time.Time{}, false
	}
	return boot.Add(-mono.Sub(t)), true
}

// kept is the lease as it stands in its file.
type kept struct {
	Boot string        `json:"boot"`
	Sent int64         `json:"sent"` // of the last accepted heartbeat, by now, in ns
	For  time.Duration `json:"for"`
	Asks bool          `json:"asks,omitempty"`
}

func leasePath(dir string) string { return filepath.Join(dir, "lease") }

// readLease returns the lease of the attempt in dir; not begun, if no heartbeat was
// accepted in this boot of the machine, or the file is damaged.
func readLease(dir string) (l far.Lease, boot string, err error) {
	b, err := signals.ReadFile(leasePath(dir), 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return l, "", nil
	}
	if err != nil {
		return l, "", err
	}
	var k kept
	if json.Unmarshal(b, &k) != nil {
		return l, "", nil
	}
	l = far.Lease{For: k.For, Asks: k.Asks}
	if k.Boot == proc.BootID() {
		l.Renewed(time.Unix(0, k.Sent), now())
	}
	return l, k.Boot, nil
}

// leaseSize is the size of the file, so that a full disk can take the next lease.
const leaseSize = 256

// writeLease keeps the lease for the guard and for the next worker. It need not be
// durable: after a power cut no program runs. If the disk is full, the lease takes the place
// of the one before: the guard must not end an agent whose lease is renewed.
func writeLease(dir string, sent time.Time, l *far.Lease) error {
	b, err := json.Marshal(kept{Boot: proc.BootID(), Sent: sent.UnixNano(), For: l.For, Asks: l.Asks})
	if err != nil {
		return err
	}
	b = append(b, bytes.Repeat([]byte{' '}, max(0, leaseSize-len(b)))...)
	temp := leasePath(dir) + ".new"
	if err = signals.PutFile(temp, b, 0o600); err == nil {
		err = signals.Rename(temp, filepath.Base(leasePath(dir)))
	}
	if err == nil {
		return nil
	}
	f, e := signals.OpenFile(leasePath(dir), os.O_WRONLY, 0)
	if e != nil {
		return errors.Join(err, e)
	}
	_, e = f.WriteAt(b, 0)
	return errors.Join(e, f.Close())
}
