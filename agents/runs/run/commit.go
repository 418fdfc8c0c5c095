package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"cmux/signals"
)

// Book appends to the records of a run. It may be used by several goroutines,
// and several processes may each have one.
type Book struct {
	run   *Run
	log   *signals.Log
	stock *signals.Stock // nil: markers are made when they are needed

	// Delayed is called before each wait of a write: the disk is full, or another
	// program writes in its place. An error of it ends the wait and is returned. May
	// be nil.
	Delayed func(error) error
}

// OpenBook opens the records of r for appending.
func (r *Run) OpenBook() (*Book, error) { return r.openBook(r.Records(), recordPlace) }

// OpenAgentBook opens the records of a standing agent for appending.
func (r *Run) OpenAgentBook(name string) (*Book, error) {
	if err := signals.MkdirAll(r.NodeDir(name), 0o700); err != nil {
		return nil, err
	}
	return r.openBook(r.AgentRecords(name), agentPlace(name))
}

func (r *Run) openBook(path string, place func(int64) string) (*Book, error) {
	l, err := signals.OpenLog(path)
	if err != nil {
		return nil, err
	}
	l.Seal = func(at int64, line []byte) ([]byte, error) { return r.key.Seal(place(at), line) }
	return &Book{run: r, log: l}, nil
}

// Durable is Append that waits for the disk.
func (b *Book) Durable(ctx context.Context, recs ...Record) error { return b.append(ctx, true, recs) }

// Stock has the book make the files of markers ahead of need, for who writes
// many.
func (b *Book) Stock() { b.stock = signals.NewStock(b.run.Signals()) }

// prepare prepares the marker of a node.
func (b *Book) prepare(node string, code int) (*signals.Pending, error) {
	if b.stock != nil {
		return b.stock.Prepare(node, code)
	}
	return signals.Prepare(b.run.Signals(), node, code)
}

// Close closes the file.
func (b *Book) Close() error {
	if b.stock != nil {
		b.stock.Close()
	}
	return b.log.Close()
}

// writeRetry is how long is waited between two tries of a write.
const writeRetry = 500 * time.Millisecond

// Append writes records in one write. It does not wait for the disk: what it
// wrote outlives this process, though not a power cut. On a full disk it waits
// for space, as long as ctx and Delayed let it: what was not recorded would be
// done twice. Records may then be there twice, which changes nothing.
func (b *Book) Append(ctx context.Context, recs ...Record) error {
	return b.append(ctx, false, recs)
}

func (b *Book) append(ctx context.Context, durable bool, recs []Record) error {
	if len(recs) == 0 {
		return nil
	}
	lines := make([][]byte, len(recs))
	for i := range recs {
		if recs[i].At.IsZero() {
			recs[i].At = time.Now()
		}
		l, err := recs[i].encode()
		if err != nil {
			return err
		}
		lines[i] = l
	}
	return b.Patiently(ctx, func() error { return b.log.Append(ctx, durable, lines...) })
}

// Patiently calls write again and again until the disk has space for it, and
// nobody else writes in its place.
func (b *Book) Patiently(ctx context.Context, write func() error) error {
	for {
		err := write()
		if b == nil || !errors.Is(err, signals.ErrDiskFull) && !errors.Is(err, signals.ErrDisplaced) {
			return err
		}
		if b.Delayed != nil {
			if stop := b.Delayed(err); stop != nil {
				return errors.Join(stop, err)
			}
		}
		t := time.NewTimer(writeRetry)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// marked says which code the marker of a record holds, and whether the record
// comes with one.
func (r *Record) marked() (code int, ok bool) {
	switch r.Type {
	case AttemptEnd:
		return r.End.Marker(), !r.End.Retry
	case Blocked:
		return 99, true
	case Skipped:
		return 0, true
	case Overridden:
		return 0, r.How == HowApproved
	}
	return 0, false
}

// derived reports whether the next runner would come to the same, so that the
// record need not wait for the disk.
func (r *Record) derived() bool {
	switch r.Type {
	case Blocked, Unblocked, Skipped, Opened, Granted, Started, Published:
		return true
	}
	return false
}

// Commit makes records durable together with the markers that belong to them:
// each marker is made without a name, so that its record can hold its
// identity; then all records are appended and synced at once; then the markers
// get their names, and a Published record says so. A marker that is there
// already stands: it is a person's.
//
// The order is what makes it crash-only: a record without a marker is put
// right by the next runner, a marker without a record cannot be.
//
// An error that wraps ErrMarker is of markers alone: everything is recorded,
// and the runner puts them back.
func (b *Book) Commit(ctx context.Context, recs ...Record) error {
	published, err := b.Mark(ctx, recs...)
	if err != nil && !errors.Is(err, ErrMarker) {
		return err
	}
	return errors.Join(err, b.Append(ctx, published...))
}

// Mark is Commit without its last step: it returns the Published records, for
// the caller to append together with what it has to record next. A crash in
// between is as one before them.
func (b *Book) Mark(ctx context.Context, recs ...Record) (published []Record, err error) {
	var (
		pending = make([]*signals.Pending, len(recs))
		errs    []error
		durable bool
	)
	for i := range recs {
		r := &recs[i]
		code, ok := r.marked()
		// A marker that a power cut left without its record, and without its
		// content, would be taken for a person's override.
		durable = durable || ok || !r.derived()
		if !ok {
			continue
		}
		// A marker that cannot be made now is one that is missing later: known
		// from its record, it is put back.
		r.Marker = &Written{Code: code}
		p, err := b.prepare(r.Node, code)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pending[i] = p
		r.Marker.Identity = p.Identity()
	}
	if err := b.append(ctx, durable, recs); err != nil {
		for _, p := range pending {
			if p != nil {
				p.Discard()
			}
		}
		return nil, errors.Join(append(errs, err)...)
	}
	for i, p := range pending {
		if p == nil {
			continue
		}
		switch err := p.Publish(); {
		case err == nil:
			published = append(published, Record{Type: Published, Node: recs[i].Node})
		case !errors.Is(err, fs.ErrExist):
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return published, fmt.Errorf("%w: %w", ErrMarker, err)
	}
	return published, nil
}

// ErrMarker means that the records are written, but not the marker of one of them.
var ErrMarker = errors.New("cannot write the marker file of a node's result")
