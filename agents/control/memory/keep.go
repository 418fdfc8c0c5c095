package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/charmbracelet/log"

	"cmux/agents/org/memoryconfig"
	"cmux/agents/org/standing"
	"cmux/agents/records/note"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/room/lessons"
)

// Keeper is what is known of the rooms.
type Keeper struct {
	*Memory
	books map[string]*book.Book
	seen  map[string]int // lines of a room that were looked at
	log   *log.Logger
}

// Keeper records which turns got notes, and learns from rooms where that is due and the person
// has said that cmux does it by itself: in rooms that have changed since it looked last.
func (p *Memory) Keeper(logger *log.Logger) *Keeper {
	return &Keeper{Memory: p, books: map[string]*book.Book{}, seen: map[string]int{}, log: logger}
}

// Look looks at rooms that have changed. What fails in one is tried again; the others are no
// worse for it.
func (k *Keeper) Look(ctx context.Context) error {
	names, err := book.Rooms(k.Root)
	if err != nil {
		return err
	}
	for name := range k.books {
		if !slices.Contains(names, name) {
			delete(k.books, name)
			delete(k.seen, name)
		}
	}
	var errs []error
	for _, name := range names {
		if err := k.room(ctx, name); err != nil && !errors.Is(err, book.ErrNone) && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("room %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (k *Keeper) room(ctx context.Context, name string) error {
	b := k.books[name]
	if b == nil {
		var err error
		if b, err = book.Open(k.Root, name, k.Now, false); err != nil {
			return err
		}
		k.books[name] = b
	}
	lines, _, err := b.Lines()
	if err != nil {
		delete(k.books, name)
		return err
	}
	switch {
	case len(lines) == k.seen[name]:
		return nil
	case len(lines) < k.seen[name]: // another room has the name now
		k.seen[name] = 0
	}
	if err := k.uses(ctx, name, lines); err != nil {
		return err
	}
	c, err := k.Config()
	if err != nil {
		return err
	}
	if c.Learn == memoryconfig.Auto || c.Learn == memoryconfig.Heuristic {
		l, err := k.list()
		if err != nil {
			return err
		}
		if r := lessons.Due(name, lines, l.ReadTo(name, lines[0].At)); r.Why != "" {
			if err := k.teach(ctx, c, lines, r); err != nil {
				return err
			}
		}
	}
	k.seen[name] = len(lines)
	return nil
}

// teach learns from a range by itself, in the environment of the organization.
func (k *Keeper) teach(ctx context.Context, c memoryconfig.Config, lines []room.Line, r lessons.Range) error {
	p := *k.Project
	if org, err := standing.Open(p.Root); err == nil {
		if env, err := org.Run.Env(); err == nil { // else it is not started any more; this process's own serves
			p.Env = env
		}
	}
	got, err := (&Memory{&p, k.Rooms}).learn(ctx, c, lines, r, Options{})
	if err != nil {
		return err
	}
	k.log.Info("learned from a room", "room", r.Room, "by", got.By, "notes", len(got.Notes), "why", got.Why)
	return nil
}

// uses records which turns got notes, as the room's lines name them. Each counts once.
func (k *Keeper) uses(ctx context.Context, name string, lines []room.Line) error {
	told := map[string][]note.Use{}
	for i := k.seen[name]; i < len(lines); i++ {
		l := &lines[i]
		if l.Kind != room.KindTurn {
			continue
		}
		for _, id := range l.Notes {
			told[id] = append(told[id], note.Use{Room: name, Turn: l.Turn, Member: l.Member, At: l.At})
		}
	}
	if len(told) == 0 {
		return nil
	}
	b, err := k.book(true)
	if err != nil {
		return err
	}
	aside, err := b.Use(ctx, told)
	k.SetAside(note.Name, aside)
	return err
}
