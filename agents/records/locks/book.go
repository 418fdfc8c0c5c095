package locks

import (
	"context"
	"time"

	"cmux/agents/records/ledger"
)

// Name is the name of the file, in the folder .cmux.
const Name = "locks.jsonl"

// Book holds the locks of a project. It is safe for concurrent use, and several processes
// may each have one.
type Book struct {
	*ledger.Book[*List]
	live Live
	now  func() time.Time
}

// OpenBook opens the locks of the project at root; the file need not exist. write: create
// the person's key if there is none.
func OpenBook(root string, live Live, now func() time.Time, write bool) (*Book, error) {
	b, err := ledger.Open(root, ledger.Format[*List]{Name: "locks", Place: "locks", New: func() *List { return new(List) }, Copy: (*List).copy, Short: (*List).short}, write)
	if err != nil {
		return nil, err
	}
	return &Book{b, live, now}, nil
}

func (b *Book) change(ctx context.Context, f func(l *List, now time.Time) ([]line, error)) (aside string, err error) {
	_, aside, err = b.Book.Change(ctx, func(l *List) ([][]byte, error) {
		all, err := f(l, b.now().UTC().Truncate(time.Millisecond))
		if err != nil {
			return nil, err
		}
		var lines [][]byte
		for i := range all {
			all[i].N = l.most + 1 + i
			one, err := ledger.Encode(&all[i])
			if err != nil {
				return nil, err
			}
			lines = append(lines, one)
		}
		return lines, nil
	})
	return aside, err
}

// Want asks for a lock. got: the holder has it now; else it waits in line. If the wish does
// not allow waiting, the error is a *HeldError.
func (b *Book) Want(ctx context.Context, w Wish) (got bool, aside string, err error) {
	aside, err = b.change(ctx, func(l *List, now time.Time) (lines []line, err error) {
		lines, got, err = l.want(w, b.live, now)
		return lines, err
	})
	return got && err == nil, aside, err
}

// Leave removes a holder from the line.
func (b *Book) Leave(ctx context.Context, name string, h Holder) error {
	_, err := b.change(ctx, func(l *List, now time.Time) ([]line, error) { return l.leave(name, h, now), nil })
	return err
}

// Release releases a lock. force: also one held by somebody else.
func (b *Book) Release(ctx context.Context, name string, by Holder, force bool) (aside string, err error) {
	return b.change(ctx, func(l *List, now time.Time) ([]line, error) { return l.release(name, by, force, b.live, now) })
}
