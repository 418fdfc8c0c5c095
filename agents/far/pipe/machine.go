package pipe

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"cmux/agents/far"
)

// A Dialer makes connections to one machine.
type Dialer interface {
	// URL names the machine to a person.
	URL() string
	// Dial connects. The context bounds only the connecting. Close of the connection must
	// end a blocked Read and Write.
	Dial(ctx context.Context) (io.ReadWriteCloser, error)
}

const (
	firstWait = 100 * time.Millisecond // before the second try to connect
	mostWait  = 15 * time.Second
	helloWait = time.Minute // for the machine's answer to hello
	askEvery  = 2 * time.Second
	refusedIs = 15 * time.Second // how long a refused attempt is not offered again
)

// machine is what home knows of a machine. The fields below d are guarded by the carrier's
// mu.
type machine struct {
	c *Carrier
	d Dialer

	link    *link                 // nil: not connected
	known   far.Machine           // as it described itself last
	reached bool                  // ever
	fault   string                // why it is not connected
	heard   time.Time             // when a frame came last, as of the end of the last connection
	held    map[far.Ref]far.State // what it said last that it has
	refused map[far.Ref]refusal   // by the attempt
	owes    map[far.Ref]bool      // what it has, or may, and is to close
	closing map[far.Ref]bool      // Close was sent, less than askEvery ago
}

type refusal struct {
	why string
	at  time.Time
}

// run keeps the machine connected until ctx ends.
func (m *machine) run(ctx context.Context) {
	wait := firstWait
	for ctx.Err() == nil {
		began := time.Now()
		err := m.connect(ctx)
		m.c.left(m, err)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > mostWait {
			wait = firstWait
		}
		pause := time.NewTimer(wait/2 + rand.N(wait/2)) // many homes do not come back at once
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
		wait = min(2*wait, mostWait)
	}
}

// connect makes one connection and uses it until it ends.
func (m *machine) connect(ctx context.Context) error {
	dialing, cancel := context.WithTimeout(ctx, helloWait)
	defer cancel()
	conn, err := m.d.Dial(dialing)
	if err != nil {
		return err
	}
	l := newLink(conn, func(all []held) []far.Ref { return m.c.beat(m, all) })
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(l.write)
	greeted := make(chan struct{})
	all.Go(func() {
		select {
		case <-dialing.Done():
			l.fail(dialing.Err())
			return
		case <-greeted:
		}
		select {
		case <-ctx.Done():
			l.fail(ctx.Err())
		case <-l.down:
		}
	})
	known, beat, err := l.hello(dialing, m.c.o.Home, m.c.o.Cmux)
	close(greeted)
	if err == nil {
		all.Go(l.read)
		all.Go(func() { l.guard(max(beat, shortestBeat)) })
		err = m.use(ctx, l, known)
	}
	l.fail(err)
	return l.err
}

// shortestBeat bounds what home believes of a machine's heartbeats.
const shortestBeat = 100 * time.Millisecond

// use asks what the machine has, and works with it until the connection ends.
func (m *machine) use(ctx context.Context, l *link, known far.Machine) error {
	r, err := l.call(ctx, nil, &frame{Op: opHeld})
	if err == nil {
		err = m.c.met(m, l, known, r.Held)
	}
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	asked := time.Now()
	for {
		over, changed, waiting := m.c.toClose(m)
		for ref, why := range over {
			all.Go(func() {
				_, err := l.call(ctx, nil, &frame{Op: opClose, Ref: &ref, Why: why})
				if errors.Is(err, errDown) || ctx.Err() != nil {
					return // met has it closed again
				}
				m.c.closed(m, ref, err)
				pause := time.NewTimer(askEvery)
				defer pause.Stop()
				select {
				case <-pause.C:
					m.c.closeAgain(m, ref)
				case <-l.down:
				}
			})
		}
		select {
		case <-changed:
		case <-tick.C:
			if !waiting && time.Since(asked) < far.Beat {
				continue
			}
			asked = time.Now()
			if r, err := l.call(ctx, nil, &frame{Op: opDescribe}); err == nil && r.Machine != nil {
				m.c.described(m, *r.Machine)
			}
		case <-l.down:
			return errDown
		}
	}
}

// describe returns the machine as Machines shows it. The carrier's mu is held.
func (m *machine) describe() far.Machine {
	d := m.known
	d.Where, d.Fault, d.Silent = m.d.URL(), "", false
	if d.Name == "" {
		d.Name = d.Where
	}
	if m.link == nil {
		d.Silent = m.reached
		d.Fault = m.fault
	}
	return d
}

// has reports whether the machine said that it has an attempt. The carrier's mu is held.
func (m *machine) has(ref far.Ref) bool {
	_, ok := m.held[ref]
	return ok
}

// reason is why a connection is over, without the URL that the reader knows.
func (m *machine) reason(err error) string {
	if err == nil || err == io.EOF || errors.Is(err, errDown) {
		return "the connection ended"
	}
	return strings.TrimPrefix(err.Error(), m.d.URL()+": ")
}
