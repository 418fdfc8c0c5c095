package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"

	"cmux/signals"
)

// OpenAhead is Open for who goes on to read all records: that begins at once,
// beside the reading of the graph.
func OpenAhead(root, id string) (*Run, error) {
	r, err := OpenPlan(filepath.Join(runsDir(root), id))
	if err != nil {
		return nil, err
	}
	r.ahead.Store(r.readAhead())
	if err := r.LoadGraph(); err != nil {
		return nil, err
	}
	return r, nil
}

// ahead is the records as they are read by a goroutine of its own, which waits
// for nobody.
type ahead struct {
	lines chan []readLine
	tail  signals.Tail // once lines is closed
	err   error
}

// aheadOf holds an ahead that nobody has taken yet.
type aheadOf = atomic.Pointer[ahead]

// aheadBatch is how many lines are handed on together.
const aheadBatch = 128

func (r *Run) readAhead() *ahead {
	a := &ahead{}
	size := int64(0)
	if info, err := os.Lstat(r.Records()); err == nil {
		size = info.Size()
	}
	const shortest = 16 // bytes of a line that counts
	a.lines = make(chan []readLine, size/(shortest*aheadBatch)+64)
	go func() {
		defer close(a.lines)
		var batch []readLine
		a.tail, a.err = signals.ReadLines(r.Records(), 0, r.read(func(l readLine) {
			if batch = append(batch, l); len(batch) == aheadBatch {
				a.lines <- batch
				batch = nil
			}
		}))
		a.lines <- batch
	}()
	return a
}

// readLine is a line of the records that was read and not taken in.
type readLine struct {
	at  int64
	rec *Record // nil: it does not count
	bad string  // why not; empty: cmux of this person did not write it there
}

// read hands the lines of the records to take.
func (r *Run) read(take func(readLine)) func(line []byte, next int64) error {
	return func(line []byte, next int64) error {
		l := readLine{at: next - int64(len(line)) - 1}
		switch {
		case r.wrote(line, next): // whole, as nobody seals a part
			rec, err := ParseRecord(line)
			if err != nil {
				l.bad = err.Error() // a later version's, or damaged: the others still count
			} else {
				l.rec = rec
			}
		case !json.Valid(line):
			return signals.ErrTorn
		}
		take(l)
		return nil
	}
}

// take takes a line into h.
func (h *History) take(l readLine, each func(*Record)) {
	switch {
	case l.rec != nil:
		h.Apply(l.rec)
		if each != nil {
			each(l.rec)
		}
	case l.bad != "":
		h.bad(BadLine{At: l.at, Why: l.bad})
	default:
		h.Foreign = append(h.Foreign, l.at)
	}
}

// into takes all that was read into h.
func (a *ahead) into(h *History, each func(*Record)) (signals.Tail, error) {
	for batch := range a.lines {
		for _, l := range batch {
			h.take(l, each)
		}
	}
	return a.tail, a.err
}
