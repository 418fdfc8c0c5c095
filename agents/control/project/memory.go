package project

import (
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
