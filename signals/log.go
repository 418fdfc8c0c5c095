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

// ErrLogGone says that a log's file was removed while it was open: what is
// appended would be lost.
var ErrLogGone = errors.New("log file was removed")

// ErrShrunk says that a log is shorter than where its reader stands: it was
// replaced, and is to be read from its beginning.
var ErrShrunk = errors.New("log is shorter than it was")

// Log is an append-only file of JSON lines, shared by any number of
// processes. Its methods may be called concurrently.
type Log struct {
	f    *os.File
	name string

	// Seal, set before the first Append, turns each line into what is written
	// for it at this offset of the file. May be nil.
	Seal func(at int64, line []byte) ([]byte, error)

	turn chan struct{} // holds one value while an Append writes
	size int64         // of the file after our last write, which ended in a newline

	written atomic.Uint64 // number of the newest Append whose bytes are in the file

	datasync func(*os.File) error
	syncing  sync.Mutex
	fresh    bool   // this Log made the file, and its name is not durable yet
	synced   uint64 // Appends up to this number are durable
	syncErr  error  // sticky: after a failed sync the kernel may have dropped pages
}

// OpenLog opens the log at path, making the file when there is none, for its
// owner alone.
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

// Close closes the file. What was appended without sync is not made durable.
func (l *Log) Close() error { return l.f.Close() }

// Append appends the lines, each a JSON value without a newline in it, by a
// single write under a lock on the file, after ending a line that an earlier
// writer left torn. Sealed lines are written once more where somebody without the
// lock came between: an error that wraps ErrDisplaced says that they always did.
// With durable it returns once the lines survive a power cut; Appends that run at
// the same time share one sync.
//
// What was in the log before stays, whatever happens. On a full disk (an error
// that wraps ErrDiskFull) the lines that fitted whole stay too, which for a
// single line means all or nothing. ctx bounds the wait for other writers;
// when it ends in that wait, nothing was written. After a sync that failed every
// durable Append fails.
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

// valid refuses what is not a line of JSON each.
func valid(name string, lines [][]byte) error {
	for _, line := range lines {
		if bytes.IndexByte(line, '\n') >= 0 || !json.Valid(line) {
			return fmt.Errorf("append to %s: not a line of JSON: %.80q", name, line)
		}
	}
	return nil
}

// locked calls f with the lock on the file held.
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

// ErrDisplaced says that somebody who does not take the lock wrote to a log all the
// time: nothing of what was appended stands where it was sealed for.
var ErrDisplaced = errors.New("another program writes to it all the time")

// mostDisplaced is how often a write is tried again that another's got before. Each
// leaves its lines behind.
const mostDisplaced = 20

// writeLocked writes the lines, for a Log that seals so that each stands where it
// is sealed for. Whoever appends without the lock, an agent's shell, could come
// between the look at the size and the write: what was displaced so is written
// once more, as else it would count for nothing.
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
	end, seekErr := l.f.Seek(0, io.SeekCurrent) // an append leaves it behind what was written
	if seekErr != nil {
		return false, errors.Join(err, seekErr)
	}
	if err != nil {
		// Take back the part of a line, never a whole one: a reader may
		// already have seen that.
		part := n - (bytes.LastIndexByte(buf[:n], '\n') + 1)
		if part == 0 {
			return false, err
		}
		return false, errors.Join(err, l.f.Truncate(end-int64(part)))
	}
	l.size = end
	return l.Seal != nil && end != st.Size+int64(n), nil
}

// assemble is what is to be written at the end of a file of this size: the
// lines, sealed for where they will stand, after the end of a torn one.
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

// lock takes the flock on the log's file. Writers hold it for microseconds;
// flock cannot wait with a context, so this asks again at growing intervals.
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

// sync returns once write number mine is durable. Whoever gets the mutex syncs
// for everybody who wrote before; they find it done.
func (l *Log) sync(mine uint64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.syncErr != nil || l.synced >= mine {
		return l.syncErr
	}
	upTo := l.written.Load()
	err := l.datasync(l.f)
	if err == nil && l.fresh {
		err = syncDir(filepath.Dir(l.name)) // quick, as the file's sync has mostly done it
		l.fresh = false
	}
	if err != nil {
		// Also of a network's disk that says only now that it is full. That is no
		// ErrDiskFull: whoever waits for space and writes again would do so for ever.
		l.syncErr = fmt.Errorf("sync: %v: some of what was written may be lost: check the disk, then start this program again", err)
		return l.syncErr
	}
	l.synced = upTo
	return nil
}

// Span is a stretch of a file, in bytes.
type Span struct{ At, Len int64 }

// Tail is where a reading of a log ended.
type Tail struct {
	Next int64  // offset to read from next time: after the last whole line
	Torn []Span // lines that are no JSON: left by a killed writer or a power cut
}

// Appending reports whether somebody is appending to the log at path at this
// moment: of what is written, a reader may see a part. Who begins to append
// while it looks waits for microseconds.
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

// ReadLog calls f with each whole line of the log at path from offset from on,
// without its newline, and with the offset of the line after it. Lines may be
// of any length; the slice is f's only until it returns. Torn lines are left
// out and reported; a last line without a newline is still being written, and
// left for the next time. An error of f ends the reading and is returned as it
// is, with Next at the line it was given.
func ReadLog(path string, from int64, f func(line []byte, next int64) error) (Tail, error) {
	return ReadLines(path, from, func(line []byte, next int64) error {
		if !json.Valid(line) {
			return ErrTorn
		}
		return f(line, next)
	})
}

// ErrTorn is what a reader of lines says of one that is no JSON.
var ErrTorn = errors.New("not a line of JSON")

// ReadLines is ReadLog for an f that has another way to tell that a line is
// whole, as by its seal: it is given every line, and says ErrTorn of a torn one.
func ReadLines(path string, from int64, f func(line []byte, next int64) error) (Tail, error) {
	file, err := Open(path)
	if err != nil {
		return Tail{Next: from}, fmt.Errorf("log: %w", err)
	}
	defer file.Close()
	return readLines(file, path, from, f)
}

// Read is ReadLines on the log's own open file. Where nothing is new it costs
// one system call. When the file was removed the error wraps ErrLogGone.
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
	// What is appended from now on is left for the next time.
	r := bufio.NewReaderSize(io.NewSectionReader(file, from, st.Size-from), int(min(st.Size-from+1, 64<<10)))
	var long []byte // the part so far of a line longer than r's buffer
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
