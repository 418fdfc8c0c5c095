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

// Log appends the events of one attempt. It is safe for concurrent use. A nil Log discards
// events.
type Log struct {
	node    string
	attempt int

	mu   sync.Mutex
	log  *signals.Log // nil: closed
	said string       // the newest text since the last prompt
	err  error        // why the first lost event was lost

	telling sync.Mutex
	also    func(Event)
}

// Also sets a function that gets every event, one at a time. Call it before the first
// event.
func (l *Log) Also(f func(Event)) { l.also = f }

// Open opens the events of a node, at path, for an attempt. Only their owner can read them,
// because they hold what programs print.
func Open(path, node string, attempt int) (*Log, error) {
	log, err := signals.OpenLog(path)
	if err != nil {
		return nil, err
	}
	return &Log{node: node, attempt: attempt, log: log}, nil
}

// Append writes an event. If that fails, the event is lost and Close returns the error: a
// failed write never blocks the agent.
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
	switch e.Kind {
	case Text:
		l.said = e.Text
	case Prompt:
		l.said = ""
	}
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

// Said returns the agent's newest text since its last prompt, or "".
func (l *Log) Said() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said
}

// Close closes the file and returns the error of the first lost event, if any.
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

// Replay passes each event at path, from offset from on, to each, with the offset of the
// next event. It returns where to continue. A missing file has no events. An error of each
// ends the read and is returned.
func Replay(path string, from int64, each func(e Event, next int64) error) (next int64, err error) {
	return Lines(path, from, func(line []byte, next int64) error {
		var e Event
		if json.Unmarshal(line, &e) != nil || e.Kind == "" {
			return nil // not an event
		}
		return each(e, next)
	})
}

// Lines is Replay for the raw lines.
func Lines(path string, from int64, each func(line []byte, next int64) error) (next int64, err error) {
	tail, err := signals.ReadLog(path, from, each)
	if errors.Is(err, fs.ErrNotExist) {
		return from, nil
	}
	return tail.Next, err
}

// slowLook is how often Follow reads the file when no notification comes.
const slowLook = 2 * time.Second

// Follow is Replay that continues with appended events until ctx ends; then it reads what
// is there and returns its offset.
func Follow(ctx context.Context, path string, from int64, each func(e Event, next int64) error) (next int64, err error) {
	// Not the folder: the log in it grows much faster.
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
