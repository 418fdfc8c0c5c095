// Package output writes everything an attempt prints: to its log, and to a live view.
//
// A Log keeps the beginning and the end of the output, whatever its size. An Output writes
// to it and to the pane, and never fails the printing program. Readable makes output safe
// to show.
package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cmux/signals"
)

// seam marks the newest output while the log is a ring; Close removes it.
const seam = "\n── cmux: the newest output ends here; older output follows ──\n"

// Log is the output of one attempt at the end of the node's log file. It keeps
// the first head and the last tail bytes: beyond them the tail part of the
// file is a ring, so a program that prints without end costs no more disk.
// It is not safe for concurrent use.
type Log struct {
	f          *os.File // nil: nothing was written yet
	path       string
	header     string
	base       int64 // where the attempt's output begins in the file
	head, tail int64
	n          int64 // bytes written so far
}

// NewLog returns the Log of a new attempt at the end of the file at path. It creates the
// file and its folder, with a header line, at the first output: most commands of a large
// graph print nothing.
func NewLog(path, header string, head, tail int64) *Log {
	return &Log{path: path, header: header, head: head, tail: max(tail, int64(2*len(seam)))}
}

// Open makes the file, with its header.
func (l *Log) Open() error {
	if l.f != nil {
		return nil
	}
	f, err := signals.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = signals.MkdirAll(filepath.Dir(l.path), 0o700); err == nil {
			f, err = signals.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return err
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		if end > 0 {
			l.header = "\n" + l.header
		}
		_, err = f.WriteAt([]byte(l.header), end)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.base = f, end+int64(len(l.header))
	return nil
}

// Write stores p within the limits.
func (l *Log) Write(p []byte) (int, error) {
	whole := len(p)
	if err := l.Open(); err != nil {
		return 0, err
	}
	if room := l.head + l.tail - l.n; room > 0 {
		k := min(room, int64(len(p)))
		if _, err := l.f.WriteAt(p[:k], l.base+l.n); err != nil {
			return 0, err
		}
		l.n += k
		p = p[k:]
	}
	if len(p) == 0 {
		return whole, nil
	}
	if skip := int64(len(p)) - l.tail; skip > 0 {
		l.n += skip
		p = p[skip:]
	}
	for len(p) > 0 {
		at := (l.n - l.head) % l.tail
		k := min(int64(len(p)), l.tail-at)
		if _, err := l.f.WriteAt(p[:k], l.base+l.head+at); err != nil {
			return 0, err
		}
		l.n += k
		p = p[k:]
	}
	if at := (l.n - l.head) % l.tail; at+int64(len(seam)) <= l.tail {
		if _, err := l.f.WriteAt([]byte(seam), l.base+l.head+at); err != nil {
			return 0, err
		}
	}
	return whole, nil
}

// Close rewrites a ring in order, with the number of bytes left out, as a new file of the
// same name, and closes the file.
func (l *Log) Close() error {
	if l.f == nil {
		return nil
	}
	if l.n <= l.head+l.tail {
		return l.f.Close()
	}
	return errors.Join(l.straighten(), l.f.Close())
}

func (l *Log) straighten() error {
	at := (l.n - l.head) % l.tail
	oldest := at
	if at+int64(len(seam)) <= l.tail {
		oldest += int64(len(seam)) // overwritten by the seam
	}
	omitted := l.n - l.head - l.tail + oldest - at
	fresh := l.path + ".new"
	if err := signals.RemoveFile(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := signals.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	part := func(from, to int64) {
		if err == nil && to > from {
			_, err = io.Copy(out, io.NewSectionReader(l.f, from, to-from))
		}
	}
	ring := l.base + l.head
	part(0, ring)
	if err == nil {
		_, err = fmt.Fprintf(out, "\n── cmux: %d bytes of output left out ──\n", omitted)
	}
	part(ring+oldest, ring+l.tail)
	part(ring, ring+at)
	if err = errors.Join(err, out.Close()); err == nil {
		err = signals.Rename(fresh, filepath.Base(l.path))
	}
	if err != nil {
		return errors.Join(err, signals.RemoveFile(fresh))
	}
	return nil
}
