package mailbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// State is the state of a message for one recipient.
type State string

const (
	Queued    State = "queued"    // it waits; Why says for what
	Handed    State = "handed"    // given to the recipient's program
	Confirmed State = "confirmed" // the recipient has read it
	Failed    State = "failed"    // given up; Why says why; a person can retry it
	Expired   State = "expired"   // it waited too long
)

// Final reports whether the state no longer changes by itself.
func (s State) Final() bool { return s == Confirmed || s == Failed || s == Expired }

// Delivery is a line of mailbox.deliveries: the state of a message for one recipient.
type Delivery struct {
	ID    string    `json:"id"`
	To    string    `json:"to"`
	State State     `json:"state"`
	Why   string    `json:"why,omitempty"`
	Try   int       `json:"try,omitempty"` // handed: number of the try
	At    time.Time `json:"at"`
}

func (d *Delivery) check() error {
	if !idShape().MatchString(d.ID) {
		return fmt.Errorf("%.80q is not an id", d.ID)
	}
	if to, err := ParseAddress(d.To); err != nil {
		return err
	} else if to.Kind == All && !d.State.Final() {
		return errors.New("a delivery needs one recipient, not all")
	}
	switch d.State {
	case Queued, Handed, Confirmed, Failed, Expired:
		return nil
	}
	return fmt.Errorf("unknown state %.80q", d.State)
}

// ParseDelivery parses a line of mailbox.deliveries.
func ParseDelivery(line []byte) (*Delivery, error) {
	if len(line) > maxLine || !json.Valid(line) {
		return nil, errors.New("not JSON")
	}
	d := new(Delivery)
	if err := json.Unmarshal(line, d); err != nil {
		return nil, fmt.Errorf("not a delivery: %w", err)
	}
	return d, d.check()
}

// ReadDeliveries passes the deliveries after a place to f. With a Key, it skips lines
// without a valid code: a forged line could lose a message.
func (b *Box) ReadDeliveries(from Place, f func(Delivery) error) (Reading, error) {
	return b.read(Deliveries, from, func(_ string, _ int64, line []byte) (string, error) {
		d, err := ParseDelivery(line)
		switch {
		case err != nil:
			return err.Error(), nil
		case b.Key != nil && !b.Verified(Deliveries, line):
			return "not written by this person's cmux", nil
		}
		return "", f(*d)
	})
}
