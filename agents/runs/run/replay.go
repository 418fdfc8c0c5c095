package run

import (
	"time"

	"cmux/dag"
	"cmux/signals"
)

// Replay reads the records from offset from on into h, and returns where to
// go on. each is told every record when it has been taken in; it may be nil.
func (r *Run) Replay(h *History, from int64, each func(*Record)) (int64, error) {
	if a := r.ahead.Swap(nil); a != nil && from == 0 {
		tail, err := a.into(h, each)
		h.replayed(tail)
		if from = tail.Next; err != nil {
			return from, err
		}
		// What was written since is older than what the caller looks at next.
	}
	tail, err := signals.ReadLines(r.Records(), from, r.fold(h, each))
	h.replayed(tail)
	return tail.Next, err
}

// Replay is Run.Replay through the book's open file: where nothing is new it
// costs next to nothing.
func (b *Book) Replay(h *History, from int64, each func(*Record)) (int64, error) {
	tail, err := b.log.Read(from, b.run.fold(h, each))
	h.replayed(tail)
	return tail.Next, err
}

// EachRecord hands every record to f, oldest first, unfolded.
func (r *Run) EachRecord(f func(rec *Record)) error {
	_, err := r.EachRecordFrom(0, f)
	return err
}

// EachRecordFrom is EachRecord from an offset on, and returns where to go on.
func (r *Run) EachRecordFrom(from int64, f func(rec *Record)) (int64, error) {
	tail, err := signals.ReadLines(r.Records(), from, func(line []byte, next int64) error {
		if !r.wrote(line, next) {
			return nil
		}
		if rec, err := ParseRecord(line); err == nil {
			f(rec)
		}
		return nil
	})
	return tail.Next, err
}

// EachAgentRecord hands the records of a standing agent from an offset on to f,
// oldest first, and returns where to go on.
func (r *Run) EachAgentRecord(name string, from int64, f func(rec *Record)) (int64, error) {
	place := agentPlace(name)
	tail, err := signals.ReadLines(r.AgentRecords(name), from, func(line []byte, next int64) error {
		if r.key.Open(place(next-int64(len(line))-1), line) != nil {
			return nil // torn, or nobody's of cmux
		}
		if rec, err := ParseRecord(line); err == nil {
			f(rec)
		}
		return nil
	})
	return tail.Next, err
}

// wrote reports whether cmux of this person wrote this line of the records at
// its place, before the offset next.
func (r *Run) wrote(line []byte, next int64) bool {
	return r.key.Open(recordPlace(next-int64(len(line))-1), line) == nil
}

// fold takes the lines of the records into h, and remembers those that no cmux
// of this person wrote at their place.
func (r *Run) fold(h *History, each func(*Record)) func(line []byte, next int64) error {
	return r.read(func(l readLine) { h.take(l, each) })
}

// foreignLine describes a line of the records that does not count.
const foreignLine = "not written by cmux, or not there; it does not count"

// ForeignLine describes the line at offset at of the records, which cmux did not
// write. where is its place; told is where with the reason.
func (r *Run) ForeignLine(at int64) (where, told string, err error) {
	where, err = r.RecordLine(at)
	return where, where + ": " + foreignLine, err
}

// Final is the state in which the run ended, and when; empty: it has not.
func (r *Run) Final() (dag.RunState, time.Time, error) {
	h := NewHistory(r.Plan.Graph)
	_, err := r.Replay(h, 0, nil)
	return h.Final, h.Ended, err
}

// Over reports whether the run has ended: nothing in it will happen any more
// unless a person asks for a node to be retried.
func (r *Run) Over() (bool, error) {
	state, _, err := r.Final()
	return state != "", err
}
