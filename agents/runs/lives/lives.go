// Package lives connects the owner of records with what lives on a host.Host:
// attempts of a run's nodes, lives of standing agents. A Table connects to them,
// learns at once when one has gone, speaks to them, and finds out when one has ended
// without a recorded end. A Policy decides what follows.
//
// A Table keeps nothing that its successor needs: the records name the attempts, and
// the host finds those that live.
package lives

import (
	"context"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
)

// A Policy acts for the owner of the records. A Table calls it in the goroutine of
// its own caller.
type Policy struct {
	// Reached is called with each new connection; nil: nothing follows from one.
	Reached func(ctx context.Context, ref host.Ref)
	// Again reads new records, and reports whether the attempt has no recorded end,
	// and whether it began.
	Again func(ctx context.Context, ref host.Ref) (open, began bool, err error)
	// Lost records that an attempt without a recorded end is over, and why.
	Lost func(ctx context.Context, ref host.Ref, why string) error
}

// A Table holds a connection to each attempt that can be spoken to, at most one per
// node. Its methods are for one goroutine, except Left.
type Table struct {
	policy Policy
	host   host.Host
	log    *log.Logger
	live   map[string]*Life
	gone   chan host.Ref
	over   chan struct{} // closed when nobody receives from gone any more
	tasks  sync.WaitGroup
}

// A Life is the connection to an attempt, which may have gone this moment. A nil Life
// stands for a node without one.
type Life struct {
	host.Link
	N     int
	Bound bool // it ends with this process
}

// New returns an empty Table of what lives on h.
func New(h host.Host, l *log.Logger, p Policy) *Table {
	return &Table{policy: p, host: h, log: l, live: make(map[string]*Life), gone: make(chan host.Ref), over: make(chan struct{})}
}

// Of returns the attempt of a node, or nil.
func (t *Table) Of(node string) *Life { return t.live[node] }

// All returns all attempts, by node.
func (t *Table) All() iter.Seq2[string, *Life] { return maps.All(t.live) }

// Bound reports whether one of the attempts ends with this process.
func (t *Table) Bound() bool {
	for _, l := range t.live {
		if l.Bound {
			return true
		}
	}
	return false
}

// Stands reports whether the attempt can still be spoken to.
func (l *Life) Stands() bool {
	if l == nil {
		return false
	}
	select {
	case <-l.Gone():
		return false
	default:
		return true
	}
}

// patience bounds the wait for the answer to Tell.
const patience = 3 * time.Second

// Tell sends a message that an attempt answers at once, and waits at most 3 s.
func (l *Life) Tell(ctx context.Context, m attempt.Message) (attempt.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.Say(ctx, m)
}

// Number returns N, or 0 for a nil Life.
func (l *Life) Number() int {
	if l == nil {
		return 0
	}
	return l.N
}

// Gone delivers attempts whose connection or process has ended. Look finds out which
// of the two.
func (t *Table) Gone() <-chan host.Ref { return t.gone }

// Left reports to Gone that the process of an attempt has ended. It returns when the
// owner has received that, or at Close.
func (t *Table) Left(ref host.Ref) {
	select {
	case t.gone <- ref:
	case <-t.over:
	}
}

// Hold adds an attempt whose start returned its link.
func (t *Table) Hold(ref host.Ref, l host.Link, bound bool) {
	t.live[ref.Node] = &Life{Link: l, N: ref.N, Bound: bound}
}

// Reach connects to an attempt that has begun, unless a connection stands. If the
// attempt does not listen yet, nothing happens: the caller tries again later.
func (t *Table) Reach(ctx context.Context, ref host.Ref) {
	have := t.live[ref.Node]
	if have != nil && have.N == ref.N && have.Stands() {
		return
	}
	link, err := t.host.Reach(ctx, ref)
	if err != nil {
		t.log.Debug("an attempt cannot be reached yet", "node", ref.Node, "err", err)
		return
	}
	if have != nil {
		have.Close()
	}
	t.Hold(ref, link, false)
	t.tasks.Go(func() {
		select {
		case <-link.Gone():
			t.Left(ref)
		case <-ctx.Done():
		}
	})
	if t.policy.Reached != nil {
		t.policy.Reached(ctx, ref)
	}
}

// Look finds out whether an attempt without a recorded end lives, and connects to it
// if it does. If it is Gone, Look has its end recorded. fresh is as for
// host.Host.Probe.
func (t *Table) Look(ctx context.Context, ref host.Ref, fresh time.Time) (host.Pulse, error) {
	pulse, release, err := t.host.Probe(ref, fresh)
	if err != nil || pulse == host.Unknown {
		return host.Unknown, err
	}
	if pulse == host.Lives {
		t.Reach(ctx, ref)
		return pulse, nil
	}
	// Its end may have been recorded in the meantime.
	defer release()
	open, began, err := t.policy.Again(ctx, ref)
	if err != nil || !open {
		return pulse, err
	}
	if err := t.host.Withdraw(ref); err != nil {
		return pulse, err
	}
	why := "its wrapper was killed"
	if !began {
		why = "its wrapper never came"
	}
	return pulse, t.policy.Lost(ctx, ref, why)
}

// Say sends a message to the attempt of a node, if there is one, and does not wait
// for the answer.
func (t *Table) Say(ctx context.Context, node string, m attempt.Message) {
	l := t.live[node]
	if l == nil {
		return
	}
	t.tasks.Go(func() {
		if _, err := l.Say(ctx, m); err != nil && ctx.Err() == nil {
			t.log.Warn("an agent was not reached", "node", node, "op", m.Op, "err", err)
		}
	})
}

// Drop closes the connection to attempt n of a node; 0: to whichever it has.
func (t *Table) Drop(node string, n int) {
	if l := t.live[node]; l != nil && (n == 0 || l.N == n) {
		l.Close()
		delete(t.live, node)
	}
}

// Close closes all connections, and waits for the messages that are under way. The
// attempts continue.
func (t *Table) Close() {
	close(t.over)
	for _, l := range t.live {
		l.Close()
	}
	t.tasks.Wait()
}
