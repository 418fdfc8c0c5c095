package signals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Holder describes the process that holds a lock, as the lock file names it. The zero value
// means that the file could not be read.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`         // when the lock was taken
	What  string    `json:"what"`          // the program and its first arguments
	For   string    `json:"for,omitempty"` // purpose, in the holder's words
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "an unknown process"
	}
	return fmt.Sprintf("pid %d on %s since %s (%s)", h.PID, h.Host, h.Since.Local().Format("2006-01-02 15:04:05"), h.What)
}

// Brief returns the holder in few words: "pid 12, since 14:00". It adds the day if that is
// not today, and the machine if it is another one.
func (h Holder) Brief(now time.Time) string {
	if h.PID == 0 {
		return "an unknown process"
	}
	at := ""
	if here, err := os.Hostname(); err != nil || h.Host != here {
		at = " on " + h.Host
	}
	since, form := h.Since.Local(), "15:04"
	if since.Format(time.DateOnly) != now.Local().Format(time.DateOnly) {
		form = "2006-01-02 15:04"
	}
	return fmt.Sprintf("pid %d%s, since %s", h.PID, at, since.Format(form))
}

// HeldError means that another holder has the lock.
type HeldError struct {
	Path   string
	Holder Holder
}

func (e *HeldError) Error() string { return fmt.Sprintf("lock %s is held by %s", e.Path, e.Holder) }

// ErrLockGone means that the file of a held lock was removed or replaced, so another
// process may take a lock of the same name.
var ErrLockGone = errors.New("lock file was removed or replaced")

// Lock is a held lock.
//
// It is a flock on a file that is never removed, so flock(1) in a script respects it too.
// It belongs to the open file, not to the process: the kernel releases it when the process
// ends, in any way. The descriptor is close-on-exec, and Unlock releases the lock before it
// closes the file, so a child forked in between keeps nothing.
//
// flock cannot query a lock without taking it, and a probe that takes the lock for an
// instant would make another TryLock fail. On Linux, the holder therefore also sets an
// open-file-description lock after it has written its name. Holder queries that lock with
// F_OFD_GETLK, which disturbs no other process. A TryLock that finds the flock taken waits
// for that second lock, so it never names an earlier holder. On macOS, where both kinds of
// lock exclude each other, Holder probes with a shared flock, and TryLock tries again when
// it meets one.
type Lock struct {
	f    *os.File
	path string
}

// attempts bounds how often TryLock tries, for 50 ms in all.
const attempts = 100

// TryLock takes the lock at path and creates the file if it is missing (its folder must
// exist). It does not wait: if another open file holds the lock, in this process or
// another, the error is a *HeldError.
func TryLock(path string) (*Lock, error) { return TryLockFor(path, "") }

// TryLockFor is TryLock with a purpose, which readers of the lock see.
func TryLockFor(path, what string) (*Lock, error) {
	for attempt := 0; ; attempt++ {
		f, err := OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock: %w", explain(err))
		}
		err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && !sameFile(f, path) {
			// Removed or replaced between open and flock: other processes do not find this
			// file, so holding it has no effect.
			f.Close()
			if attempt == attempts {
				return nil, fmt.Errorf("lock %s: %w", path, ErrLockGone)
			}
			continue
		}
		if err == nil {
			if err = announce(f, what); err != nil {
				f.Close()
				return nil, fmt.Errorf("lock %s: %w", path, explain(err))
			}
			return &Lock{f: f, path: path}, nil
		}
		f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		h, held, err := ReadHolder(path)
		if err != nil {
			return nil, err
		}
		// A holder that has not written its name yet will do so within a few system calls.
		// One that never does (flock(1)) stays unknown.
		if held || attempt == attempts {
			return nil, &HeldError{Path: path, Holder: h}
		}
		time.Sleep(time.Duration(attempt) * 10 * time.Microsecond)
	}
}

// Unlock releases the lock. The file stays and names its last holder.
func (l *Lock) Unlock() error {
	// Explicitly, in the reverse order of taking: a child forked at this instant keeps the
	// open file, and with it its locks, until it calls exec.
	return errors.Join(withdraw(l.f), flock(l.f, unix.LOCK_UN), l.f.Close())
}

// Check returns ErrLockGone if path no longer names the locked file, as after `git clean
// -ffdx`. Then the lock excludes nobody, and the holder must take it again or end.
func (l *Lock) Check() error {
	if !sameFile(l.f, l.path) {
		return fmt.Errorf("lock %s: %w", l.path, ErrLockGone)
	}
	return nil
}

// ReadHolder reports whether the lock at path is held, and by whom, without disturbing
// other processes. A free lock or a missing file is not an error; for a free lock, h is the
// last holder.
func ReadHolder(path string) (h Holder, held bool, err error) {
	f, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("lock: %w", err)
	}
	defer f.Close()
	// The lock may get another holder between the probe and the reading, which may then see
	// half a name: try again.
	for range 5 {
		if held, err = probe(f); err != nil {
			return Holder{}, false, fmt.Errorf("lock %s: %w", path, err)
		}
		h = Holder{}
		buf := make([]byte, 4096)
		n, _ := f.ReadAt(buf, 0)
		if json.Unmarshal(buf[:n], &h) == nil || !held {
			break
		}
	}
	return h, held, nil
}

// announce writes the holder's name, then makes the lock visible to probe.
func announce(f *os.File, purpose string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	what := filepath.Base(os.Args[0])
	if n := min(len(os.Args), 4); n > 1 {
		what += " " + strings.Join(os.Args[1:n], " ")
	}
	if len(what) > 200 {
		what = strings.ToValidUTF8(what[:200], "") + "…"
	}
	b, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Since: time.Now(), What: what, For: purpose})
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	// Not before the write, and not to 0: ext4 takes that for a file being replaced, and
	// writes it to the disk when it is closed.
	if err := f.Truncate(int64(len(b))); err != nil {
		return err
	}
	return publishLock(f)
}

func flock(f *os.File, how int) error {
	return retryEINTR(func() error { return unix.Flock(int(f.Fd()), how) })
}

// sameFile reports whether path names the open file f.
func sameFile(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}
