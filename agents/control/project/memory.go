package project

import (
	"context"
	"sync"

	"cmux/agents/org/task"
	"cmux/agents/records/ledger"
	"cmux/agents/records/mail"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/signals/mailbox"
)

// Memory is what a process that asks often keeps of what it has read: the mailbox, the
// tasks and the rooms, of which it then reads what is new. It may be used by several
// goroutines.
type Memory struct {
	mu     sync.Mutex
	ledger *mailbox.Ledger
	at     mailbox.Places
	bad    []mailbox.Bad

	book *task.Book

	rooms map[string]*book.Book // that could be read

	facts map[string]bool // about commits, which do not change
}

const (
	maxFacts = 20_000 // that are kept
	maxRooms = 100    // whose lines are kept
)

// Recall returns what find found for key: it is asked once for a fact that never changes.
// An error of find is no fact, and false.
func (p *Project) Recall(key string, find func() (bool, error)) bool {
	k := p.Memory
	if k == nil {
		k = new(Memory)
	}
	k.mu.Lock()
	is, known := k.facts[key]
	k.mu.Unlock()
	if known {
		return is
	}
	is, err := find()
	if err != nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.facts == nil || len(k.facts) >= maxFacts {
		k.facts = make(map[string]bool)
	}
	k.facts[key] = is
	return is
}

// WithLedger has look see the mailbox as it is now. What look is given is not to be
// kept.
func (p *Project) WithLedger(look func(*mailbox.Ledger, []mailbox.Bad) error) error {
	box, err := mail.Box(p.Root)
	if err != nil {
		return err
	}
	k := p.Memory
	if k == nil {
		k = new(Memory)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ledger == nil {
		k.ledger = new(mailbox.Ledger)
	}
	bad, err := k.ledger.Load(box, &k.at)
	k.bad = append(k.bad, bad...)
	if err != nil {
		return err
	}
	return look(k.ledger, k.bad)
}

// TaskList is the tasks as they are now, to be read.
func (p *Project) TaskList() (*task.List, error) {
	k := p.Memory
	if k == nil {
		b, err := task.OpenBook(p.Root, p.Now, false)
		if err != nil {
			return nil, err
		}
		return b.List()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.book == nil {
		b, err := task.OpenBook(p.Root, p.Now, true) // one that is made without the person's key knows no line of theirs
		if err != nil {
			return nil, err
		}
		k.book = b
	}
	return k.book.List()
}

// Room is the file of a room, with its lines as they are now, and those that do not count.
func (p *Project) Room(name string) (*book.Book, []room.Line, []ledger.Bad, error) {
	k := p.Memory
	if k == nil {
		k = new(Memory)
	}
	k.mu.Lock()
	b := k.rooms[name]
	k.mu.Unlock()
	if b == nil {
		var err error
		if b, err = book.Open(p.Root, name, p.Now, false); err != nil {
			return nil, nil, nil, err
		}
	}
	lines, bad, err := b.Lines()
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err != nil:
		delete(k.rooms, name) // it is gone, or was opened before the person had a key
	case k.rooms == nil || len(k.rooms) >= maxRooms && k.rooms[name] == nil:
		k.rooms = map[string]*book.Book{name: b}
	default:
		k.rooms[name] = b
	}
	return b, lines, bad, err
}

// Settle marks a message to the person as read whose question was answered in another
// way. It does nothing if the message does not wait, or for an empty id.
func (p *Project) Settle(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	to := ""
	err := p.WithLedger(func(l *mailbox.Ledger, _ []mailbox.Bad) error {
		for _, w := range l.Waiting() {
			if w.ID == id && w.For.Kind == mailbox.User {
				to = w.To
			}
		}
		return nil
	})
	if err != nil || to == "" {
		return err
	}
	post, err := mail.Open(p.Root, p.Now)
	if err != nil {
		return err
	}
	return post.Box.Record(ctx, mailbox.Delivery{ID: id, To: to, State: mailbox.Confirmed, At: p.Now().UTC()})
}
