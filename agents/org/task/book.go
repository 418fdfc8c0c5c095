package task

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"time"

	"cmux/agents/records/ledger"
)

// Name is that of the file, in the folder .cmux.
const Name = "tasks.jsonl"

// Bad is a line of the file that does not count.
type Bad = ledger.Bad

// ErrForeign says that nothing in the file counts.
var ErrForeign = ledger.ErrForeign

// Book is the tasks of a project. It may be used by several goroutines, and
// several processes may each have one.
type Book struct {
	*ledger.Book[*List]
	now func() time.Time
}

// OpenBook is the book of the project at root. It needs no file; write says that the
// person's key is made where they have none.
func OpenBook(root string, now func() time.Time, write bool) (*Book, error) {
	b, err := ledger.Open(root, ledger.Format[*List]{Name: "tasks", Place: "task", New: func() *List { return new(List) }, Copy: (*List).copy}, write)
	if err != nil {
		return nil, err
	}
	return &Book{b, now}, nil
}

// copy is a list that goes on by itself.
func (l *List) copy() *List {
	c := *l
	c.tasks = maps.Clone(l.tasks)
	c.order, c.log, c.Bad, c.Gaps = l.order[:len(l.order):len(l.order)], l.log[:len(l.log):len(l.log)], l.Bad[:len(l.Bad):len(l.Bad)], l.Gaps[:len(l.Gaps):len(l.Gaps)]
	return &c
}

// idIn finds the id in what is left of a line, so that it is not given again.
var idIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"task":"t([0-9]{1,9})"`) })

// Skip takes note of a line that does not count.
func (l *List) Skip(bad Bad, line []byte) {
	l.Bad = append(l.Bad, bad)
	l.most = ledger.PastBad(l.most, idIn(), line)
}

// Change writes what f makes of the tasks as they are now, all of it or nothing,
// durably. The changes are made to the list in their order, so that each may
// build on the one before; their time is filled in. It returns the list after
// them, and the name of the file that was saved aside when it held lines that do
// not count; empty: it held none.
func (b *Book) Change(ctx context.Context, f func(*List) ([]Change, error)) (list *List, aside string, err error) {
	return b.Book.Change(ctx, func(l *List) ([][]byte, error) {
		changes, err := f(l)
		if err != nil {
			return nil, err
		}
		return b.lines(l, changes)
	})
}

// lines makes the changes to a list and returns them as they are written.
func (b *Book) lines(list *List, changes []Change) (lines [][]byte, err error) {
	for _, c := range changes {
		c.At = b.now().UTC().Truncate(time.Millisecond)
		if err := list.Step(c); err != nil {
			return nil, err
		}
		line, err := ledger.Encode(&c)
		if err != nil {
			return nil, err
		}
		if _, err := parse(line); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Task, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}
