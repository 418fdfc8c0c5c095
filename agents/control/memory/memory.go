// Package memory shows and changes the notes of what rooms learned, and makes new ones: for the
// command line and for the page, and for the monitor, which Keep is for. What a note is, package
// note says; what is learned of a room, package lessons.
package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/agents/org/memoryconfig"
	"cmux/agents/org/standing"
	"cmux/agents/records/journal"
	"cmux/agents/records/ledger"
	"cmux/agents/records/note"
	"cmux/agents/room"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Memory is what a project has learned.
type Memory struct {
	*project.Project
	Rooms *rooms.Rooms
}

// Notes are the notes that a person looks at.
type Notes struct {
	Notes   []*note.Note `json:"notes"`
	Skipped []ledger.Bad `json:"skipped"` // lines of the file that do not count
}

func (p *Memory) book(write bool) (*note.Book, error) { return note.OpenBook(p.Root, p.Now, write) }

func (p *Memory) list() (*note.List, error) {
	b, err := p.book(false)
	if err != nil {
		return nil, err
	}
	return b.List()
}

// Config is what the project's configuration says of memory, as it was applied. Without an
// organization it is what the file says: the first start takes it as it is.
func (p *Memory) Config() (memoryconfig.Config, error) {
	org, err := standing.Open(p.Root)
	if err == nil {
		return memoryconfig.New(org.Settings.Memory), nil
	}
	if !errors.Is(err, run.ErrNoOrganization) {
		return memoryconfig.Config{}, err
	}
	c, err := p.Configured()
	if err != nil {
		return memoryconfig.Config{}, err
	}
	return memoryconfig.New(c.Memory), nil
}

// List is the notes that are shown: the pinned ones, then the newest.
func (p *Memory) List() (*Notes, error) {
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	all, err := p.mayRead(l.Shown())
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b *note.Note) int {
		switch {
		case a.Pinned == b.Pinned:
			return 0
		case a.Pinned:
			return -1
		}
		return 1
	})
	return &Notes{Notes: all, Skipped: append([]ledger.Bad{}, l.Bad...)}, nil
}

// mayRead are the notes that the caller may read: what is known about members is for the person,
// and told to those who lead a room; an agent that asks reads none of it.
func (p *Memory) mayRead(all []*note.Note) ([]*note.Note, error) {
	from, err := p.Origin()
	if err != nil || from == nil {
		return all, err
	}
	return slices.DeleteFunc(all, func(n *note.Note) bool { return n.Kind == note.Member }), nil
}

// Search is the notes in which all words are, the best first.
func (p *Memory) Search(words string) (*Notes, error) {
	if strings.TrimSpace(words) == "" {
		return nil, project.Usage("cmux memory list", "say what to search for")
	}
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	all, err := p.mayRead(l.Shown())
	if err != nil {
		return nil, err
	}
	return &Notes{Notes: note.Search(all, words), Skipped: append([]ledger.Bad{}, l.Bad...)}, nil
}

// Show is a note, whatever has become of it.
func (p *Memory) Show(id string) (*note.Note, error) {
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	n := l.Get(id)
	if n == nil {
		return nil, explain(fmt.Errorf("%.40q: %w", id, note.ErrNone), id)
	}
	return n, nil
}

// explain says what to do about an error of a change.
func explain(err error, id string) error {
	switch {
	case errors.Is(err, note.ErrNone):
		return hint.New(project.Tag(fmt.Errorf("there is no note %q", id), project.ErrMissing), "cmux memory list")
	case errors.Is(err, note.ErrText):
		return project.Tag(err, project.ErrUsage)
	case errors.Is(err, note.ErrKnown), errors.Is(err, note.ErrForgotten), errors.Is(err, note.ErrPromoted):
		other, _, _ := strings.Cut(err.Error(), ":")
		return hint.New(project.Tag(err, project.ErrUsage), "cmux memory show "+other)
	}
	return err
}

// Message is a message that a note comes from.
type Message struct {
	N    int64     `json:"n"`
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Text string    `json:"text"`
}

// Why says where a note comes from, and which turns got it.
type Why struct {
	Note     note.Note  `json:"note"`
	Messages []Message  `json:"messages"` // that it comes from, as they are in the room
	Missing  string     `json:"missing"`  // why they cannot be shown; empty: they are
	Uses     []note.Use `json:"uses"`     // oldest first
}

// Why says where a note comes from, and which turns got it.
func (p *Memory) Why(id string) (*Why, error) {
	n, err := p.Show(id)
	if err != nil {
		return nil, err
	}
	w := &Why{Note: *n, Messages: []Message{}, Uses: n.Used}
	if n.From == nil {
		return w, nil
	}
	_, lines, _, err := p.Room(n.From.Room)
	if err != nil || !lines[0].At.Equal(n.From.Opened) {
		w.Missing = "the room " + n.From.Room + " is gone"
		return w, nil
	}
	for _, m := range n.From.Messages {
		if m < 1 || m > int64(len(lines)) || lines[m-1].Kind != room.KindSaid {
			continue
		}
		l := &lines[m-1]
		w.Messages = append(w.Messages, Message{N: l.N, At: l.At, By: l.By, Text: l.Text})
	}
	return w, nil
}

// Add learns a note of the person's.
func (p *Memory) Add(ctx context.Context, f note.Fields) (*note.Note, error) {
	b, err := p.book(true)
	if err != nil {
		return nil, err
	}
	f.By = note.ByUser
	n, aside, err := b.Add(ctx, f)
	p.SetAside(note.Name, aside)
	return n, explain(err, "")
}

// Change says what of a note changes. Nil: as it is.
type Change struct {
	Text  *string    `json:"text,omitempty" maxLength:"2000" doc:"At most 300 characters"`
	Kind  *note.Kind `json:"kind,omitempty"`
	Files *[]string  `json:"files,omitempty" maxItems:"20" doc:"Files that it is about, from the project's root"`
	Agent *string    `json:"agent,omitempty" maxLength:"200" doc:"Kind of a program that it is about"`
	Model *string    `json:"model,omitempty" maxLength:"200" doc:"Model that it is about"`
}

// Edit changes what a note says.
func (p *Memory) Edit(ctx context.Context, id string, c Change) (*note.Note, error) {
	return p.on(id, func(b *note.Book) (*note.Note, string, error) {
		return b.Edit(ctx, id, func(f note.Fields) note.Fields {
			set(&f.Text, c.Text)
			set(&f.Kind, c.Kind)
			set(&f.About.Files, c.Files)
			set(&f.About.Agent, c.Agent)
			set(&f.About.Model, c.Model)
			return f
		})
	})
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Pin pins a note, or unpins it.
func (p *Memory) Pin(ctx context.Context, id string, pinned bool) (*note.Note, error) {
	return p.on(id, func(b *note.Book) (*note.Note, string, error) { return b.Pin(ctx, id, pinned) })
}

func (p *Memory) on(id string, change func(*note.Book) (*note.Note, string, error)) (*note.Note, error) {
	b, err := p.book(true)
	if err != nil {
		return nil, err
	}
	n, aside, err := change(b)
	p.SetAside(note.Name, aside)
	return n, explain(err, id)
}

// Forget forgets a note for ever. erase: its text is taken out of the file, too.
func (p *Memory) Forget(ctx context.Context, id string, erase bool) (*note.Note, error) {
	b, err := p.book(true)
	if err != nil {
		return nil, err
	}
	n, still, err := b.Forget(ctx, id, erase)
	if err != nil {
		return nil, explain(err, id)
	}
	for _, file := range still {
		if erase {
			p.Tell(fmt.Sprintf("the text of %s is still in .cmux/%s, which was saved aside because lines in it do not count: remove that file", id, file))
		} else {
			p.SetAside(note.Name, file)
		}
	}
	return n, nil
}

// mostMemory bounds MEMORY.md, in bytes.
const mostMemory = 16 << 20

// Promote moves a note to the end of MEMORY.md, which is the person's. It is written there first,
// and leaves the notes then: cut off in between, it is in both, until it is promoted again, which
// does not write it again.
func (p *Memory) Promote(ctx context.Context, id string) (*note.Note, error) {
	n, err := p.Show(id)
	if err != nil {
		return nil, err
	}
	if n.State == note.Shown {
		if err := p.remember(n.Text); err != nil {
			return nil, fmt.Errorf("%s stays a note: %w", id, err)
		}
	}
	return p.on(id, func(b *note.Book) (*note.Note, string, error) { return b.Promote(ctx, id) })
}

// remember adds a line to MEMORY.md, unless it is there. Of what the person wrote nothing changes.
func (p *Memory) remember(text string) (err error) {
	path := filepath.Join(p.Root, journal.MemoryFile)
	so, err := signals.ReadFile(path, mostMemory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(so)) {
		if strings.TrimSpace(strings.TrimLeft(line, "-*+ \t")) == text {
			return nil
		}
	}
	f, err := signals.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	was, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	line := "- " + text + "\n"
	if len(so) > 0 && so[len(so)-1] != '\n' {
		line = "\n" + line
	}
	if n, err := f.WriteString(line); err != nil {
		if info, err := f.Stat(); err == nil && info.Size() == was+int64(n) { // nobody has written since
			_ = f.Truncate(was)
		}
		return signals.Explain(err)
	}
	return f.Sync()
}
