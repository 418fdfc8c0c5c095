package store

import (
	"strings"

	"cmux/agents/org/task"
	"cmux/agents/records/incident"
	"cmux/agents/records/mail"
	"cmux/agents/room/book"
	"cmux/signals/mailbox"
)

// vouch says of the lines of some files, by name, whether cmux of this person
// wrote them.
type vouch map[string]func(line []byte) bool

// of says it of the lines of a source; nil: nobody knows. Each room has a key of its own.
func (v vouch) of(root string, src source) (func(line []byte) bool, error) {
	if src.format != facts {
		return v[src.format.sealed], nil
	}
	b, err := book.Open(root, strings.TrimPrefix(src.label, Room), nil, false)
	if err != nil {
		return nil, err
	}
	return b.Verified, nil
}

func voucher(root string) (vouch, error) {
	box, err := mail.Box(root)
	if err != nil {
		return nil, err
	}
	list, err := task.OpenBook(root, nil, false)
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
		task.Name:          list.Verified,
		incident.Name:      incidents.Verified,
	}, nil
}
