package store

import (
	"container/heap"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"cmux/signals"
)

// Bounds of a transaction of Ingest.
const (
	batchRows  = 10_000
	batchBytes = 16 << 20
)

// Ingest reads everything in the project's files that was not ingested yet, in the order of
// its times as far as the lines of a file allow, and returns the number of events. It first
// rebuilds a damaged or missing database.
func (s *Store) Ingest(ctx context.Context) (n int, err error) {
	s.ingest.Lock()
	defer s.ingest.Unlock()
	return s.catchUp(ctx, func() (int, error) { return s.pass(ctx) })
}

// catchUp has pass take in what there is, into another database where this one is
// of no use.
func (s *Store) catchUp(ctx context.Context, pass func() (int, error)) (n int, err error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	for range 3 { // damaged again and again is no damage that goes by rebuilding
		var m int
		m, err = pass()
		n += m
		if err == nil {
			return n, nil
		}
		if !foreign(err) {
			break
		}
		if err := s.reopen(ctx, err); err != nil {
			return n, err
		}
		s.change.tell()
		pass = func() (int, error) { return s.pass(ctx) }
	}
	s.in.close() // what it knows may be ahead of what was written
	s.in = nil
	return n, fmt.Errorf("take events into %s: %w", s.path, explain(err))
}

// errDamage says that what was read of the database makes no sense.
var errDamage = errors.New("parts of it are gone or make no sense")

// ready has the database open that has the name.
func (s *Store) ready(ctx context.Context) error {
	switch there, whole := s.intact(); {
	case s.write != nil && there && (!whole || s.damaged.Load() || !s.complete()):
		if err := s.reopen(ctx, errDamage); err != nil {
			return err
		}
	case s.write != nil && !there:
		s.note(Name + " was removed or replaced: it is rebuilt from the project's files")
		if err := s.reopen(ctx, nil); err != nil {
			return err
		}
	case s.write == nil:
		if err := s.reopen(ctx, nil); err != nil {
			return err
		}
	case s.in == nil:
		in, err := load(ctx, s.write)
		if err != nil && foreign(err) {
			return s.reopen(ctx, err)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", s.path, explain(err))
		}
		s.in = in
		return nil
	default:
		return nil
	}
	s.change.tell()
	return nil
}

// pass looks at every source once.
func (s *Store) pass(ctx context.Context) (n int, err error) {
	what, err := find(filepath.Join(s.root, signals.Folder))
	if err != nil {
		return 0, err
	}
	what.look(s.root)
	if n, err = s.take(ctx, what); err != nil {
		return n, err
	}
	m, err := s.takePages(ctx, what)
	s.what = what
	return n + m, err
}

// passOf looks at the sources at some paths, as long as these are the files that
// they were at the last pass; else at all.
func (s *Store) passOf(ctx context.Context, paths map[string]bool) (n int, err error) {
	if s.what == nil {
		return s.pass(ctx)
	}
	some, ok := s.what.only(paths)
	if !ok {
		return s.pass(ctx)
	}
	before := some.stamps
	some.look(s.root)
	for i := range before {
		if some.stamps[i].inode != before[i].inode {
			return s.pass(ctx)
		}
	}
	return s.take(ctx, some)
}

// take takes in what is new of the sources of a survey.
func (s *Store) take(ctx context.Context, what *survey) (n int, err error) {
	there := make(map[uint64]bool, len(what.sources))
	for _, is := range what.stamps {
		there[is.inode] = true
	}
	var q queue
	defer func() {
		for _, r := range q {
			r.close()
		}
	}()
	crowd := 0
	for i, src := range what.sources {
		if what.stamps[i].inode == 0 {
			continue
		}
		if f := s.in.byPath[src.path]; f != nil && f.seen == what.stamps[i] {
			continue
		}
		r, err := s.reader(ctx, src, there)
		if err != nil {
			if err := s.odd(src, err); err != nil {
				return 0, err
			}
			continue
		}
		if r == nil {
			continue
		}
		// Of many files a small part each is held, and none is kept open.
		if crowd++; crowd > manyFiles {
			r.keep, r.chunk = false, max(4<<10, 64<<20/crowd)
			r.close()
		}
		q = append(q, r)
	}
	if err := s.build(ctx, q); err != nil {
		return 0, err
	}
	if n, err = s.merge(ctx, &q); err != nil {
		return n, err
	}
	return n, s.built(ctx)
}

// manyFiles is how many files are read at once that stay open.
const manyFiles = 128

// odd tells, once, of a source that cannot be read. It returns the error when it
// is none of the source.
func (s *Store) odd(src source, err error) error {
	var file *signals.FileError
	var size *signals.SizeError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errMoved):
		return nil
	case errors.As(err, &file), errors.As(err, &size), errors.Is(err, fs.ErrPermission):
	default:
		return err
	}
	if text := err.Error(); s.in.told[src.path] != text {
		s.in.told[src.path] = text
		s.note(fmt.Sprintf("%s is not taken in: %v", src.path, err))
	}
	return nil
}

// reader is a reader of what is new of a source; nil: there is nothing new.
func (s *Store) reader(ctx context.Context, src source, there map[uint64]bool) (r *reader, err error) {
	name := src.in(s.root)
	f, err := signals.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r == nil {
			f.Close()
		}
	}()
	id, err := signals.Identify(f)
	if err != nil {
		return nil, err
	}
	is := stamp{id.Inode, id.Size, id.MTime}
	sum, ok, err := beginning(f)
	if err != nil {
		return nil, err
	}
	if src.format.whole {
		ok = id.Size > 0
	}
	if !ok {
		return nil, nil
	}
	label, err := s.label(ctx, src.label)
	if err != nil {
		return nil, err
	}
	vouch, err := s.vouch.of(s.root, src)
	if err != nil {
		return nil, err
	}
	r = &reader{source: src, name: name, f: f, size: id.Size, stamp: is, chunk: 256 << 10, keep: true, vouch: vouch}
	r.file, r.changed = s.in.match(src, label, is, sum, f, there)
	r.base = r.offset
	if r.again {
		if r.known, err = s.known(ctx, r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// match returns the file of a source as ingested until now. changed: its row must be
// written again.
func (in *intake) match(src source, label int64, is stamp, sum string, r io.ReaderAt, there map[uint64]bool) (f *file, changed bool) {
	for _, f := range in.byInode[is.inode] {
		if f.first == sum && f.label == label && f.fits(r, is.size) {
			if changed = f.path != src.path; changed { // it was moved
				if in.byPath[f.path] == f {
					delete(in.byPath, f.path)
				}
				f.path = src.path
				in.byPath[f.path] = f
			}
			return f, changed
		}
	}
	old := in.byPath[src.path]
	if old != nil && (old.inode == is.inode || !there[old.inode]) {
		// It was replaced, by a copy perhaps, or cut.
		goesOn := old.first == sum && old.fits(r, is.size)
		if old.inode != is.inode {
			in.byInode[is.inode] = append(in.byInode[is.inode], old)
		}
		old.inode, old.first, old.seen = is.inode, sum, stamp{}
		if !goesOn {
			old.offset, old.length, old.last, old.again = 0, 0, "", true
		}
		return old, true
	}
	f = &file{id: in.newest + 1, path: src.path, label: label, inode: is.inode, first: sum}
	in.add(f)
	return f, true
}

// label is the number of a label.
func (s *Store) label(ctx context.Context, name string) (int64, error) {
	if id, ok := s.in.labels[name]; ok {
		return id, nil
	}
	var n int64
	err := s.within(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		n, err = id(ctx, tx, "labels", s.in.labels, name)
		return err
	})
	return n, err
}

// known are the rows that a file has which is read again, but for those of the
// lines that were read again already.
func (s *Store) known(ctx context.Context, r *reader) (counts, error) {
	all := counts{}
	err := each(ctx, s.write, "select body from events where label = ? and file = ?", func(rows *sql.Rows) error {
		var body sql.RawBytes
		err := rows.Scan(&body)
		all.add(body)
		return err
	}, r.label, r.id)
	if err != nil || r.offset == 0 {
		return all, err
	}
	before := &reader{file: &file{}, source: r.source, name: r.name, stamp: r.stamp, size: r.offset, chunk: r.chunk}
	for {
		ok, err := before.advance()
		if err != nil || !ok {
			return all, err
		}
		all.take(before.pending.body)
	}
}

// within runs f in a transaction, which is short: what ends ctx does not end it.
// The driver starts a goroutine a statement for a context that may end.
func (s *Store) within(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	ctx = context.WithoutCancel(ctx)
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// queue is a heap of readers with a pending row, the oldest first.
type queue []*reader

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(r any)        { *q = append(*q, r.(*reader)) }
func (q *queue) Pop() any {
	old := *q
	r := old[len(old)-1]
	*q = old[:len(old)-1]
	return r
}

// merge takes in the rows of all readers.
func (s *Store) merge(ctx context.Context, q *queue) (n int, err error) {
	var done []*reader // read to their end, and not written down yet
	kept := (*q)[:0]
	for _, r := range *q {
		ok, err := s.next(r)
		if err != nil {
			return 0, err
		}
		if ok {
			kept = append(kept, r)
		} else {
			done = append(done, r)
		}
	}
	*q = kept
	heap.Init(q)
	for len(*q) > 0 || len(done) > 0 {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		m, err := s.batch(ctx, q, &done)
		if err != nil {
			return n, err
		}
		n += m
	}
	return n, nil
}

// next advances a reader.
func (s *Store) next(r *reader) (bool, error) {
	ok, err := r.advance()
	if err != nil {
		if err := s.odd(r.source, err); err != nil {
			return false, err
		}
	}
	if ok {
		return true, nil
	}
	r.close()
	if err == nil {
		if r.again {
			r.again, r.changed = false, true
		}
		if r.offset == r.size || r.source.format.whole {
			r.seen = r.stamp
		}
	}
	return false, nil
}

// batch writes the next rows and how far their files were read.
func (s *Store) batch(ctx context.Context, q *queue, done *[]*reader) (n int, err error) {
	touched := map[*reader]bool{}
	for _, r := range *done {
		if r.changed {
			touched[r] = true
		}
	}
	*done = nil
	if len(*q) == 0 && len(touched) == 0 {
		return 0, nil
	}
	in := s.in
	head := in.head
	err = s.within(ctx, func(ctx context.Context, tx *sql.Tx) error {
		w := writer{ctx: ctx, in: in, event: tx.StmtContext(ctx, in.event), said: tx.StmtContext(ctx, in.said), message: tx.StmtContext(ctx, in.message), tx: tx}
		for size := 0; n < batchRows && size < batchBytes && len(*q) > 0; {
			r := (*q)[0]
			size += len(r.pending.body)
			is, err := w.put(r.label, r.id, &r.pending)
			if err != nil {
				return err
			}
			if is {
				n++
			}
			touched[r] = true
			r.passed()
			ok, err := s.next(r)
			switch {
			case err != nil:
				return err
			case ok:
				heap.Fix(q, 0)
			default:
				heap.Pop(q)
			}
		}
		update := tx.StmtContext(ctx, in.update)
		for r := range touched {
			if _, err := update.ExecContext(ctx, r.id, r.path, r.label, int64(r.inode), r.first, r.offset, r.length, r.last, r.again); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		in.head = head
		return 0, err
	}
	for r := range touched {
		r.changed = false
	}
	if in.head != head {
		s.head.Store(in.head)
		s.change.tell()
	}
	return n, nil
}

// writer puts rows into a transaction.
type writer struct {
	ctx                  context.Context
	in                   *intake
	tx                   *sql.Tx
	event, said, message *sql.Stmt
}

// put writes a row, unless it is a message that is known. It reports whether it
// did.
func (w *writer) put(label, file int64, r *row) (bool, error) {
	if r.once {
		res, err := w.message.ExecContext(w.ctx, r.name)
		if err != nil {
			return false, err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return false, err
		}
	}
	kind, err := id(w.ctx, w.tx, "kinds", w.in.kinds, r.kind)
	if err != nil {
		return false, err
	}
	seq := w.in.head + 1
	if _, err := w.event.ExecContext(w.ctx, seq, r.at, label, file, kind, r.foreign, r.name, string(r.body)); err != nil {
		return false, err
	}
	if r.said != "" {
		if _, err := w.said.ExecContext(w.ctx, seq, r.said); err != nil {
			return false, err
		}
	}
	w.in.head = seq
	return true, nil
}
