package watchdog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"cmux/agents/records/ledger"
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

	// Of a file that was shortened, at its beginning: how many lines follow that say
	// what was, and these.
	Base Phase = "base"
	Last Phase = "last" // the last action about an agent that took place
	Open Phase = "open" // an Intent without an end
)

// Line is a line of .cmux/watch.jsonl.
type Line struct {
	ID    string        `json:"id"`
	Phase Phase         `json:"phase"`
	At    time.Time     `json:"at"`
	Why   string        `json:"why,omitempty"`
	Clock time.Duration `json:"clock,omitempty"`  // Intent: watch.State.Clock, in nanoseconds; Base: of the newest action before
	IDs   []string      `json:"ids,omitempty"`    // Base: of the actions of that moment
	Lines int           `json:"lines,omitempty"`  // Base
	Act   *watch.Action `json:"action,omitempty"` // Intent
	Seen  *watch.Seen   `json:"seen,omitempty"`   // Intent: of the agent, after the action; Failed: where nothing was done
}

// list is the fold of the lines: what is pending, and the last action about each
// agent that took place.
type list struct {
	pending map[string]Line
	last    map[string]Line          // by agent
	ids     map[string]time.Duration // of all actions that are known, and the clock of each
	before  time.Duration            // an action of an earlier clock is a copy of one that is known no more
	left    int                      // lines that are to come after a Base
	begun   bool                     // a line was taken
	bad     int
}

func newList() *list {
	return &list{pending: map[string]Line{}, last: map[string]Line{}, ids: map[string]time.Duration{}}
}

func (l *list) copy() *list {
	c := *l
	c.pending, c.last, c.ids = maps.Clone(l.pending), maps.Clone(l.last), maps.Clone(l.ids)
	return &c
}

// short are the lines that come to the list again. What took place longest ago is
// known by its time alone. That is never the time of an action under way: where it
// is dropped, the clock of the watch goes on from the last one that took place, and
// what is decided then must not pass for a copy.
func (l *list) short() (lines [][]byte, err error) {
	base := Line{ID: string(Base), Phase: Base, Clock: l.before}
	for _, line := range l.last {
		base.Clock = max(base.Clock, line.Clock)
	}
	for _, id := range slices.Sorted(maps.Keys(l.ids)) {
		if l.ids[id] >= base.Clock {
			base.IDs = append(base.IDs, id)
		}
	}
	all := []Line{base}
	for _, line := range byClock(l.last) {
		line.Phase = Last
		all = append(all, line)
	}
	for _, line := range byClock(l.pending) {
		line.Phase = Open
		all = append(all, line)
	}
	all[0].Lines = len(all) - 1
	for _, line := range all {
		text, err := ledger.Encode(line)
		if err != nil {
			return nil, err
		}
		lines = append(lines, text)
	}
	return lines, nil
}

// keep folds in a line of those that a file begins with which was shortened.
func (l *list) keep(line Line) error {
	switch {
	case line.Phase == Base && l.begun, line.Phase != Base && l.left == 0:
		return fmt.Errorf("%w: it belongs to the beginning of the file", ledger.ErrCopy)
	case line.Phase == Base:
		l.before, l.left = line.Clock, max(0, line.Lines)
		for _, id := range line.IDs {
			l.ids[id] = line.Clock
		}
		return nil
	case line.Act == nil || line.Seen == nil:
		return errors.New("it is no action")
	}
	l.left--
	if line.Phase == Last {
		l.last[line.Act.Agent] = line
	} else {
		line.Phase = Intent
		l.ids[line.ID], l.pending[line.ID] = line.Clock, line
	}
	return nil
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
	defer func() { l.begun = true }()
	if line.Phase == Base || line.Phase == Last || line.Phase == Open {
		return l.keep(line)
	}
	l.left = 0
	switch was, pending := l.pending[line.ID]; {
	case line.Phase == Intent:
		if _, known := l.ids[line.ID]; known || line.Clock < l.before {
			return ledger.ErrCopy
		}
		if line.Act == nil || line.Seen == nil || line.Act.ID != line.ID {
			return errors.New("it is no action")
		}
		l.ids[line.ID], l.pending[line.ID] = line.Clock, line
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
	b, err := ledger.Open(root, ledger.Format[*list]{Name: "watch", Place: "watch", New: newList, Copy: (*list).copy, Short: (*list).short}, true)
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
