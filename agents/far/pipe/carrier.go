package pipe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"cmux/agents/far"
)

// Options say whom a Carrier connects.
type Options struct {
	Home     string   // names this installation to the machines: its heartbeats hold their leases
	Cmux     string   // version of this cmux
	Machines []Dialer // each is kept connected
	Log      *log.Logger
}

// Carrier is home's side of connections to any number of machines. It keeps nothing on
// disk: a machine keeps the journals, and a caller opens its attempts again after a start
// (far.Need.Again).
type Carrier struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
	wake   chan struct{} // tells clock of an attempt that it does not know

	mu       sync.Mutex
	changed  chan struct{} // closed at the next change of what is below
	attempts map[far.Ref]*attempt
	live     map[far.Ref]*attempt // those that may still be lost
	machines []*machine
	waiting  int // how many calls of Open wait for a machine
}

var _ far.Carrier = (*Carrier)(nil)

// attempt is what this process knows of one. The carrier's mu guards it.
type attempt struct {
	ref    far.Ref
	opened bool     // by this process
	doubt  bool     // an earlier process may have given it to a machine that has not been reached yet
	pin    string   // name of the machine that had it when home started
	at     *machine // that has it, or may: Open was sent to it
	sure   bool     // it has it
	watch  far.Watch
	done   chan struct{} // closed with over
	over   bool          // it is closed or lost, and nothing more is delivered
	lost   bool
	why    far.Why
	told   bool   // its machine knows that it is over
	fault  error  // why the machine could not close it
	ended  bool   // its End is in the journal
	has    bool   // its End was delivered
	hangs  string // why it waits
}

// New connects to machines until Close is called or ctx ends. It does not wait for them.
func New(ctx context.Context, o Options) *Carrier {
	if o.Log == nil {
		o.Log = log.New(io.Discard, "", 0)
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &Carrier{
		o: o, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1),
		changed: make(chan struct{}), attempts: map[far.Ref]*attempt{}, live: map[far.Ref]*attempt{},
	}
	for _, d := range o.Machines {
		m := &machine{c: c, d: d, fault: NotReached, refused: map[far.Ref]refusal{}, owes: map[far.Ref]bool{}, closing: map[far.Ref]bool{}}
		c.machines = append(c.machines, m)
	}
	for _, m := range c.machines {
		c.all.Go(func() { m.run(ctx) })
	}
	c.all.Go(c.clock)
	return c
}

// Stop ends all connections, and waits for it. Calls that wait fail. Attempts continue on
// their machines.
func (c *Carrier) Stop() {
	c.cancel()
	c.all.Wait()
}

// NotReached is the fault of a machine that has neither answered nor failed yet.
const NotReached = "not reached yet"

var errStopped = errors.New("cmux has ended its connections to machines")

// get returns what is known of an attempt. mu is held.
func (c *Carrier) get(ref far.Ref) *attempt {
	a := c.attempts[ref]
	if a == nil {
		a = &attempt{ref: ref, done: make(chan struct{})}
		c.attempts[ref] = a
	}
	return a
}

// tell wakes whatever waits for a change. mu is held.
func (c *Carrier) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits for a change after the moment that mu was held.
func (c *Carrier) await(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return errStopped
	}
}

// finish ends an attempt for home: nothing more is delivered, and its machine is told to
// close it. mu is held.
func (c *Carrier) finish(a *attempt, why far.Why) {
	if !a.over {
		a.over, a.why = true, why
		close(a.done)
		if a.at != nil {
			a.at.owes[a.ref] = true
		}
		c.tell()
	}
}

// check has an attempt lost if its time is over, and returns how long it has. 0: it has
// no time that ends. mu is held.
func (c *Carrier) check(a *attempt, now time.Time) time.Duration {
	if a.safe() {
		return 0
	}
	if a.watch.Lost(now) {
		a.lost = true
		c.finish(a, far.GivenUp)
		return 0
	}
	if a.watch.Asks {
		return 0
	}
	return a.watch.After() - a.watch.Silent(now)
}

// safe reports whether it does not matter any more whether the attempt is lost.
func (a *attempt) safe() bool {
	return !a.opened || a.has || a.lost || a.told || a.over && a.why == far.WasCollected
}

// clock notices when an attempt is lost.
func (c *Carrier) clock() {
	for {
		c.mu.Lock()
		next := time.Hour
		now := time.Now()
		for ref, a := range c.live {
			left := c.check(a, now)
			if a.safe() {
				delete(c.live, ref)
			} else if left > 0 {
				next = min(next, left)
			}
		}
		c.mu.Unlock()
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-c.wake:
		case <-c.ctx.Done():
		}
		timer.Stop()
		if c.ctx.Err() != nil {
			return
		}
	}
}

// watched has clock look at an attempt whose watch began.
func (c *Carrier) watched() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// beat takes in a heartbeat of a machine, which names the attempts that it has, and
// returns those whose leases it extends.
func (c *Carrier) beat(m *machine, all []held) (accepted []far.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.has(m, all)
	for _, h := range all {
		a := c.attempts[h.Ref]
		if a == nil || !a.opened {
			continue // another process of this home looks after it
		}
		c.check(a, now)
		if a.over || a.at != m {
			continue // toClose has it closed
		}
		if a.watch.Accept(now) && h.State != far.Ended {
			accepted = append(accepted, h.Ref)
		}
	}
	return accepted
}

// has takes in which attempts a machine has. mu is held.
func (c *Carrier) has(m *machine, all []held) {
	before := m.held
	m.held = make(map[far.Ref]far.State, len(all))
	news := before == nil
	for _, h := range all {
		state, known := before[h.Ref]
		news = news || !known || state != h.State
		m.held[h.Ref] = h.State
		a := c.attempts[h.Ref]
		if a == nil {
			continue
		}
		if a.at == nil && !a.over {
			a.at = m
			a.watch.Accept(time.Now())
			c.watched()
		}
		if a.at == m {
			a.sure = true
			a.ended = a.ended || h.State == far.Ended
		}
	}
	if news {
		c.tell()
	}
}

// met takes in that a machine is connected and what it has.
func (c *Carrier) met(m *machine, l *link, known far.Machine, all []held) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.machines {
		if other != m && other.link != nil && other.known.Name == known.Name {
			return fmt.Errorf("%s also reaches a machine with the name %q: start one of them with another --name", other.d.URL(), known.Name)
		}
	}
	if m.reached && m.known.Name != known.Name {
		c.o.Log.Printf("%s reaches %s now, and reached %s before", m.d.URL(), known.Name, m.known.Name)
	}
	if name := known.Name; strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) || len(name) > 100 {
		return fmt.Errorf("%.100q is no name of a machine", name)
	}
	sure := map[far.Ref]bool{}
	for ref, a := range c.live {
		sure[ref] = a.at == m && a.sure
	}
	c.o.Log.Printf("%s: connected with %s", m.d.URL(), known.Name)
	m.link, m.known, m.reached, m.fault, m.held = l, known, true, "", nil
	clear(m.refused)
	clear(m.closing)
	c.has(m, all)
	for ref, a := range c.live {
		if sure[ref] && !a.over && !a.has && !m.has(ref) {
			c.o.Log.Printf("%s: %s no longer has %s", m.d.URL(), known.Name, ref)
			a.lost = true
			c.finish(a, far.GivenUp)
		}
	}
	c.tell()
	return nil
}

// left takes in that a machine is not connected, and why.
func (c *Carrier) left(m *machine, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := m.reason(err)
	if m.link != nil {
		m.heard = time.Now().Add(-m.link.silent())
	}
	if m.fault != why && c.ctx.Err() == nil {
		c.o.Log.Printf("%s: %s", m.d.URL(), why)
	}
	m.link, m.fault = nil, why
	c.tell()
}

// described takes in how a machine describes itself.
func (c *Carrier) described(m *machine, known far.Machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known.Name = m.known.Name // it is the machine that was met
	m.known = known
	c.tell()
}

// toClose returns the attempts that a machine is to close now, what is closed at the next
// change, and whether something waits for a machine.
func (c *Carrier) toClose(m *machine) (all map[far.Ref]far.Why, changed <-chan struct{}, waiting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = map[far.Ref]far.Why{}
	add := func(ref far.Ref, why far.Why) {
		if !m.closing[ref] {
			m.closing[ref] = true
			all[ref] = why
		}
	}
	for ref := range m.owes {
		add(ref, c.attempts[ref].why)
	}
	for ref := range m.held {
		switch a := c.attempts[ref]; {
		case a == nil:
		case a.over:
			add(ref, a.why)
		case a.opened && a.at != nil && a.at != m:
			add(ref, far.GivenUp) // another machine carries it out
		}
	}
	return all, c.changed, c.waiting > 0
}

// closed takes in that a machine has closed an attempt, or why it failed to.
func (c *Carrier) closed(m *machine, ref far.Ref, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.attempts[ref]
	if err == nil || errors.Is(err, far.ErrClosed) || errors.Is(err, far.ErrUnknown) {
		delete(m.closing, ref)
		delete(m.owes, ref)
		delete(m.held, ref)
		a.told = a.told || a.over && (a.at == m || a.at == nil)
	} else {
		a.fault = err
	}
	c.tell()
}

// closeAgain has a machine told again to close an attempt.
func (c *Carrier) closeAgain(m *machine, ref far.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(m.closing, ref)
	c.tell()
}

// place returns the machine that an attempt is opened on, or why there is none yet. mu is
// held.
func (c *Carrier) place(a *attempt, need far.Need, now time.Time) (*machine, string) {
	if a.at != nil {
		return a.at, ""
	}
	var silent []string
	for _, m := range c.machines {
		switch {
		case m.has(a.ref):
			a.at, a.sure = m, true
			a.watch.Accept(now)
			c.watched()
			return m, ""
		case need.Machine != "" && m.reached && m.known.Name == need.Machine && m.link != nil:
			c.o.Log.Printf("%s: %s no longer has %s", m.d.URL(), m.known.Name, a.ref)
			a.lost = true
			c.finish(a, far.GivenUp)
			return nil, ""
		case m.held == nil:
			silent = append(silent, m.describe().Name+": "+m.fault)
		}
	}
	if need.Machine != "" {
		return nil, fmt.Sprintf("waits for %s, which has it", need.Machine) + because(silent)
	}
	if a.doubt && len(silent) > 0 {
		return nil, "waits for the machine that an earlier process of cmux may have given it to" + because(silent)
	}
	if a.doubt {
		a.doubt, a.watch = false, far.Watch{For: a.watch.For, Asks: a.watch.Asks}
	}
	all := make([]far.Machine, len(c.machines))
	for i, m := range c.machines {
		all[i] = m.describe()
		if r, ok := m.refused[a.ref]; ok && now.Sub(r.at) < refusedIs && all[i].Fault == "" {
			all[i].Fault = "refuses it: " + r.why
		}
	}
	i, why := need.Choose(all)
	if i < 0 {
		return nil, why
	}
	m := c.machines[i]
	m.known.Busy++ // until it describes itself again
	a.at, a.sure = m, false
	a.watch.Adopt(now)
	c.watched()
	return m, ""
}

func because(silent []string) string {
	if len(silent) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(silent, ", "))
}

// Open implements far.Carrier.
func (c *Carrier) Open(ctx context.Context, ref far.Ref, need far.Need, job far.Job) error {
	if err := ref.Check(); err != nil {
		return err
	}
	request := &frame{Op: opOpen, Ref: &ref, Need: &need, Job: &job}
	if _, err := encode(request); err != nil {
		return fmt.Errorf("%s cannot travel to a machine: %w", ref, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.get(ref)
	if !a.opened {
		a.opened = true
		c.live[ref] = a
		a.watch = far.Watch{For: job.LostAfter, Asks: job.Asks}
		if need.Again || need.Machine != "" || a.at != nil {
			a.doubt = true
			a.watch.Adopt(time.Now())
			c.watched()
		}
	}
	a.pin = need.Machine
	c.waiting++
	defer func() { c.waiting-- }()
	for {
		now := time.Now()
		c.check(a, now)
		if a.over {
			return far.ErrClosed
		}
		if a.sure {
			return nil
		}
		m, why := c.place(a, need, now)
		if a.over || a.sure {
			continue
		}
		a.hangs = why
		changed := c.changed
		if m == nil || m.link == nil {
			if m != nil {
				a.hangs = fmt.Sprintf("waits for %s, which may have it (%s)", m.describe().Name, m.fault)
			}
			c.mu.Unlock()
			err := c.await(ctx, changed)
			c.mu.Lock()
			if err != nil {
				return err
			}
			continue
		}
		l := m.link
		c.mu.Unlock()
		f := *request
		_, err := l.call(ctx, a.done, &f)
		c.mu.Lock()
		switch {
		case err == nil:
			a.sure = true
			c.tell()
		case errors.Is(err, errDown):
			if c.ctx.Err() != nil {
				return errStopped
			}
			if m.link == l { // its end is noticed in a moment
				changed := c.changed
				c.mu.Unlock()
				err := c.await(ctx, changed)
				c.mu.Lock()
				if err != nil {
					return err
				}
			}
		case ctx.Err() != nil:
			return err
		case errors.Is(err, far.ErrClosed):
			a.told = a.told || !a.over
			c.finish(a, far.GivenUp)
		case !a.sure && a.at == m:
			c.o.Log.Printf("%s: %s refuses %s: %v", m.d.URL(), m.known.Name, ref, err)
			a.at = nil
			delete(m.owes, ref)
			a.watch = far.Watch{For: a.watch.For, Asks: a.watch.Asks}
			m.known.Busy = max(0, m.known.Busy-1)
			m.refused[ref] = refusal{err.Error(), time.Now()}
			c.tell()
		}
	}
}

// reach waits until the machine that has an attempt is connected.
func (c *Carrier) reach(ctx context.Context, ref far.Ref) (*attempt, *link, error) {
	if err := ref.Check(); err != nil {
		return nil, nil, err
	}
	for {
		c.mu.Lock()
		a := c.get(ref)
		c.check(a, time.Now())
		over, changed, m, asked := a.over, c.changed, a.at, true
		for _, other := range c.machines {
			if m == nil && other.has(ref) {
				m = other
			}
			asked = asked && other.held != nil
		}
		var l *link
		if m != nil && (a.sure || m.has(ref)) {
			l = m.link
		}
		unknown := m == nil && !a.opened && asked
		c.mu.Unlock()
		switch {
		case over:
			return a, nil, far.ErrClosed
		case l != nil && !isDown(l):
			return a, l, nil
		case unknown:
			return a, nil, far.ErrUnknown
		}
		if err := c.await(ctx, changed); err != nil {
			return a, nil, err
		}
	}
}

// isDown reports whether a connection is over that the carrier has not taken leave of.
func isDown(l *link) bool {
	select {
	case <-l.down:
		return true
	default:
		return false
	}
}

// maxPut bounds the entries of a Put that travel at once, in bytes.
const maxPut = 1 << 20

// Put implements far.Carrier.
func (c *Carrier) Put(ctx context.Context, ref far.Ref, entries ...far.Entry) error {
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].ID == "" {
			entries[i].ID = rand.Text() // it may be sent more than once
		}
	}
	for len(entries) > 0 {
		n, size := 0, 0
		for n < len(entries) && (n == 0 || size < maxPut) {
			b, err := json.Marshal(&entries[n])
			if err != nil {
				return err
			}
			if size += len(b); n == 0 || size < maxPut {
				n++
			}
		}
		if err := c.put(ctx, ref, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

func (c *Carrier) put(ctx context.Context, ref far.Ref, entries []far.Entry) error {
	for {
		a, l, err := c.reach(ctx, ref)
		if err != nil {
			return err
		}
		_, err = l.call(ctx, a.done, &frame{Op: opPut, Ref: &ref, Entries: entries})
		if !errors.Is(err, errDown) {
			return err
		}
	}
}

// Follow implements far.Carrier. It continues after a lost connection behind the last
// entry that it delivered.
func (c *Carrier) Follow(ctx context.Context, ref far.Ref, from uint64, f func(far.Entry) error) error {
	cur := far.Cursor{At: from}
	for {
		a, l, err := c.reach(ctx, ref)
		if err != nil {
			return err
		}
		err = l.follow(ctx, a.done, ref, &cur, func(e far.Entry) error {
			if err := c.deliver(a, e.Kind == far.End); err != nil {
				return err
			}
			return f(e)
		})
		if err == nil {
			return c.deliver(a, true)
		}
		if !errors.Is(err, errDown) {
			return err
		}
	}
}

// deliver refuses entries of an attempt that is over. One whose end is delivered is never
// lost.
func (c *Carrier) deliver(a *attempt, end bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.check(a, time.Now())
	if a.has {
		return nil
	}
	if a.over {
		return far.ErrClosed
	}
	if end {
		a.has, a.ended = true, true
		c.tell()
	}
	return nil
}

// Pulse implements far.Carrier.
func (c *Carrier) Pulse(_ context.Context, ref far.Ref) (far.Pulse, error) {
	if err := ref.Check(); err != nil {
		return far.Pulse{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	a := c.attempts[ref]
	if a == nil {
		a = &attempt{ref: ref}
	}
	c.check(a, now)
	at, sure, ended := a.at, a.sure, a.ended
	for _, m := range c.machines {
		if state, ok := m.held[ref]; ok && at == nil {
			at, sure, ended = m, true, ended || state == far.Ended
		}
	}
	var p far.Pulse
	if at != nil {
		p.Machine = at.known.Name
		p.Silent = at.silent(now)
	}
	switch {
	case a.has, a.told && a.why == far.WasCollected:
		p.State = far.Ended
	case a.lost, a.told:
		p.State = far.Lost
	case at == nil && !a.opened:
		p.State = far.Unknown
	case at == nil && a.pin != "":
		p = far.Pulse{State: far.Working, Machine: a.pin, Silent: a.watch.Silent(now)}
	case !sure:
		p.State, p.Why = far.Waiting, a.hangs
	case ended:
		p.State = far.Ended
	default:
		p.State = far.Working
	}
	return p, nil
}

// silent is how long ago a frame of the machine came. The carrier's mu is held.
func (m *machine) silent(now time.Time) time.Duration {
	switch {
	case m.link != nil:
		return m.link.silent()
	case m.heard.IsZero():
		return 0
	}
	return now.Sub(m.heard)
}

// Close implements far.Carrier. If ctx ends before the machine was reached, it is told
// when it is.
func (c *Carrier) Close(ctx context.Context, ref far.Ref, why far.Why) error {
	if err := ref.Check(); err != nil {
		return err
	}
	c.mu.Lock()
	a := c.get(ref)
	a.fault = nil
	c.finish(a, why)
	for {
		asked := true
		holds := false
		for _, m := range c.machines {
			asked = asked && m.held != nil
			holds = holds || m.has(ref)
		}
		fresh := a.opened && !a.doubt // no machine but at can have it
		if a.at == nil && !holds && (fresh || asked) {
			a.told = true
		}
		told, fault, changed := a.told, a.fault, c.changed
		c.mu.Unlock()
		switch {
		case told:
			return nil
		case fault != nil:
			return fault
		}
		if err := c.await(ctx, changed); err != nil {
			return err
		}
		c.mu.Lock()
	}
}

// Machines implements far.Carrier.
func (c *Carrier) Machines(context.Context) ([]far.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]far.Machine, len(c.machines))
	for i, m := range c.machines {
		all[i] = m.describe()
	}
	return all, nil
}
