package signals

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLogGone means that a log's file was removed while it was open: appended lines would be
// lost.
var ErrLogGone = errors.New("log file was removed")

// ErrShrunk means that a log is shorter than its reader's offset: it was replaced, and the
// reader must start from its beginning.
var ErrShrunk = errors.New("log is shorter than it was")

// Log is an append-only file of JSON lines, shared by any number of
// processes. Its methods may be called concurrently.
type Log struct {
	f    *os.File
	name string

	// Seal returns the bytes to write for a line at an offset of the file. Set it before
	// the first Append. May be nil.
	Seal func(at int64, line []byte) ([]byte, error)

	turn chan struct{} // holds one value while an Append writes
	size int64         // of the file after our last write, which ended in a newline

	written atomic.Uint64 // number of the newest Append that is in the file

	datasync func(*os.File) error
	syncing  sync.Mutex
	fresh    bool   // this Log created the file, and its name is not durable yet
	synced   uint64 // Appends up to this number are durable
	syncErr  error  // sticky: after a failed sync the kernel may have dropped pages
}

// OpenLog opens the log at path. It creates a missing file, readable by its owner only.
func OpenLog(path string) (*Log, error) {
	f, err := OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	fresh := errors.Is(err, fs.ErrNotExist)
	if fresh {
		f, err = OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("log: %w", explain(err))
	}
	return &Log{f: f, name: path, turn: make(chan struct{}, 1), datasync: datasync, fresh: fresh}, nil
}

// Close closes the file. Lines appended without sync are not made durable.
func (l *Log) Close() error { return l.f.Close() }

// Append appends the lines, each a JSON value without a newline, by a single write under a
// lock on the file. If an earlier writer left a torn line, Append ends that line first. If
// a program that does not take the lock writes in between, Append writes sealed lines
// again; an error that wraps ErrDisplaced means that this happened every time. With
// durable, Append returns when the lines survive a power cut. Appends that run at the same
// time share one sync.
//
// Append never changes earlier lines. On a full disk (an error that wraps ErrDiskFull), the
// lines that fitted whole stay too; for a single line that means all or nothing. ctx bounds
// the wait for other writers; if it ends during that wait, nothing was written. After a
// failed sync, every durable Append fails.
func (l *Log) Append(ctx context.Context, durable bool, lines ...[]byte) error {
	if err := valid(l.name, lines); err != nil {
		return err
	}
	var mine uint64
	err := l.locked(ctx, func() (err error) {
		if err = l.writeLocked(lines); err == nil {
			mine = l.written.Add(1)
		}
		return err
	})
	if err == nil && durable {
		err = l.sync(mine)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", l.name, explain(err))
	}
	return nil
}

// valid refuses lines that are not one JSON value each.
func valid(name string, lines [][]byte) error {
	for _, line := range lines {
		if bytes.IndexByte(line, '\n') >= 0 || !json.Valid(line) {
			return fmt.Errorf("append to %s: not a line of JSON: %.80q", name, line)
		}
	}
	return nil
}

// locked calls f while it holds the lock on the file.
func (l *Log) locked(ctx context.Context, f func() error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.turn }()
	if err := l.lock(ctx); err != nil {
		return err
	}
	err := f()
	if unlockErr := flock(l.f, unix.LOCK_UN); err == nil {
		err = unlockErr
	}
	return err
}

// ErrDisplaced means that another program that does not take the lock kept writing to the
// log: none of the appended lines is at the offset for which it was sealed.
var ErrDisplaced = errors.New("another program keeps writing to the log without its lock")

// mostDisplaced is how often writeLocked repeats a write that another program displaced.
// Each failed write leaves its lines in the file.
const mostDisplaced = 20

// writeLocked writes the lines. A program that appends without the lock, such as an agent's
// shell, may write between the look at the size and the write. Then sealed lines are at the
// wrong offset and would not count, so writeLocked writes them again.
func (l *Log) writeLocked(lines [][]byte) error {
	for range mostDisplaced {
		displaced, err := l.writeOnce(lines)
		if err != nil || !displaced {
			return err
		}
	}
	return ErrDisplaced
}

func (l *Log) writeOnce(lines [][]byte) (displaced bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(l.f.Fd()), &st); err != nil {
		return false, err
	}
	if st.Nlink == 0 {
		return false, ErrLogGone
	}
	torn := false
	if st.Size > 0 && st.Size != l.size {
		var last [1]byte
		if _, err := l.f.ReadAt(last[:], st.Size-1); err != nil {
			return false, err
		}
		torn = last[0] != '\n'
	}
	buf, err := l.assemble(st.Size, torn, lines)
	if err != nil {
		return false, err
	}
	n, err := l.f.Write(buf)
	end, seekErr := l.f.Seek(0, io.SeekCurrent) // after an append, the offset is after what was written
	if seekErr != nil {
		return false, errors.Join(err, seekErr)
	}
	if err != nil {
		// Remove the incomplete last line, but never a whole one: a reader may have seen
		// that.
		part := n - (bytes.LastIndexByte(buf[:n], '\n') + 1)
		if part == 0 {
			return false, err
		}
		return false, errors.Join(err, l.f.Truncate(end-int64(part)))
	}
	l.size = end
	return l.Seal != nil && end != st.Size+int64(n), nil
}

// assemble returns the bytes to append to a file of this size: a newline after a torn line,
// then the lines, sealed for their offsets.
func (l *Log) assemble(size int64, torn bool, lines [][]byte) ([]byte, error) {
	n := 1
	for _, line := range lines {
		n += len(line) + 64 // room for a seal
	}
	buf := make([]byte, 0, n)
	if torn {
		buf = append(buf, '\n')
	}
	for _, line := range lines {
		if l.Seal != nil {
			var err error
			if line, err = l.Seal(size+int64(len(buf)), line); err != nil {
				return nil, err
			}
		}
		buf = append(append(buf, line...), '\n')
	}
	return buf, nil
}

// lock takes the flock on the log's file. Writers hold it for microseconds. flock cannot
// wait with a context, so lock polls at growing intervals.
func (l *Log) lock(ctx context.Context) error {
	err := flock(l.f, unix.LOCK_EX|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	wait := 20 * time.Microsecond
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := flock(l.f, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		wait = min(2*wait, 5*time.Millisecond)
		timer.Reset(wait)
	}
}

// sync returns when write number mine is durable. The goroutine that gets the mutex syncs
// for all that wrote before; those return without a sync.
func (l *Log) sync(mine uint64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.syncErr != nil || l.synced >= mine {
		return l.syncErr
	}
	upTo := l.written.Load()
	err := l.datasync(l.f)
	if err == nil && l.fresh {
		err = syncDir(filepath.Dir(l.name)) // quick, because the file's sync has done most of it
		l.fresh = false
	}
	if err != nil {
		// A network disk may report only at the sync that it is full. That is not
		// ErrDiskFull: a caller that waits for space and writes again would never end.
		l.syncErr = fmt.Errorf("sync: %v: some of what was written may be lost: check the disk, then start this program again", err)
		return l.syncErr
	}
	l.synced = upTo
	return nil
}

// Span is a range of a file, in bytes.
type Span struct{ At, Len int64 }

// Tail is where a read of a log ended.
type Tail struct {
	Next int64  // offset for the next read: after the last whole line
	Torn []Span // lines that are not JSON: left by a killed writer or a power cut
}

// Appending reports whether another process is appending to the log at path now: a reader
// may see an incomplete write. A process that begins to append during the call waits for
// microseconds.
func Appending(path string) (bool, error) {
	f, err := Open(path)
	if err != nil {
		return false, fmt.Errorf("log: %w", err)
	}
	defer f.Close()
	err = flock(f, unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// ReadLog calls f with each whole line of the log at path from offset from on, without its
// newline, and with the offset of the next line. Lines may be of any length; the slice is
// valid only during the call. Torn lines are skipped and reported in Tail. A last line
// without a newline is still being written and is left for the next read. An error of f
// ends the read and is returned unchanged, with Next at its line.
func ReadLog(path string, from int64, f func(line []byte, next int64) error) (Tail, error) {
	return ReadLines(path, from, func(line []byte, next int64) error {
		if !json.Valid(line) {
			return ErrTorn
		}
		return f(line, next)
	})
}

// ErrTorn is the error for a line that is not JSON.
var ErrTorn = errors.New("not a line of JSON")

// ReadLines is ReadLog without the JSON check, for an f that recognizes whole lines in
// another way, such as a seal. f gets every line and returns ErrTorn for a torn one.
func ReadLines(path string, from int64, f func(line []byte, next int64) error) (Tail, error) {
	file, err := Open(path)
	if err != nil {
		return Tail{Next: from}, fmt.Errorf("log: %w", err)
	}
	defer file.Close()
	return readLines(file, path, from, f)
}

// Read is ReadLines on the log's open file. If nothing is new it costs one system call. If
// the file was removed, the error wraps ErrLogGone.
func (l *Log) Read(from int64, f func(line []byte, next int64) error) (Tail, error) {
	return readLines(l.f, l.name, from, f)
}

func readLines(file *os.File, path string, from int64, f func(line []byte, next int64) error) (Tail, error) {
	tail := Tail{Next: from}
	var st unix.Stat_t
	if err := retryEINTR(func() error { return unix.Fstat(int(file.Fd()), &st) }); err != nil {
		return tail, fmt.Errorf("log %s: %w", path, err)
	}
	switch {
	case st.Nlink == 0:
		return tail, fmt.Errorf("log %s: %w", path, ErrLogGone)
	case st.Size < from:
		return tail, fmt.Errorf("log %s: %w", path, ErrShrunk)
	case st.Size == from:
		return tail, nil
	}
	// Lines appended from now on are left for the next read.
	r := bufio.NewReaderSize(io.NewSectionReader(file, from, st.Size-from), int(min(st.Size-from+1, 64<<10)))
	var long []byte // a partial line longer than r's buffer
	for {
		line, err := r.ReadSlice('\n')
		if err == bufio.ErrBufferFull || len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF:
			return tail, nil
		case err != nil:
			return tail, fmt.Errorf("log: %w", err)
		}
		next := tail.Next + int64(len(line))
		line = line[:len(line)-1]
		switch err := f(line, next); {
		case err == ErrTorn:
			tail.Torn = append(tail.Torn, Span{At: tail.Next, Len: int64(len(line))})
		case err != nil:
			return tail, err
		}
		tail.Next = next
		long = long[:0]
	}
}
