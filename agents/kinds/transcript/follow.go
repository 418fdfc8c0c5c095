package transcript

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmux/agents/records/event"
	"cmux/dag"
)

// Follower reads a growing transcript of Claude Code, and those of its
// sub-agents beside it. It is for one goroutine.
//
// All it knows comes from the files: after a crash, a Follower made with the
// last Offset counts the same usage again and repeats no event.
type Follower struct {
	path  string
	quiet int64 // events before this offset were given out before
	main  tail
	subs  map[string]*tail
	seen  map[string]dag.Usage // by message id
	total dag.Usage
	fills Context
	signs []Sign
}

// NewFollower follows the transcript at path, which need not exist yet. Events
// of lines that end at or before offset from are not given out again.
func NewFollower(path string, from int64) *Follower {
	return &Follower{path: path, quiet: from, subs: make(map[string]*tail), seen: make(map[string]dag.Usage)}
}

// Switch follows another transcript from now on, that of the conversation in
// which the same agent goes on. Usage goes on too; a message that both hold
// counts once.
func (f *Follower) Switch(path string) {
	f.path, f.quiet, f.main, f.subs = path, 0, tail{}, make(map[string]*tail)
	f.fills.Tokens = 0
}

// Context is what the conversation held at the last Read.
func (f *Follower) Context() Context { return f.fills }

// Usage is what was used up to the last Read, sub-agents included.
func (f *Follower) Usage() dag.Usage { return f.total }

// Signs are those that were read since they were last asked for, of earlier
// attempts in the conversation too: At tells.
func (f *Follower) Signs() []Sign {
	signs := f.signs
	f.signs = nil
	return signs
}

// Offset is where the last whole line that was read ends.
func (f *Follower) Offset() int64 { return f.main.offset }

// Read takes in what was appended since the last Read and returns the events
// in it. A line without its end is left for the next time. Lines that cannot
// be read are passed over. The events that came before an error are returned
// with it.
func (f *Follower) Read() ([]event.Event, error) {
	var events []event.Event
	err := f.main.read(f.path, func(b []byte, end int64) {
		line, err := ParseLine(b)
		if err != nil {
			return
		}
		f.count(line)
		if c := line.Context; c != nil {
			f.fills = Context{c.Tokens, cmp.Or(c.Model, f.fills.Model)}
		}
		f.signs = append(f.signs, line.Signs...)
		if end > f.quiet {
			events = append(events, line.Events...)
		}
	})
	return events, errors.Join(err, f.readSubs())
}

// readSubs counts what sub-agents used; what they say stays with them.
func (f *Follower) readSubs() error {
	dir := filepath.Join(strings.TrimSuffix(f.path, filepath.Ext(f.path)), "subagents")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".jsonl" || !e.Type().IsRegular() {
			continue
		}
		t := f.subs[e.Name()]
		if t == nil {
			t = new(tail)
			f.subs[e.Name()] = t
		}
		errs = append(errs, t.read(filepath.Join(dir, e.Name()), func(b []byte, _ int64) {
			if line, err := ParseLine(b); err == nil {
				f.count(line)
				for _, sign := range line.Signs {
					sign.Sub = true
					f.signs = append(f.signs, sign)
				}
			}
		}))
	}
	return errors.Join(errs...)
}

// Count takes in what a message used, which the file may not hold yet. What the file says
// about the message later adds only what is more.
func (f *Follower) Count(message string, used dag.Usage) {
	if message != "" {
		f.count(Line{Message: message, Usage: used})
	}
}

// count takes a message's usage in once, however many lines repeat it.
func (f *Follower) count(l Line) {
	if l.Message == "" {
		f.total = f.total.Plus(l.Usage)
		return
	}
	old := f.seen[l.Message]
	// What a program writes while a message still grows never shrinks the count.
	now := old.AtLeast(l.Usage)
	f.seen[l.Message] = now
	f.total = f.total.Plus(now.Beyond(old))
}

// tail is how far a file was read.
type tail struct {
	offset  int64  // end of the last whole line
	partial []byte // what was read behind it
}

const chunk = 64 << 10

// read gives each whole line to take, with the offset of its end. A file that
// is shorter than what was read of it is another file, and read from its start.
func (t *tail) read(path string, take func(line []byte, end int64)) (err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < t.offset+int64(len(t.partial)) {
		*t = tail{}
	}
	buf := make([]byte, chunk)
	for {
		n, err := file.ReadAt(buf, t.offset+int64(len(t.partial)))
		searched := len(t.partial)
		t.partial = append(t.partial, buf[:n]...)
		done := 0
		for {
			i := bytes.IndexByte(t.partial[max(searched, done):], '\n')
			if i < 0 {
				break
			}
			end := max(searched, done) + i + 1
			if line := bytes.TrimSpace(t.partial[done:end]); len(line) > 0 {
				take(line, t.offset+int64(end))
			}
			done = end
		}
		t.offset += int64(done)
		t.partial = append(t.partial[:0], t.partial[done:]...)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
