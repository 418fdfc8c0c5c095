package watchdog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"cmux/agents/ledger"
	"cmux/server/watch"
)

// Phase says what a line of the log is about an action.
type Phase string

// The phases. An action whose last line is Intent may have been taken or not.
const (
	Intent  Phase = "intent"
	Done    Phase = "done"
	Failed  Phase = "failed"  // it was tried, and Why says what was in the way
	Dropped Phase = "dropped" // nothing of it took place
)

// Line is a line of .cmux/watch.jsonl.
type Line struct {
	ID    string        `json:"id"`
	Phase Phase         `json:"phase"`
	At    time.Time     `json:"at"`
	Why   string        `json:"why,omitempty"`
	Clock time.Duration `json:"clock,omitempty"`  // Intent: watch.State.Clock, in nanoseconds
	Act   *watch.Action `json:"action,omitempty"` // Intent
	Seen  *watch.Seen   `json:"seen,omitempty"`   // Intent: of the agent, after the action; Failed: where nothing was done
}

// list is the fold of the lines: what is pending, and the last action about each
// agent that took place.
type list struct {
	pending map[string]Line
	last    map[string]Line // by agent
	ids     map[string]bool
	bad     int
}

func newList() *list {
	return &list{pending: map[string]Line{}, last: map[string]Line{}, ids: map[string]bool{}}
}

func (l *list) copy() *list {
	return &list{maps.Clone(l.pending), maps.Clone(l.last), maps.Clone(l.ids), l.bad}
}

// Take folds in a line of the file.
func (l *list) Take(text []byte) error {
	var line Line
	if err := json.Unmarshal(text, &line); err != nil {
		return errors.New("it is no line of the watch")
	}
	return l.put(line)
}

func (l *list) put(line Line) error {
	switch was, pending := l.pending[line.ID]; {
	case line.Phase == Intent:
		if l.ids[line.ID] {
			return ledger.ErrCopy
		}
		if line.Act == nil || line.Seen == nil || line.Act.ID != line.ID {
			return errors.New("it is no action")
		}
		l.ids[line.ID], l.pending[line.ID] = true, line
	case !pending:
		return fmt.Errorf("%w: its action is not under way", ledger.ErrCopy)
	default:
		delete(l.pending, line.ID)
		if line.Phase == Dropped {
			delete(l.ids, line.ID) // it may be decided again as it was
			break
		}
		if line.Seen != nil {
			was.Seen = line.Seen
		}
		l.last[was.Act.Agent] = was
	}
	return nil
}

// Skip takes note of a line that does not count.
func (l *list) Skip(ledger.Bad, []byte) { l.bad++ }

// state is what is left of the watch's state when only the log is.
func (l *list) state() (s watch.State) {
	for _, line := range byClock(l.last) {
		s = s.Restore(line.Act.Agent, *line.Seen, line.Clock, line.At)
	}
	return s
}

func byClock(m map[string]Line) []Line {
	return slices.SortedFunc(maps.Values(m), func(a, b Line) int { return int(a.Clock - b.Clock) })
}

// book is the log.
type book struct{ *ledger.Book[*list] }

func openBook(root string) (*book, error) {
	b, err := ledger.Open(root, ledger.Format[*list]{Name: "watch", Place: "watch", New: newList, Copy: (*list).copy}, true)
	return &book{b}, err
}

// write appends a line. One that is there already is not written again.
func (b *book) write(ctx context.Context, line Line) error {
	_, _, err := b.Change(ctx, func(l *list) ([][]byte, error) {
		if err := l.put(line); err != nil {
			return nil, err
		}
		text, err := ledger.Encode(line)
		return [][]byte{text}, err
	})
	return err
}
