package store

import (
	"cmux/agents/org/task"
	"cmux/agents/records/incident"
	"cmux/agents/records/mail"
	"cmux/signals/mailbox"
)

// vouch says of the lines of some files, by name, whether cmux of this person
// wrote them.
type vouch map[string]func(line []byte) bool

func voucher(root string) (vouch, error) {
	box, err := mail.Box(root)
	if err != nil {
		return nil, err
	}
	book, err := task.OpenBook(root, nil, false)
	if err != nil {
		return nil, err
	}
	incidents, err := incident.OpenBook(root, nil, false)
	if err != nil {
		return nil, err
	}
	return vouch{
		mailbox.Name:       func(line []byte) bool { return box.Verified(mailbox.Name, line) },
		mailbox.Deliveries: func(line []byte) bool { return box.Verified(mailbox.Deliveries, line) },
		task.Name:          book.Verified,
		incident.Name:      incidents.Verified,
	}, nil
}
