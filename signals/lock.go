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

// Holder is what a lock file says about the process that holds it. The zero
// value means that it could not be read.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`         // when the lock was taken
	What  string    `json:"what"`          // the program and its first arguments
	For   string    `json:"for,omitempty"` // what it is held for, as its holder names that
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "an unknown process"
	}
	return fmt.Sprintf("pid %d on %s since %s (%s)", h.PID, h.Host, h.Since.Local().Format("2006-01-02 15:04:05"), h.What)
}

// Brief is the holder in few words: "pid 12, since 14:00", with the day and the
// machine where they are not now and here.
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

// HeldError says that another holder has the lock.
type HeldError struct {
	Path   string
	Holder Holder
}

func (e *HeldError) Error() string { return fmt.Sprintf("lock %s is held by %s", e.Path, e.Holder) }

// ErrLockGone says that the file of a held lock was removed or replaced, so
// that another process may take a lock of the same name.
var ErrLockGone = errors.New("lock file was removed or replaced")

// Lock is a held lock.
//
// It is a flock on a file that is never removed, so flock(1) in a script sees
// it too. It belongs to the open file, not to the process: the kernel drops it
// when the process dies, however it dies. The descriptor is close-on-exec, and
// Unlock gives the lock up before it closes, so a child forked meanwhile keeps
// nothing.
//
// flock has no way to ask without taking, and a probe that takes the lock for
// an instant would make an honest TryLock fail. On Linux the holder therefore
// also sets an open-file-description lock, once the file names it, and Holder
// asks for that one with F_OFD_GETLK, which disturbs nobody; a TryLock that
// finds the flock taken waits for that announcement, so it never names an
// earlier holder. On macOS, where both kinds of lock exclude each other,
// Holder probes with a shared flock, and TryLock tries again when it meets one.
type Lock struct {
	f    *os.File
	path string
}

// attempts bounds how often TryLock looks again, for 50 ms in all.
const attempts = 100

// TryLock takes the lock at path, making the file when there is none (its
// folder must exist). It does not wait: when another open file holds the lock,
// in this process or any other, the error is a *HeldError.
func TryLock(path string) (*Lock, error) { return TryLockFor(path, "") }

// TryLockFor is TryLock that tells readers what the lock is held for.
func TryLockFor(path, what string) (*Lock, error) {
	for attempt := 0; ; attempt++ {
		f, err := OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock: %w", explain(err))
		}
		err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && !sameFile(f, path) {
			// Removed or replaced between open and flock: nobody else will
			// find this file, so holding it means nothing.
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
		// A holder that has not announced itself yet is a few system calls
		// away from it; one that never does (flock(1)) stays unknown.
		if held || attempt == attempts {
			return nil, &HeldError{Path: path, Holder: h}
		}
		time.Sleep(time.Duration(attempt) * 10 * time.Microsecond)
	}
}

// Unlock gives the lock up. The file stays, naming its last holder.
func (l *Lock) Unlock() error {
	// Explicitly, in the reverse order of taking: a child forked this instant
	// keeps the open file, and with it its locks, until it execs.
	return errors.Join(withdraw(l.f), flock(l.f, unix.LOCK_UN), l.f.Close())
}

// Check returns ErrLockGone when path no longer names the locked file, as
// after `git clean -ffdx`: then the lock excludes nobody any more, and the
// holder takes it anew or ends.
func (l *Lock) Check() error {
	if !sameFile(l.f, l.path) {
		return fmt.Errorf("lock %s: %w", l.path, ErrLockGone)
	}
	return nil
}

// ReadHolder reports whether the lock at path is held, and by whom, without
// getting in anybody's way. A lock that is free, or a file that is missing, is
// not an error; for a free one the Holder is the last.
func ReadHolder(path string) (h Holder, held bool, err error) {
	f, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("lock: %w", err)
	}
	defer f.Close()
	// The file may change hands between the probe and the reading, which can
	// then see a half-written name; look again.
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

// announce writes the holder's name and then makes the lock visible to probe.
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
	// Not before, and not to 0: ext4 takes that for a file being replaced, and
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
