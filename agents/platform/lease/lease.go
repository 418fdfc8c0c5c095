// Package lease shares numbers among all runs of one person that no two runs may use at the
// same time.
//
// A number is a file in the person's state folder. The runner that took it, and each
// wrapper of its run, hold a lock on that file. The kernel releases the lock when the last
// of them ends, in any way, so no cleanup is needed. The file names the holder.
package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Holder is the holder of a number.
type Holder struct {
	Project string    `json:"project"` // its root
	Session string    `json:"session"`
	Run     string    `json:"run"`
	Node    string    `json:"node,omitempty"` // of a seat: the node that works in it
	PID     int       `json:"pid"`            // of the process that took it
	Since   time.Time `json:"since"`
}

func (h Holder) same(o Holder) bool { return h.Project == o.Project && h.Run == o.Run }

// Lease is a number that this process holds. It ends with Release or with the process.
type Lease struct {
	N int

	f *os.File
}

// Release releases the number; other processes of the run may still hold it.
func (l *Lease) Release() error { return l.f.Close() }

// ErrNone means that all numbers are in use.
var ErrNone = errors.New("all are in use")

// Take takes the lowest number below n in folder dir that no process of another run holds
// and for which not returns false.
func Take(dir string, n int, by Holder, not func(int) bool) (*Lease, error) {
	guard, err := Guard(dir)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	for i := range n {
		if not(i) {
			continue
		}
		l, err := take(dir, i, by)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return l, err
		}
	}
	return nil, ErrNone
}

// Join holds the number i if a process of the same run holds it or if it is free.
func Join(dir string, i int, by Holder) (*Lease, error) {
	guard, err := Guard(dir)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	l, err := take(dir, i, by)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s is in use by another run", path(dir, i))
	}
	return l, err
}

// take requires the folder's lock: between its two locks no other process may look.
func take(dir string, i int, by Holder) (_ *Lease, err error) {
	f, err := os.OpenFile(path(dir, i), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err = flock(f, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		by.PID, by.Since = os.Getpid(), time.Now()
		if err = write(f, by); err != nil {
			return nil, err
		}
	} else if have, rerr := read(f); !errors.Is(err, unix.EWOULDBLOCK) || rerr != nil || !have.same(by) {
		return nil, err
	}
	if err = flock(f, unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return nil, err
	}
	return &Lease{i, f}, nil
}

func path(dir string, i int) string { return filepath.Join(dir, strconv.Itoa(i)) }

// Guard locks a folder that all runs of the person share; other processes that want to
// change it wait. Hold it only while opening a few files.
func Guard(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, unix.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

func write(f *os.File, h Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(b)))
}

func read(f *os.File) (h Holder, err error) {
	b := make([]byte, 4096)
	n, _ := f.ReadAt(b, 0)
	return h, json.Unmarshal(b[:n], &h)
}

// Held returns the numbers in dir that are in use, with their holders.
func Held(dir string) (map[int]Holder, error) {
	guard, err := Guard(dir)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	return heldIn(dir)
}

// heldIn is Held for a caller with the folder's lock.
func heldIn(dir string) (map[int]Holder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := make(map[int]Holder)
	for _, e := range entries {
		i, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		f, err := os.OpenFile(path(dir, i), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			h, _ := read(f) // an unreadable file is in use too
			all[i] = h
		}
		f.Close()
	}
	return all, nil
}
