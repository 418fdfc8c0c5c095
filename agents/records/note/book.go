package note

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/records/ledger"
	"cmux/signals"
)

var (
	// ErrNone means that there is no note with that id.
	ErrNone = errors.New("there is no such note")
	// ErrForgotten means that a note was forgotten, or that a text was.
	ErrForgotten = errors.New("it was forgotten")
	// ErrPromoted means that a note is in MEMORY.md now.
	ErrPromoted = errors.New("it was moved into MEMORY.md")
	// ErrKnown means that a text is that of another note.
	ErrKnown = errors.New("there is such a note already")
	// ErrRead means that a range was learned from meanwhile.
	ErrRead = errors.New("these messages were learned from already")
)

// Book holds the notes of a project. It is safe for concurrent use, and several processes may
// each have one.
type Book struct {
	file *ledger.Book[*List]
	now  func() time.Time
}

// OpenBook opens the book of the project at root; the file need not exist. write: create the
// person's key if there is none.
func OpenBook(root string, now func() time.Time, write bool) (*Book, error) {
	b, err := ledger.Open(root, ledger.Format[*List]{Name: strings.TrimSuffix(Name, ".jsonl"), Place: "memory", New: func() *List { return new(List) }, Copy: (*List).copy}, write)
	if err != nil {
		return nil, err
	}
	return &Book{b, now}, nil
}

// Path returns the path of the file.
func (b *Book) Path() string { return b.file.Path() }

// List returns the notes as the file is now.
func (b *Book) List() (*List, error) { return b.file.List() }

// change writes lines that f makes of the list as it is now, all of them or none. It returns the
// list with them, and the name of the saved file if the old one held lines that do not count.
func (b *Book) change(ctx context.Context, f func(*List) ([]*Line, error)) (*List, string, error) {
	return b.file.Change(ctx, func(l *List) (out [][]byte, err error) {
		lines, err := f(l)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			line.N, line.At = l.n+1, b.now().UTC().Truncate(time.Millisecond)
			if err := line.check(); err != nil {
				return nil, err
			}
			text, err := ledger.Encode(line)
			if err != nil {
				return nil, err
			}
			l.put(line)
			out = append(out, text)
		}
		return out, nil
	})
}

// mark names a text by its words.
func (b *Book) mark(text string) (string, error) {
	return b.file.Mark(map[string]string{"words": marked(text)})
}

// learn makes the line that learns a note. If its text is known, the error is ErrKnown or
// ErrForgotten, and the note is that one.
func (b *Book) learn(l *List, f Fields) (*Line, *Note, error) {
	f, err := f.Clean()
	if err != nil {
		return nil, nil, err
	}
	mark, err := b.mark(f.Text)
	if err != nil {
		return nil, nil, err
	}
	if n := l.all[l.marks[mark]]; n != nil {
		return nil, n, n.known()
	}
	return &Line{Op: OpLearn, By: f.By, said: said{Note: "n" + strconv.Itoa(l.most+1), Text: f.Text, Mark: mark, Kind: f.Kind, About: f.About, From: f.From}}, nil, nil
}

func (n *Note) known() error {
	switch n.State {
	case Forgotten:
		return fmt.Errorf("%s: %w", n.ID, ErrForgotten)
	case Promoted:
		return fmt.Errorf("%s: %w", n.ID, ErrPromoted)
	}
	return fmt.Errorf("%s: %w", n.ID, ErrKnown)
}

// Add learns a note of a person's.
func (b *Book) Add(ctx context.Context, f Fields) (n *Note, aside string, err error) {
	l, aside, err := b.change(ctx, func(l *List) ([]*Line, error) {
		line, _, err := b.learn(l, f)
		if err != nil {
			return nil, err
		}
		return []*Line{line}, nil
	})
	if err != nil {
		return nil, aside, err
	}
	return l.all[l.order[len(l.order)-1]], aside, nil
}

// Learn records that a range of a room's messages was learned from, with its notes, all of it or
// nothing. Notes that are known or forgotten are left out, and so are invalid ones. If
// some of the range was learned from before, the error is ErrRead, unless again.
func (b *Book) Learn(ctx context.Context, r Read, again bool, notes []Fields) (learned []*Note, aside string, err error) {
	var all []said
	l, aside, err := b.change(ctx, func(l *List) ([]*Line, error) {
		if !again && l.ReadTo(r.Room, r.Opened) >= r.From {
			return nil, fmt.Errorf("%s: %w", r.Room, ErrRead)
		}
		all = nil
		so := l.copy()
		for _, f := range notes {
			line, known, err := b.learn(so, f)
			switch {
			case known != nil || errors.Is(err, ErrText):
				continue
			case err != nil:
				return nil, err
			}
			so.put(line)
			all = append(all, line.said)
		}
		return []*Line{{Op: OpRead, Read: &r, Learned: all}}, nil
	})
	if err != nil {
		return nil, aside, err
	}
	for _, s := range all {
		learned = append(learned, l.all[s.Note])
	}
	return learned, aside, nil
}

// on makes one change of a note that is shown. A nil line: nothing changes.
func (b *Book) on(ctx context.Context, id string, f func(*List, *Note) (*Line, error)) (*Note, string, error) {
	l, aside, err := b.change(ctx, func(l *List) ([]*Line, error) {
		n := l.all[id]
		if n == nil {
			return nil, fmt.Errorf("%.40q: %w", id, ErrNone)
		}
		if n.State != Shown {
			return nil, n.known()
		}
		line, err := f(l, n)
		if err != nil || line == nil {
			return nil, err
		}
		line.Note = id
		return []*Line{line}, nil
	})
	if err != nil {
		return nil, aside, err
	}
	return l.all[id], aside, nil
}

// Edit changes what a note says. The texts that it had stay known.
func (b *Book) Edit(ctx context.Context, id string, change func(Fields) Fields) (*Note, string, error) {
	return b.on(ctx, id, func(l *List, n *Note) (*Line, error) {
		f, err := change(Fields{Text: n.Text, Kind: n.Kind, About: n.About}).Clean()
		if err != nil {
			return nil, err
		}
		mark, err := b.mark(f.Text)
		if err != nil {
			return nil, err
		}
		if other := l.all[l.marks[mark]]; other != nil && other.ID != id {
			return nil, other.known()
		}
		if f.Text == n.Text && f.Kind == n.Kind && slices.Equal(f.About.Files, n.About.Files) && f.About.Agent == n.About.Agent && f.About.Model == n.About.Model {
			return nil, nil
		}
		return &Line{Op: OpEdit, said: said{Text: f.Text, Mark: mark, Kind: f.Kind, About: f.About}}, nil
	})
}

// Pin pins a note, or unpins it.
func (b *Book) Pin(ctx context.Context, id string, pinned bool) (*Note, string, error) {
	return b.on(ctx, id, func(_ *List, n *Note) (*Line, error) {
		switch {
		case n.Pinned == pinned:
			return nil, nil
		case pinned:
			return &Line{Op: OpPin}, nil
		}
		return &Line{Op: OpUnpin}, nil
	})
}

// Promote records that a note is in MEMORY.md now.
func (b *Book) Promote(ctx context.Context, id string) (*Note, string, error) {
	return b.on(ctx, id, func(*List, *Note) (*Line, error) { return &Line{Op: OpPromote}, nil })
}

// Use records which turns got notes: each turn counts once for a note.
func (b *Book) Use(ctx context.Context, uses map[string][]Use) (aside string, err error) {
	_, aside, err = b.change(ctx, func(l *List) (lines []*Line, err error) {
		for _, id := range l.order {
			for _, u := range uses[id] {
				if !l.all[id].usedBy(&u) {
					lines = append(lines, &Line{Op: OpUse, said: said{Note: id}, Use: &u})
				}
			}
		}
		return lines, nil
	})
	return aside, err
}

// Forget forgets a note for ever, in any state. erase: its text is taken out of the file, too; the
// note stays known by its mark. still are the names of files in .cmux that were set aside and may hold
// the text.
func (b *Book) Forget(ctx context.Context, id string, erase bool) (n *Note, still []string, err error) {
	l, aside, err := b.change(ctx, func(l *List) ([]*Line, error) {
		n := l.all[id]
		switch {
		case n == nil:
			return nil, fmt.Errorf("%.40q: %w", id, ErrNone)
		case n.State == Forgotten && !erase:
			return nil, n.known()
		case n.State == Forgotten:
			return nil, nil
		}
		return []*Line{{Op: OpForget, said: said{Note: id}}}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	if erase {
		if still, err = b.erase(ctx, id); err != nil {
			return nil, nil, fmt.Errorf("%s is forgotten, but its text is in the file still: %w", id, err)
		}
		if l, err = b.List(); err != nil {
			return nil, nil, err
		}
	} else if aside != "" {
		still = append(still, aside)
	}
	return l.all[id], still, nil
}

// erase takes the texts of a note out of the file. It may be repeated. It returns the names of
// damaged files that were set aside and hold one of the texts.
func (b *Book) erase(ctx context.Context, id string) (still []string, err error) {
	if _, _, err := b.file.Change(ctx, func(*List) ([][]byte, error) { return nil, nil }); err != nil { // what is damaged is set aside first
		return nil, err
	}
	var texts [][]byte
	err = b.file.Rewrite(ctx, func(text []byte) ([]byte, error) {
		var line Line
		if err := json.Unmarshal(text, &line); err != nil {
			return nil, err
		}
		var was []string
		take := func(s *said) {
			if s.Note == id && s.Text != "" {
				was = append(was, s.Text)
				s.Text, s.Erased = "", true
			}
		}
		take(&line.said)
		for i := range line.Learned {
			take(&line.Learned[i])
		}
		for _, text := range was {
			b, err := ledger.Encode(text)
			if err != nil {
				return nil, err
			}
			texts = append(texts, b)
		}
		if len(was) == 0 {
			return nil, nil
		}
		return ledger.Encode(&line)
	})
	if err != nil {
		return nil, err
	}
	return b.holding(texts)
}

// maxDamaged bounds how much of a damaged file is looked at, in bytes.
const maxDamaged = 64 << 20

// holding are the names of damaged files that were set aside and hold one of the texts.
func (b *Book) holding(texts [][]byte) (all []string, err error) {
	dir := filepath.Dir(b.Path())
	entries, err := signals.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), Name+".damaged-") {
			continue
		}
		whole, err := signals.ReadFile(filepath.Join(dir, e.Name()), maxDamaged)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Contains(whole, text) }) {
			all = append(all, e.Name())
		}
	}
	return all, nil
}
