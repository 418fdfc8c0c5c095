package schedule

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"cmux/agents/records/ledger"
)

// ErrNone says that there is no such entry.
var ErrNone = errors.New("there is no such entry")

// Book is the schedule of a project. It may be used by several goroutines, and
// several processes may each have one.
type Book struct {
	*ledger.Book[*List]
	now func() time.Time
}

// OpenBook is the schedule of the project at root. It needs no file; write says that
// the person's key is made where they have none.
func OpenBook(root string, now func() time.Time, write bool) (*Book, error) {
	b, err := ledger.Open(root, ledger.Format[*List]{Name: "schedule", Place: "schedule", New: func() *List { return new(List) }, Copy: (*List).Copy, Short: (*List).short}, write)
	if err != nil {
		return nil, err
	}
	return &Book{b, now}, nil
}

// change makes the change that f decides on, if any, and writes it.
func (b *Book) change(ctx context.Context, f func(l *List, now time.Time) (*line, error)) (*List, string, error) {
	return b.Change(ctx, func(l *List) ([][]byte, error) {
		n, err := f(l, b.now().UTC().Truncate(time.Millisecond))
		if err != nil || n == nil {
			return nil, err
		}
		if err := l.step(n); err != nil {
			return nil, err
		}
		line, err := ledger.Encode(n)
		return [][]byte{line}, err
	})
}

// Add adds an entry, gives it an id and returns it as it stands. aside names the file
// that was saved aside because it held lines that do not count.
func (b *Book) Add(ctx context.Context, e Entry) (s *State, aside string, err error) {
	if err := e.Check(); err != nil {
		return nil, "", err
	}
	l, aside, err := b.change(ctx, func(l *List, now time.Time) (*line, error) {
		if len(l.entries) >= MaxEntries {
			return nil, fmt.Errorf("there are %d entries, and that is the most: remove some", MaxEntries)
		}
		e.ID, e.Added = "s"+strconv.Itoa(l.most+1), now
		return &line{Add: &e}, nil
	})
	if err != nil {
		return nil, aside, err
	}
	return l.Get(e.ID), aside, nil
}

// Remove removes an entry. may says of one whether its caller may.
func (b *Book) Remove(ctx context.Context, id, by string, may func(*State) error) (aside string, err error) {
	_, aside, err = b.change(ctx, func(l *List, now time.Time) (*line, error) {
		s := l.Get(id)
		if s == nil {
			return nil, ErrNone
		}
		if err := may(s); err != nil {
			return nil, err
		}
		return &line{Remove: id, By: by, At: now.Format(time.RFC3339)}, nil
	})
	return aside, err
}

// Record writes down that due times were seen to. One of an entry that is gone, or
// that is known to be seen to, is left out.
func (b *Book) Record(ctx context.Context, id string, f Fired) (aside string, err error) {
	_, aside, err = b.change(ctx, func(l *List, now time.Time) (*line, error) {
		s := l.Get(id)
		if s == nil || !f.Extra && s.knows(f.Due) {
			return nil, nil
		}
		f.At = now
		return &line{Of: id, Fired: &f}, nil
	})
	return aside, err
}

func (s *State) knows(due time.Time) bool {
	for _, d := range s.dues {
		if d.Equal(due) {
			return true
		}
	}
	return false
}

// Mark returns the mark of a due time. The same entry and time always have the same
// mark, and nobody without the key can compute it.
func (b *Book) Mark(f *Firing) (string, error) {
	return b.Book.Mark(map[string]any{"entry": f.Entry.ID, "added": f.Entry.Added.UTC(), "due": f.Due.UTC()})
}
