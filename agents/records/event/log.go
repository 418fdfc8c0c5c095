package event

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"sync"
	"time"

	"cmux/signals"
)

// Log appends the events of one attempt. It may be used by several goroutines.
// A nil Log keeps nothing.
type Log struct {
	node    string
	attempt int

	mu  sync.Mutex
	log *signals.Log // nil: closed
	err error        // the first event that was lost

	telling sync.Mutex
	also    func(Event)
}

// Also has f told of every event, one after the other. It is set before the
// first.
func (l *Log) Also(f func(Event)) { l.also = f }

// Open opens the events of a node, at path, for an attempt. They hold what
// programs print and are for their owner alone.
func Open(path, node string, attempt int) (*Log, error) {
	log, err := signals.OpenLog(path)
	if err != nil {
		return nil, err
	}
	return &Log{node: node, attempt: attempt, log: log}, nil
}

// Append writes an event. One that cannot be written is lost, which Close
// tells: what an agent does is not held up for its account.
func (l *Log) Append(e Event) {
	if l == nil {
		return
	}
	e.Node, e.Attempt = l.node, l.attempt
	if e.At.IsZero() {
		e.At = time.Now()
	}
	if l.also != nil {
		defer func() {
			l.telling.Lock()
			defer l.telling.Unlock()
			l.also(e)
		}()
	}
	line, err := json.Marshal(e.bounded())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return
	}
	if err == nil {
		err = l.log.Append(context.Background(), false, line)
	}
	if err != nil && l.err == nil {
		l.err = err
	}
}

// Close closes the file and returns why an event was lost, if one was.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return nil
	}
	err := errors.Join(l.err, l.log.Close())
	l.log = nil
	return err
}

// Replay gives each event at path that stands at offset from or behind it, with
// the offset that follows it, and returns where to read on. Events that are not
// there yet are none. An error of each ends the reading and is returned.
func Replay(path string, from int64, each func(e Event, next int64) error) (next int64, err error) {
	return Lines(path, from, func(line []byte, next int64) error {
		var e Event
		if json.Unmarshal(line, &e) != nil || e.Kind == "" {
			return nil // it is no event of ours
		}
		return each(e, next)
	})
}

// Lines is Replay of the lines themselves.
func Lines(path string, from int64, each func(line []byte, next int64) error) (next int64, err error) {
	tail, err := signals.ReadLog(path, from, each)
	if errors.Is(err, fs.ErrNotExist) {
		return from, nil
	}
	return tail.Next, err
}

// slowLook is how often a file is looked at when nothing tells of a change.
const slowLook = 2 * time.Second

// Follow is Replay that goes on with what is appended, until ctx ends and what
// was there at that moment is read. It returns where it ended.
func Follow(ctx context.Context, path string, from int64, each func(e Event, next int64) error) (next int64, err error) {
	// Not the folder: the log beside grows much faster.
	w := signals.Watch(ctx, path)
	defer w.Close()
	tick := time.NewTicker(slowLook)
	defer tick.Stop()
	changes := w.C
	for next = from; ; {
		over := ctx.Err() != nil
		if next, err = Replay(path, next, each); err != nil || over {
			return next, err
		}
		select {
		case _, ok := <-changes:
			if !ok {
				changes = nil
			}
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
