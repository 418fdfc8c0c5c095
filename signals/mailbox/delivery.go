package mailbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// State is how far a message has come with one of its recipients.
type State string

const (
	Queued    State = "queued"    // it waits, for what Why says
	Handed    State = "handed"    // the recipient's program was given it
	Confirmed State = "confirmed" // the recipient has it
	Failed    State = "failed"    // it was given up, as Why says, until a person has it tried again
	Expired   State = "expired"   // it waited too long
)

// Final reports whether nothing more comes of it by itself.
func (s State) Final() bool { return s == Confirmed || s == Failed || s == Expired }

// Delivery is a line of mailbox.deliveries: what became of a message with one
// recipient.
type Delivery struct {
	ID    string    `json:"id"`
	To    string    `json:"to"`
	State State     `json:"state"`
	Why   string    `json:"why,omitempty"`
	Try   int       `json:"try,omitempty"` // handed: which time it is
	At    time.Time `json:"at"`
}

func (d *Delivery) check() error {
	if !idShape().MatchString(d.ID) {
		return fmt.Errorf("its id %.80q is none", d.ID)
	}
	if to, err := ParseAddress(d.To); err != nil {
		return err
	} else if to.Kind == All && !d.State.Final() {
		return errors.New("it is for all, and not for one of them")
	}
	switch d.State {
	case Queued, Handed, Confirmed, Failed, Expired:
		return nil
	}
	return fmt.Errorf("its state %.80q is not known", d.State)
}

// ParseDelivery reads a line of mailbox.deliveries.
func ParseDelivery(line []byte) (*Delivery, error) {
	if len(line) > maxLine || !json.Valid(line) {
		return nil, errors.New("it is not JSON")
	}
	d := new(Delivery)
	if err := json.Unmarshal(line, d); err != nil {
		return nil, fmt.Errorf("it is no delivery: %w", err)
	}
	return d, d.check()
}

// ReadDeliveries hands what became of messages since a place to f. With a Key,
// lines without its code are skipped: a forged one could lose a message.
func (b *Box) ReadDeliveries(from Place, f func(Delivery) error) (Reading, error) {
	return b.read(Deliveries, from, func(_ string, _ int64, line []byte) (string, error) {
		d, err := ParseDelivery(line)
		switch {
		case err != nil:
			return err.Error(), nil
		case b.Key != nil && !b.Verified(Deliveries, line):
			return "cmux of this person did not write it", nil
		}
		return "", f(*d)
	})
}
