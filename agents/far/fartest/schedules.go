package fartest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/far"
	"cmux/agents/runs/run"
)

const (
	nodes    = 3
	machines = 2
	mostSeen = 12 * time.Hour // within it all nodes end once nothing fails
)

// step is one event of a schedule.
type step struct {
	what string
	on   int           // which machine or node
	for_ time.Duration // how long
	n    int           // bytes
}

func (s step) String() string { return fmt.Sprintf("%s %d %s %d", s.what, s.on, s.for_, s.n) }

// drawSteps draws a schedule.
func drawSteps(t *rapid.T) []step {
	short := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(1, int64(2*far.Beat/time.Millisecond)).Draw(t, "ms")) * time.Millisecond
	})
	long := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(1, int64(2*lostAfter/time.Second)).Draw(t, "s")) * time.Second
	})
	one := rapid.Custom(func(t *rapid.T) step {
		s := step{what: rapid.SampledFrom([]string{
			"pass", "pass", "wait", "cut", "cut", "stall", "refuse", "machine", "home", "work", "work", "finish", "order", "order", "give up", "redial",
		}).Draw(t, "what"), on: rapid.IntRange(0, nodes-1).Draw(t, "on")}
		switch s.what {
		case "pass":
			s.for_ = short.Draw(t, "for")
		case "wait":
			s.for_ = long.Draw(t, "for")
		case "stall":
			s.for_ = rapid.OneOf(short, long).Draw(t, "for")
		case "cut":
			s.n = rapid.IntRange(0, 3000).Draw(t, "bytes")
		}
		return s
	})
	return rapid.SliceOfN(one, 5, 60).Draw(t, "steps")
}

// schedules runs random schedules of failures.
func schedules(t *testing.T, make func(t *testing.T) Setup) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := drawSteps(rt)
		var err error
		synctest.Test(t, func(t *testing.T) { // no panic of rapid may leave the bubble
			b := newBench(t, make(t), machines)
			err = newPlay(b).perform(steps)
			b.leave()
		})
		if err != nil {
			rt.Fatalf("%v\n%v", err, steps)
		}
	})
}

// play is a schedule under way.
type play struct {
	*bench
	notes notes
	up    [machines]bool
	open  [machines]bool // not refused
	alive bool           // home
	kill  context.CancelFunc
	all   sync.WaitGroup
	count int // of orders
}

// notes are home's, and survive its process.
type notes struct {
	mu       sync.Mutex
	nodes    [nodes]*note
	unclosed map[far.Ref]bool // attempts that were lost, and whose machines may not know
	faults   []error
}

// note is what home has recorded of a node.
type note struct {
	name    string
	n       int
	started bool // Open may have been called
	machine string
	got     []far.Entry          // of attempt n
	orders  map[far.Ref][]string // put for certain
	end     far.Ref              // the attempt that ended
	done    bool
	giveUp  bool // a person wants another attempt
}

func newPlay(b *bench) *play {
	p := &play{bench: b}
	p.notes.unclosed = map[far.Ref]bool{}
	for i := range p.notes.nodes {
		p.notes.nodes[i] = &note{name: fmt.Sprint("node-", i), n: 1, orders: map[far.Ref][]string{}}
	}
	for i := range machines {
		p.up[i], p.open[i] = true, true
	}
	p.live()
	return p
}

func (p *play) fault(format string, a ...any) {
	p.notes.mu.Lock()
	defer p.notes.mu.Unlock()
	p.notes.faults = append(p.notes.faults, fmt.Errorf(format, a...))
}

// live has home's process, which bench started, carry its nodes out.
func (p *play) live() {
	ctx, cancel := context.WithCancel(p.ctx)
	p.kill, p.alive = cancel, true
	for _, n := range p.notes.nodes {
		p.all.Go(func() { p.node(ctx, p.c, n) })
	}
	p.all.Go(func() { p.tidy(ctx, p.c) })
}

// die ends home's process.
func (p *play) die() {
	p.kill()
	p.stop()
	p.all.Wait()
	p.alive = false
}

// node carries a node out, as a runner does.
func (p *play) node(ctx context.Context, c far.Carrier, n *note) {
	for ctx.Err() == nil {
		p.notes.mu.Lock()
		if n.done {
			p.notes.mu.Unlock()
			return
		}
		ref := refOf(n.name, n.n)
		giveUp := n.giveUp
		want := need
		want.Again, want.Machine = n.started, n.machine
		n.started = true
		p.notes.mu.Unlock()
		if giveUp {
			if p.close(ctx, c, ref, far.GivenUp) == nil {
				p.redo(n, ref)
			}
			continue
		}
		err := c.Open(ctx, ref, want, job)
		if err == nil {
			err = p.follow(ctx, c, n, ref)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, far.ErrClosed):
			// It is closed for home. Its program may run until it is lost.
			if pulse, err := c.Pulse(ctx, ref); err == nil && pulse.State == far.Lost {
				p.redo(n, ref)
			} else {
				pause(ctx)
			}
		case err != nil:
			p.fault("%s: %w", ref, err)
			return
		}
	}
}

// next has another attempt follow.
func (n *note) next() {
	n.n, n.started, n.machine, n.got, n.giveUp = n.n+1, false, "", nil, false
}

// pause waits a while.
func pause(ctx context.Context) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
}

// redo has the next attempt after one that is over.
func (p *play) redo(n *note, ref far.Ref) {
	for _, m := range p.machines {
		if slices.Contains(m.Running(), ref) {
			p.fault("%s is over for home, and its program runs", ref)
		}
	}
	p.notes.mu.Lock()
	defer p.notes.mu.Unlock()
	if n.n == ref.N && !n.done {
		n.next()
		p.notes.unclosed[ref] = true
	}
}

// follow records the entries of an attempt until its end is collected.
func (p *play) follow(ctx context.Context, c far.Carrier, n *note, ref far.Ref) error {
	p.notes.mu.Lock()
	from := uint64(len(n.got))
	p.notes.mu.Unlock()
	next := from + 1
	err := c.Follow(ctx, ref, from, func(e far.Entry) error {
		if e.Seq != next {
			p.fault("%s: entry %d came in place of %d", ref, e.Seq, next)
		}
		next++
		p.notes.mu.Lock()
		defer p.notes.mu.Unlock()
		if ctx.Err() != nil {
			return ctx.Err() // a process that was killed records nothing
		}
		n.got = append(n.got, e)
		if e.Claim != nil {
			n.machine = e.Claim.Machine
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.notes.mu.Lock()
	var last far.Entry
	if len(n.got) > 0 {
		last = n.got[len(n.got)-1]
	}
	p.notes.mu.Unlock()
	if last.Kind != far.End {
		p.fault("%s: Follow returned without the end", ref)
		return errors.New("no end")
	}
	if err := p.close(ctx, c, ref, far.WasCollected); err != nil {
		return err
	}
	p.notes.mu.Lock()
	defer p.notes.mu.Unlock()
	if last.Record.Type == run.Vanished {
		n.next()
	} else {
		n.done, n.end = true, ref
	}
	return nil
}

// close ends an attempt, whatever its machine fails with.
func (p *play) close(ctx context.Context, c far.Carrier, ref far.Ref, why far.Why) error {
	for {
		err := c.Close(ctx, ref, why)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		pause(ctx)
	}
}

// tidy closes attempts that were lost, and those that a person gives up.
func (p *play) tidy(ctx context.Context, c far.Carrier) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	under, asked := map[far.Ref]bool{}, map[far.Ref]bool{}
	for {
		p.notes.mu.Lock()
		for ref := range p.notes.unclosed {
			if under[ref] {
				continue
			}
			under[ref] = true
			all.Go(func() {
				if p.close(ctx, c, ref, far.GivenUp) == nil {
					p.notes.mu.Lock()
					delete(p.notes.unclosed, ref)
					p.notes.mu.Unlock()
				}
			})
		}
		for _, n := range p.notes.nodes {
			ref := refOf(n.name, n.n)
			if n.giveUp && !n.done && !asked[ref] { // node does it, once its calls fail
				asked[ref] = true
				all.Go(func() {
					ctx, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					c.Close(ctx, ref, far.GivenUp)
				})
			}
		}
		p.notes.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// perform carries out a schedule, lets everything recover, and judges.
func (p *play) perform(steps []step) error {
	for _, s := range steps {
		p.step(s)
		p.pulses()
	}
	p.recover()
	for began := time.Now(); !p.done() && time.Since(began) < mostSeen; {
		time.Sleep(time.Second)
		p.pulses()
		for _, m := range p.machines {
			for _, ref := range m.Running() {
				m.Work(ref, "more")
				m.Finish(ref)
			}
		}
	}
	p.judge()
	p.die()
	return errors.Join(append(p.notes.faults, p.witness.err())...)
}

func (p *play) step(s step) {
	i := s.on % machines
	m := p.machines[i]
	switch s.what {
	case "pass", "wait":
		time.Sleep(s.for_)
	case "cut":
		p.Cut(m, s.n)
	case "redial":
		p.Cut(m, 0)
	case "stall":
		p.Stall(m, s.for_)
	case "refuse":
		p.Refuse(m, p.open[i])
		p.open[i] = !p.open[i]
	case "machine":
		if p.up[i] {
			p.down(m)
		} else {
			p.bench.up(m)
		}
		p.up[i] = !p.up[i]
	case "home":
		if p.alive {
			p.die()
		} else {
			p.home()
			p.live()
		}
	case "work", "finish":
		for _, ref := range m.Running() {
			m.Work(ref, strings.Repeat("x", s.on*100))
			if s.what == "finish" {
				m.Finish(ref)
			}
		}
	case "order":
		p.order(p.notes.nodes[s.on])
	case "give up":
		p.notes.mu.Lock()
		n := p.notes.nodes[s.on]
		n.giveUp = n.started && !n.done && (len(n.got) == 0 || n.got[len(n.got)-1].Kind != far.End)
		p.notes.mu.Unlock()
	}
}

// order puts an order, and again until it was put for certain.
func (p *play) order(n *note) {
	if !p.alive {
		return
	}
	p.count++
	id := fmt.Sprint("order-", p.count)
	p.notes.mu.Lock()
	ref := refOf(n.name, n.n)
	p.notes.mu.Unlock()
	for range 3 {
		ctx, cancel := context.WithTimeout(p.ctx, time.Second)
		err := p.c.Put(ctx, ref, far.Entry{ID: id, Kind: far.Order})
		cancel()
		if err == nil {
			p.notes.mu.Lock()
			n.orders[ref] = append(n.orders[ref], id)
			p.notes.mu.Unlock()
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return // it is over, or nobody has it yet
		}
	}
}

// pulses reports an attempt that home calls lost while its program runs.
func (p *play) pulses() {
	if !p.alive {
		return
	}
	for _, m := range p.machines {
		for _, ref := range m.Running() {
			if pulse, err := p.c.Pulse(p.ctx, ref); err != nil || pulse.State == far.Lost {
				if slices.Contains(m.Running(), ref) {
					p.fault("%s runs at %s, and its pulse is %+v, %v", ref, m.Name(), pulse, err)
				}
			}
		}
	}
}

// recover undoes all failures.
func (p *play) recover() {
	for i, m := range p.machines {
		p.Stall(m, 0)
		if !p.open[i] {
			p.Refuse(m, false)
		}
		if !p.up[i] {
			p.bench.up(m)
			p.up[i] = true
		}
		p.Cut(m, 0)
	}
	if !p.alive {
		p.home()
		p.live()
	}
}

func (p *play) done() bool {
	p.notes.mu.Lock()
	defer p.notes.mu.Unlock()
	return len(p.notes.unclosed) == 0 && !slices.ContainsFunc(p.notes.nodes[:], func(n *note) bool { return !n.done })
}

// judge compares what home has with what machines did.
func (p *play) judge() {
	if !p.done() {
		p.notes.mu.Lock()
		var stand []string
		for _, n := range p.notes.nodes {
			pulse, _ := p.c.Pulse(p.ctx, refOf(n.name, n.n))
			stand = append(stand, fmt.Sprintf("%s/%d done %v: %+v", n.name, n.n, n.done, pulse))
		}
		p.notes.mu.Unlock()
		p.fault("%s after the last failure: %v, not closed: %v", mostSeen, stand, p.notes.unclosed)
		return
	}
	for _, n := range p.notes.nodes {
		for i := range n.n {
			ref := refOf(n.name, i+1)
			var ran []string
			for _, m := range p.machines {
				if _, did := m.Has(ref); did {
					ran = append(ran, m.Name())
				}
				if orders := m.Orders(ref); len(orders) > 0 {
					p.ordered(n, ref, orders)
				}
			}
			if len(ran) > 1 {
				p.fault("%s ran on %v", ref, ran)
			}
		}
		journal := p.runsAt(n.end).Journal(n.end)
		if !slices.EqualFunc(n.got, journal, func(a, b far.Entry) bool {
			return a.Seq == b.Seq && a.Kind == b.Kind && string(a.Data) == string(b.Data)
		}) {
			p.fault("home has %v of %s, and its machine wrote %v", n.got, n.end, journal)
		}
	}
}

// runsAt returns the machine that ran an attempt.
func (p *play) runsAt(ref far.Ref) *Machine {
	for _, m := range p.machines {
		if _, ran := m.Has(ref); ran {
			return m
		}
	}
	p.fault("%s ended, and ran nowhere", ref)
	return p.machines[0]
}

// ordered reports orders that came twice, not at all or in another order.
func (p *play) ordered(n *note, ref far.Ref, got []far.Entry) {
	seen := map[string]bool{}
	var order []string
	for _, e := range got {
		if seen[e.ID] {
			p.fault("%s: %s came twice", ref, e.ID)
		}
		seen[e.ID] = true
		if slices.Contains(n.orders[ref], e.ID) {
			order = append(order, e.ID)
		}
	}
	if !slices.Equal(order, n.orders[ref]) {
		p.fault("%s: orders %v came, want %v", ref, order, n.orders[ref])
	}
}
