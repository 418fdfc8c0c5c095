package project

import (
	"context"
	"sync"

	"cmux/agents/org/task"
	"cmux/agents/records/mail"
	"cmux/signals/mailbox"
)

// Memory is what a process that asks often keeps of what it has read: the mailbox and
// the tasks, of which it then reads what is new. It may be used by several
// goroutines.
type Memory struct {
	mu     sync.Mutex
	ledger *mailbox.Ledger
	at     mailbox.Places
	bad    []mailbox.Bad

	book *task.Book

	facts map[string]bool // about commits, which do not change
}

// maxFacts bounds how many facts are kept.
const maxFacts = 20_000

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
