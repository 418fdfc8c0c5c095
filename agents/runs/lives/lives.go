// Package lives holds on to what lives on a host.Host: attempts of a run's nodes,
// lives of standing agents. A Table connects to them, learns at once when one has
// gone, speaks to them, and finds out that one is over whose end nobody recorded.
// A Policy decides what follows from that.
//
// A Table decides nothing and keeps nothing that its successor would need: what
// there is stands in the records, and who lives is found again.
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

// Policy is what whoever owns the records says of attempts. The Table calls it in
// the goroutine of its caller.
type Policy struct {
	// Reached is called with an attempt that can be spoken to now; nil: nothing
	// follows from that.
	Reached func(ctx context.Context, ref host.Ref)
	// Again reads what is new of the records, and reports whether the attempt has no
	// end, and whether it ever began.
	Again func(ctx context.Context, ref host.Ref) (open, began bool, err error)
	// Lost records that an attempt is over of which no end is on record, and why.
	Lost func(ctx context.Context, ref host.Ref, why string) error
}

// Table is the attempts that can be spoken to, at most one of a node. Except for
// Left, its methods are for one goroutine.
type Table struct {
	policy Policy
	host   host.Host
	log    *log.Logger
	live   map[string]*Life
	gone   chan host.Ref
	over   chan struct{} // closed when nobody receives from gone any more
	tasks  sync.WaitGroup
}

// Life is an attempt that can be spoken to, or could be until this moment. A nil
// Life is of a node that has none.
type Life struct {
	host.Link
	N     int
	Bound bool // it ends with this process
}

// New returns an empty Table of what lives on h.
func New(h host.Host, l *log.Logger, p Policy) *Table {
	return &Table{policy: p, host: h, log: l, live: make(map[string]*Life), gone: make(chan host.Ref), over: make(chan struct{})}
}

// Of is the attempt of a node that can be spoken to; nil: there is none.
func (t *Table) Of(node string) *Life { return t.live[node] }

// All are the attempts that can be spoken to, by node.
func (t *Table) All() iter.Seq2[string, *Life] { return maps.All(t.live) }

// Bound reports whether an attempt is among them that ends with this process.
func (t *Table) Bound() bool {
	for _, l := range t.live {
		if l.Bound {
			return true
		}
	}
	return false
}

// Stands reports whether it can be spoken to still.
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

// patience bounds the wait for an attempt to take what it is told.
const patience = 3 * time.Second

// Tell says something to an attempt that answers at once, and waits a moment.
func (l *Life) Tell(ctx context.Context, m attempt.Message) (attempt.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.Say(ctx, m)
}

// Number is N, by which whoever hands out mail knows a life; 0: there is none.
func (l *Life) Number() int {
	if l == nil {
		return 0
	}
	return l.N
}

// Gone delivers attempts that can be spoken to no longer, or whose process has
// ended: Look finds out which.
func (t *Table) Gone() <-chan host.Ref { return t.gone }

// Left tells that the process of an attempt has ended. It returns when that is
// received, or when nobody receives it any more.
func (t *Table) Left(ref host.Ref) {
	select {
	case t.gone <- ref:
	case <-t.over:
	}
}

// Hold takes an attempt that was reached as it was started.
func (t *Table) Hold(ref host.Ref, l host.Link, bound bool) {
	t.live[ref.Node] = &Life{Link: l, N: ref.N, Bound: bound}
}

// Reach connects to an attempt that has begun, unless a link to it stands. One that
// does not listen yet is no error: whoever calls does so again.
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

// Look finds out whether an attempt without an end on record lives that cannot be
// spoken to, and reaches it if it does. If it is Gone, its end is on record
// afterwards. fresh is as for host.Host.Probe.
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

// Say says something to the attempt of a node, if there is one to hear it, and does
// not wait for its answer.
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

// Drop lets go of attempt n of a node, which is over; 0: of whichever it has.
func (t *Table) Drop(node string, n int) {
	if l := t.live[node]; l != nil && (n == 0 || l.N == n) {
		l.Close()
		delete(t.live, node)
	}
}

// Close lets go of all attempts, and waits for what is being said to them, which
// their end or that of its context ends. The attempts go on.
func (t *Table) Close() {
	close(t.over)
	for _, l := range t.live {
		l.Close()
	}
	t.tasks.Wait()
}
