package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"cmux/agents/far"
	"cmux/signals"
)

// bell wakes all who wait for a change.
type bell struct {
	mu sync.Mutex
	c  chan struct{}
}

// wait returns a channel that the next ring closes.
func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

// journal is one direction of an attempt's journal, as a file.
type journal struct {
	path string
	news bell

	mu   sync.Mutex // of the file's end and of what the owner derives from it
	last uint64
	safe uint64          // entries up to this number are durable
	ids  map[string]bool // of entries with an ID
	took func(*far.Entry)
}

// openJournal reads the journal at path, if it is there. took gets each entry, old or
// new, in order.
func openJournal(path string, took func(*far.Entry)) (*journal, error) {
	j := &journal{path: path, took: took}
	return j, j.load()
}

// load reads the file from the beginning.
func (j *journal) load() error {
	j.last, j.ids = 0, make(map[string]bool)
	_, err := j.each(0, func(e *far.Entry, _ int64) error {
		j.take(e)
		return nil
	})
	j.safe = j.last
	return err
}

func (j *journal) take(e *far.Entry) {
	j.last = max(j.last, e.Seq)
	if e.ID != "" {
		j.ids[e.ID] = true
	}
	if j.took != nil {
		j.took(e)
	}
}

// each calls f with each entry from offset from on, and with the offset behind it. It
// returns the offset behind the last.
func (j *journal) each(from int64, f func(e *far.Entry, next int64) error) (int64, error) {
	tail, err := signals.ReadLog(j.path, from, func(line []byte, next int64) error {
		e := new(far.Entry)
		if err := json.Unmarshal(line, e); err != nil {
			return fmt.Errorf("%s, before byte %d: %w", j.path, next, err)
		}
		return f(e, next)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return from, nil
	}
	return tail.Next, err
}

// put appends entries of home that are not there yet.
func (j *journal) put(ctx context.Context, entries []far.Entry) error {
	return j.append(ctx, func() ([]far.Entry, error) {
		var missing []far.Entry
		seen := make(map[string]bool)
		for _, e := range entries {
			if e.ID == "" {
				return nil, fmt.Errorf("an entry %q of home has no id", e.Kind)
			}
			if !j.ids[e.ID] && !seen[e.ID] {
				seen[e.ID] = true
				missing = append(missing, e)
			}
		}
		return missing, nil
	})
}

// number appends entries of this machine with the next numbers.
func (j *journal) number(ctx context.Context, entries ...far.Entry) error {
	return j.append(ctx, func() ([]far.Entry, error) {
		for i := range entries {
			entries[i].Seq, entries[i].At = j.last+uint64(i)+1, time.Now()
		}
		return entries, nil
	})
}

func (j *journal) append(ctx context.Context, make func() ([]far.Entry, error)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries, err := make()
	if err != nil || len(entries) == 0 {
		return err
	}
	lines := [][]byte(nil)
	for i := range entries {
		b, err := json.Marshal(&entries[i])
		if err != nil {
			return err
		}
		lines = append(lines, b)
	}
	log, err := signals.OpenLog(j.path)
	if err != nil {
		return err
	}
	defer log.Close()
	for i, line := range lines { // one at a time: what is on the disk is then known after an error
		if err := log.Append(ctx, i == len(lines)-1, line); err != nil {
			j.news.ring()
			return err
		}
		j.take(&entries[i])
	}
	j.safe = j.last
	j.news.ring()
	return nil
}

// durable returns the number up to which entries are durable.
func (j *journal) durable() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.safe
}

// known reports whether an entry with this ID is in the journal.
func (j *journal) known(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ids[id]
}
