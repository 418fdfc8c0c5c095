package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"cmux/signals"
)

// file is a file that rows were taken in from.
type file struct {
	id     int64
	path   string // from .cmux
	label  int64
	inode  uint64
	first  string // hash of its first line
	offset int64
	length int64  // how much of the line before offset is hashed
	last   string // hash of that
	again  bool

	seen stamp // as it was when all of it was taken in
	at   int64 // of its newest row
}

const (
	// most is how much of a line its hash is of.
	most = 4 << 10
	// maxLine is how long a line may be that is taken in whole.
	maxLine = 4 << 20
	// maxWhole is how long a file may be that is one row.
	maxWhole = 1 << 20
)

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return string(sum[:16])
}

// beginning is the hash of the first line of a file; ok is false when it is not
// whole yet.
func beginning(f io.ReaderAt) (sum string, ok bool, err error) {
	buf := make([]byte, most)
	n, err := f.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return "", false, err
	}
	buf = buf[:n]
	if i := bytes.IndexByte(buf, '\n'); i >= 0 {
		buf = buf[:i+1]
	} else if n < most {
		return "", false, nil
	}
	return hash(buf), true, nil
}

// fits reports whether the line before the offset is the one that was read.
func (f *file) fits(r io.ReaderAt, size int64) bool {
	if f.offset > size {
		return false
	}
	if f.length == 0 {
		return f.offset == 0
	}
	b := make([]byte, f.length)
	n, _ := r.ReadAt(b, f.offset-f.length)
	return int64(n) == f.length && hash(b) == f.last
}

// reader reads what is new of a source.
type reader struct {
	*file
	source source
	name   string // path of the file
	f      *os.File
	size   int64 // up to which it is read
	stamp  stamp

	buf   []byte
	begin int   // of what is not read of buf
	base  int64 // offset of begin
	chunk int
	vouch func(line []byte) bool // whether cmux wrote it; nil: nobody knows
	keep  bool                   // f stays open from one chunk to the next

	end     []byte // of the last line that was given
	skip    []byte // how a line begins that is too long
	pending row    // the next row, when there is one
	changed bool   // the file's row in the database is not as it should be
	known   counts // rows of a file that is read again
}

// errMoved says that the file has another name or is gone by now.
var errMoved = errors.New("it was moved")

// fill reads the next chunk. It reports whether there was one.
func (r *reader) fill() (bool, error) {
	have := len(r.buf) - r.begin
	from := r.base + int64(have)
	if from >= r.size {
		return false, nil
	}
	if r.f == nil {
		f, err := signals.Open(r.name)
		if err != nil {
			return false, errMoved
		}
		if id, err := signals.Identify(f); err != nil || id.Inode != r.stamp.inode {
			f.Close()
			return false, errMoved
		}
		r.f = f
	}
	want := int(min(r.size-from, int64(r.chunk)))
	if r.begin > 0 || cap(r.buf)-len(r.buf) < want {
		next := r.buf
		if cap(r.buf) < have+want {
			next = make([]byte, have+want)
		}
		copy(next[:cap(next)], r.buf[r.begin:])
		r.buf, r.begin = next[:have], 0
	}
	n, err := r.f.ReadAt(r.buf[have:have+want], from)
	r.buf = r.buf[:have+n]
	if err == io.EOF { // it was cut meanwhile
		r.size = from + int64(n)
		err = nil
	}
	if !r.keep {
		r.close()
	}
	return n > 0, err
}

func (r *reader) close() {
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
}

// line is the next whole line, without its newline, and how long it was with it;
// nil: there is none. It is the reader's again at the next call.
func (r *reader) line() (line []byte, err error) {
	looked := 0
	for {
		rest := r.buf[r.begin:]
		if i := bytes.IndexByte(rest[looked:], '\n'); i >= 0 {
			line = rest[:looked+i]
			r.ended(rest[:looked+i+1])
			r.begin += looked + i + 1
			r.base += int64(looked + i + 1)
			if r.skip != nil {
				line, r.skip = r.skip, nil
			}
			return line, nil
		}
		looked = len(rest)
		if looked > maxLine { // only the beginning of it is kept
			if r.skip == nil {
				r.skip = bytes.Clone(rest[:most])
			}
			cut := looked - most
			r.begin += cut
			r.base += int64(cut)
			looked -= cut
		}
		more, err := r.fill()
		if err != nil || !more {
			return nil, err
		}
	}
}

// ended keeps the end of a line, to be hashed where it is the last.
func (r *reader) ended(line []byte) {
	r.end = append(r.end[:0], line[max(0, len(line)-most):]...)
}

// advance makes the next row the pending one. It reports whether there is one.
func (r *reader) advance() (bool, error) {
	if r.source.format.whole {
		return r.all()
	}
	for {
		line, err := r.line()
		if err != nil || line == nil {
			return false, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			r.passed()
			continue
		}
		row := r.source.format.line(line)
		if r.known.take(row.body) {
			r.passed()
			continue
		}
		row.foreign = r.vouch != nil && row.kind != Unreadable && !r.vouch(line)
		if !row.known {
			if row.at = r.at; row.at == 0 {
				row.at = r.stamp.mtime
			}
		}
		// Lines stay in their order, whatever the clock did.
		r.pending, r.at = row, max(r.at, row.at)
		return true, nil
	}
}

// passed says that a line was taken in without a row.
func (r *reader) passed() {
	r.offset, r.length, r.last = r.base, int64(len(r.end)), hash(r.end)
	r.changed = true
}

// all makes the whole file the pending row.
func (r *reader) all() (bool, error) {
	if r.offset > 0 || r.size == 0 || r.size > maxWhole {
		return false, nil
	}
	text := make([]byte, r.size)
	n, err := r.f.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	text = text[:n]
	r.ended(text)
	r.pending = r.source.format.line(text)
	if !r.pending.known {
		r.pending.at = r.stamp.mtime
	}
	r.at, r.base = r.pending.at, r.size
	return true, nil
}

// counts says how often each of some bodies is there.
type counts map[uint64]int

func (c counts) add(body []byte) { c[key(body)]++ }

// take takes one of a body away, when there is one.
func (c counts) take(body []byte) bool {
	if c == nil {
		return false
	}
	k := key(body)
	if c[k] == 0 {
		return false
	}
	c[k]--
	return true
}

func key(body []byte) uint64 {
	sum := sha256.Sum256(body)
	return binary.LittleEndian.Uint64(sum[:8])
}
