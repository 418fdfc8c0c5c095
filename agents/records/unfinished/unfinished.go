// Package unfinished hands the text that a member of a room is writing at this moment from
// the member's process to the project's server: in a small file of its own, which is
// replaced at most ten times a second and holds the end of the text.
//
// Nothing depends on it. The server makes the folder and takes it away; without the folder
// nothing is written. A piece that cannot be written, or that nobody reads before the next
// one, is lost: the event with the whole text follows. Nobody waits for the disk.
package unfinished

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cmux/signals"
)

// Folder holds the files, in the folder .cmux of a project. Each has the name of an agent.
const Folder = "live"

const (
	// MaxText is how much of a text is shown: its end, in bytes.
	MaxText = 8 << 10
	// Every is the least time between two pieces.
	Every = 100 * time.Millisecond

	maxHead = 64                // as much of a text's beginning tells it from another
	maxFile = 6*MaxText + 1<<10 // each byte may be escaped
)

// Piece is what an agent has written of a text so far.
type Piece struct {
	Text string `json:"text"`          // its end; empty: it writes nothing
	Cut  bool   `json:"cut,omitempty"` // there is more before it
	// Since is when the text before this one was finished, or the agent's life began. Who
	// knows a text that was finished later knows more than this piece.
	Since time.Time `json:"since"`
}

// Dir is the folder of a project.
func Dir(root string) string { return filepath.Join(root, signals.Folder, Folder) }

// Read reads the file of an agent. An error may mean that it is being replaced.
func Read(path string) (p Piece, err error) {
	b, err := signals.ReadFile(path, maxFile)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	return p, err
}

// Text is what one agent is writing. Its methods may be called from any goroutine, do not
// wait for the disk, and do nothing on a nil Text.
type Text struct {
	path string

	mu    sync.Mutex
	head  string // the beginning
	tail  string // all of it, or at least its last MaxText bytes
	cut   bool
	ended bool // it is complete, and its event is to come
	since time.Time

	changed bool
	next    time.Time   // not before
	timer   *time.Timer // of the next write; nil: none is due or under way
	writes  sync.WaitGroup
	closed  bool
}

// New is the text of an agent in the project at root. What an earlier life of it left is
// taken away. Call Close.
func New(root, name string) *Text {
	t := &Text{path: filepath.Join(Dir(root), name), since: time.Now()}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes()
	return t
}

// Begin says that another text begins.
func (t *Text) Begin() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended { // what is there stays until there is something in its place
		return
	}
	t.clear()
}

// Say adds to the text.
func (t *Text) Say(piece string) {
	if t == nil || piece == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		t.clear()
	}
	if room := maxHead - len(t.head); room > 0 {
		t.head += piece[:min(room, len(piece))]
	}
	if t.tail += piece; len(t.tail) > 2*MaxText {
		t.tail, t.cut = end(t.tail), true
	}
	t.changes()
}

// End says that the text is complete. It stays until its event is there.
func (t *Text) End() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = t.tail != ""
}

// Finished says that there is an event with a whole text. Another one may have begun.
func (t *Text) Finished(text string, at time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.After(t.since) {
		t.since = at
	}
	if t.ended || strings.HasPrefix(strings.TrimSpace(text), strings.TrimSpace(t.head)) {
		t.clear()
	}
	t.changes()
}

// Clear says that nothing is being written any more.
func (t *Text) Clear() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
}

// Close leaves an empty text, and returns when nothing is being written to the disk.
func (t *Text) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.closed = true
	t.clear()
	last := t.changed
	if t.timer != nil && t.timer.Stop() {
		t.writes.Done()
	}
	t.mu.Unlock()
	t.writes.Wait()
	if last {
		t.put(t.piece())
	}
}

// clear needs the lock.
func (t *Text) clear() {
	if t.tail != "" {
		defer t.changes()
	}
	t.head, t.tail, t.cut, t.ended = "", "", false, false
}

// changes plans a write. It needs the lock.
func (t *Text) changes() {
	t.changed = true
	if t.timer != nil || t.closed {
		return
	}
	t.writes.Add(1)
	t.timer = time.AfterFunc(time.Until(t.next), t.write)
}

func (t *Text) write() {
	defer t.writes.Done()
	t.mu.Lock()
	p := t.piece()
	t.changed, t.next = false, time.Now().Add(Every)
	t.mu.Unlock()
	t.put(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = nil
	if t.changed {
		t.changes()
	}
}

// piece needs the lock.
func (t *Text) piece() Piece {
	p := Piece{Text: end(t.tail), Since: t.since}
	p.Cut = t.cut || len(p.Text) < len(t.tail)
	return p
}

// put writes the file. Where it cannot be, the piece is lost.
func (t *Text) put(p Piece) {
	b, err := json.Marshal(p)
	if err == nil {
		_ = signals.PutFile(t.path, b, 0o600)
	}
}

// end is the end of a text, in whole characters.
func end(s string) string {
	from := max(0, len(s)-MaxText)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}
