package run

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"cmux/signals"
)

// Book appends to the records of a run. It may be used by several goroutines,
// and several processes may each have one.
type Book struct {
	run *Run
	log *signals.Log
}

// OpenBook opens the records of r for appending.
func (r *Run) OpenBook() (*Book, error) {
	l, err := signals.OpenLog(r.Records())
	if err != nil {
		return nil, err
	}
	return &Book{run: r, log: l}, nil
}

// Close closes the file.
func (b *Book) Close() error { return b.log.Close() }

// Append writes records in one write. It does not wait for the disk: what it
// wrote outlives this process, though not a power cut.
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
	return b.log.Append(ctx, durable, lines...)
}

// marked says which code the marker of a record holds, and whether the record
// comes with one.
func (r *Record) marked() (code int, ok bool) {
	switch r.Type {
	case AttemptEnd:
		return r.End.Marker(), !r.End.Retry
	case Blocked:
		return 99, true
	case Overridden:
		return 0, r.How == HowApproved
	}
	return 0, false
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
// An error that leaves the records written (a marker that could not be made,
// a full disk) is returned after everything else was done.
func (b *Book) Commit(ctx context.Context, recs ...Record) error {
	var (
		pending = make([]*signals.Pending, len(recs))
		errs    []error
		durable bool
	)
	for i := range recs {
		r := &recs[i]
		code, ok := r.marked()
		// A blocked node's 99 is derived again from the others, so it need not
		// wait for the disk.
		durable = durable || r.Type != Blocked
		if !ok {
			continue
		}
		p, err := signals.Prepare(b.run.Signals(), r.Node, code)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pending[i] = p
		r.Marker = &Written{Code: code, Identity: p.Identity()}
	}
	if err := b.append(ctx, durable, recs); err != nil {
		for _, p := range pending {
			if p != nil {
				p.Discard()
			}
		}
		return errors.Join(append(errs, err)...)
	}
	var published []Record
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
	return errors.Join(append(errs, b.append(ctx, false, published))...)
}
