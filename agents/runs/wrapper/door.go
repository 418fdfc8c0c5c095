package wrapper

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/origin"
	"cmux/agents/runs/run"
)

// door decides what comes in at an attempt's socket, which every program of the
// same user can reach. Orders, which are a person's, take the code of the
// person's key, and each counts once: whoever takes the socket's place could
// keep one. Reports and hooks are the attempt's own programs': the attempt
// knows them by its token, and the door keeps out who has it from elsewhere.
type door struct {
	run    *run.Run
	own    origin.Attempt
	record func(run.Record) error

	mu   sync.Mutex
	seen map[string]bool // orders by their id
	told map[string]bool // incidents
}

// request is a message as it came.
type request struct {
	attempt.Message
	raw json.RawMessage
}

// sender is who is at the other end of a connection, as far as that is known.
type sender struct {
	of   *origin.Attempt // nil: of no attempt of the run
	gone bool
}

// whose finds out who has connected.
func (d *door) whose(c net.Conn) (from sender) {
	u, ok := c.(*net.UnixConn)
	if d == nil || !ok {
		return sender{}
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return sender{}
	}
	pid := 0
	if e := raw.Control(func(fd uintptr) { pid, err = peerPID(int(fd)) }); e != nil || err != nil || pid <= 0 {
		return sender{} // of a process namespace of its own, most likely
	}
	from.of, err = origin.OfPeer(d.run, d.own, pid)
	from.gone = errors.Is(err, proc.ErrGone)
	return from
}

// admit refuses what the sender may not say.
func (d *door) admit(q request, from sender) error {
	if d == nil {
		return nil
	}
	switch q.Op.From() {
	case attempt.ByCmux:
		if d.run.OpenOrder(d.own.Node, d.own.N, q.raw) == nil && d.first(q.ID) {
			return nil
		}
		d.incident(q.Op, from)
		return fmt.Errorf("%q is a person's to order, by a command of cmux: nothing was done, and it is recorded", q.Op)
	case attempt.ByAgent:
		if from.gone {
			return errors.New("who reports cannot be told: the process that connected has ended")
		}
		if from.of != nil && (from.of.Node != d.own.Node || from.of.N != d.own.N) {
			d.incident(q.Op, from)
			return fmt.Errorf("this comes from %s and not from %s: nothing was done, and it is recorded", from.of, &d.own)
		}
	}
	return nil
}

// first reports whether an order has not been given before.
func (d *door) first(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id == "" || d.seen[id] {
		return false
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[id] = true
	return true
}

// maxIncidents bounds what one attempt's socket adds to the records.
const maxIncidents = 20

// incident records, once, what was tried.
func (d *door) incident(op attempt.Op, from sender) {
	rec := run.Record{Type: run.Incident, How: run.IncidentRefused}
	if from.of != nil {
		rec.Node, rec.Attempt = from.of.Node, from.of.N
	}
	said := string(op)
	if len(said) > 40 {
		said = said[:40] + "..."
	}
	rec.Detail = fmt.Sprintf("sent %q to the socket of %s, which is not its to send; nothing was done", said, &d.own)
	d.tell(rec)
}

// tried records that the attempt itself tried a command that is a person's: in a fence its
// programs cannot.
func (d *door) tried(q request, from sender) error {
	if d == nil || from.of == nil {
		return errors.New("who tried this cannot be told")
	}
	// Its words alone count: a text of its own could say something else to a person.
	d.tell(from.of.Tried(strings.Join(append([]string{"cmux"}, q.Words...), " "), q.Words))
	return nil
}

// tell records an incident, once.
func (d *door) tell(rec run.Record) {
	d.mu.Lock()
	key := strings.Join(append([]string{rec.Node, rec.Detail}, rec.Words...), "\x00")
	if d.told == nil {
		d.told = map[string]bool{}
	}
	known := d.told[key] || len(d.told) >= maxIncidents
	d.told[key] = true
	d.mu.Unlock()
	if !known {
		_ = d.record(rec) // refused it is all the same
	}
}
