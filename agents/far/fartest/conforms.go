// Package fartest is the conformance suite of carriers between a run's home and its
// machines, with a model of a machine and a network that can be cut after any byte. Every
// far.Carrier passes the suite.
package fartest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/far"
)

// Setup is a carrier under test. The suite calls it in a bubble of testing/synctest, where
// hours pass in no time.
type Setup struct {
	// Home starts a process of home that reaches the machines. stop ends the process as a
	// kill does: it stores nothing.
	Home func(machines []*Machine) (c far.Carrier, stop func())
	// Up starts a process that serves m, with a heartbeat every far.Beat. Down ends it.
	Up, Down func(m *Machine)
	// Cut ends the connections of m after so many more bytes. New ones are made.
	Cut func(m *Machine, after int)
	// Refuse has no new connection to m made, ends those there are, or undoes that.
	Refuse func(m *Machine, refuse bool)
	// Stall has nothing pass between home and m for a while.
	Stall func(m *Machine, d time.Duration)
}

// Conforms holds a carrier to the contract of far.Carrier.
func Conforms(t *testing.T, make func(t *testing.T) Setup) {
	for _, c := range []struct {
		name string
		test func(b *bench)
	}{
		{"an attempt", anAttempt},
		{"one ref is one attempt", oneRef},
		{"waits for a machine that fits", waits},
		{"a refusal goes to another machine", refused},
		{"entries are put once", puts},
		{"a follow delivers once", follows},
		{"a closed journal stays closed", staysClosed},
		{"given up while silent", givenUp},
		{"given up where it cannot be closed", cannotClose},
		{"a silent machine loses its attempt", loses},
		{"without another attempt nothing is lost", asks},
		{"a restart gives nothing up early", restarts},
		{"a restart loses what is lost", restartsAndLoses},
		{"a machine that forgets an attempt has lost it", forgets},
		{"a second machine that has it closes it", strays},
		{"a slow home holds up nothing", slow},
		{"a machine that may have it is waited for", mayHave},
		{"a restart opens nothing twice", opensOnce},
		{"what nobody has", unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, make(t), 2)
				defer b.end()
				c.test(b)
			})
		})
	}
	t.Run("schedules", func(t *testing.T) { schedules(t, make) })
}

// lostAfter is the lease of the suite's jobs.
const lostAfter = 5 * time.Minute

var lost = far.Watch{For: lostAfter}

var (
	need = far.Need{Labels: []string{"gpu"}, Kind: "claude"}
	job  = far.Job{Version: far.Version, Cmux: "1", Graph: []byte(`{}`), LostAfter: lostAfter}
)

func refOf(node string, n int) far.Ref {
	return far.Ref{Project: "p-1", Run: "r", Node: node, N: n}
}

var ref = refOf("api", 1)

// bench is home and machines in a test.
type bench struct {
	*testing.T
	Setup
	ctx      context.Context
	witness  *Witness
	machines []*Machine
	c        far.Carrier
	stop     func()
}

func newBench(t *testing.T, s Setup, machines int) *bench {
	b := &bench{T: t, Setup: s, ctx: t.Context(), witness: &Witness{}}
	for i := range machines {
		m := NewMachine(b.witness, far.Machine{
			Name: fmt.Sprintf("gpu-%d", i+1), Labels: []string{"gpu"}, Agents: map[string]string{"claude": ""},
			Slots: 4, Cmux: "1", Version: far.Version,
		})
		b.machines = append(b.machines, m)
		b.up(m)
	}
	b.home()
	return b
}

func (b *bench) home() { b.c, b.stop = b.Home(b.machines) }

func (b *bench) up(m *Machine) {
	m.Start()
	b.Up(m)
}

func (b *bench) down(m *Machine) {
	b.Down(m)
	m.Stop()
}

// end ends all, and reports what must never be.
func (b *bench) end() {
	b.leave()
	if err := b.witness.err(); err != nil {
		b.Error(err)
	}
}

func (b *bench) leave() {
	b.stop()
	for _, m := range b.machines {
		b.down(m)
	}
}

// one has an attempt opened, and returns the machine that it runs on.
func (b *bench) one() *Machine {
	b.Helper()
	if err := b.c.Open(b.ctx, ref, need, job); err != nil {
		b.Fatal(err)
	}
	time.Sleep(2 * far.Beat)
	return b.runs(ref)
}

// runs returns the machine where the program of an attempt runs.
func (b *bench) runs(ref far.Ref) *Machine {
	b.Helper()
	for _, m := range b.machines {
		if slices.Contains(m.Running(), ref) {
			return m
		}
	}
	b.Fatalf("the program of %s runs nowhere", ref)
	return nil
}

// state returns how an attempt stands.
func (b *bench) state() far.Pulse {
	b.Helper()
	p, err := b.c.Pulse(b.ctx, ref)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func (b *bench) stands(want far.State) far.Pulse {
	b.Helper()
	p := b.state()
	if p.State != want {
		b.Errorf("it is %+v, want %q", p, want)
	}
	return p
}

// result is of a call in the background.
type result struct {
	done chan struct{}
	err  error
}

func start(f func() error) *result {
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = f()
	}()
	return r
}

// pending reports whether the call has not returned.
func (r *result) pending() bool {
	synctest.Wait()
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// wait returns the call's error.
func (r *result) wait() error {
	<-r.done
	return r.err
}

func (b *bench) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, d)
}

func anAttempt(b *bench) {
	m := b.one()
	if p := b.stands(far.Working); p.Machine != m.Name() {
		b.Errorf("it is at %q, want %q", p.Machine, m.Name())
	}
	m.Work(ref, "hello")
	m.Finish(ref)
	var got []far.Kind
	if err := b.c.Follow(b.ctx, ref, 0, func(e far.Entry) error { got = append(got, e.Kind); return nil }); err != nil {
		b.Error(err)
	}
	if want := []far.Kind{far.Claimed, far.Log, far.End}; !slices.Equal(got, want) {
		b.Errorf("%v came, want %v", got, want)
	}
	b.stands(far.Ended)
	if err := b.c.Close(b.ctx, ref, far.WasCollected); err != nil {
		b.Error(err)
	}
	if m.Closed(ref) != far.WasCollected {
		b.Error("the machine was not told")
	}
	all, err := b.c.Machines(b.ctx)
	if err != nil || len(all) != 2 || all[0].Name != "gpu-1" || all[0].Silent || all[0].Fault != "" || all[0].Where == "" {
		b.Errorf("the machines are %+v, %v", all, err)
	}
}

func oneRef(b *bench) {
	var calls []*result
	for range 3 {
		calls = append(calls, start(func() error { return b.c.Open(b.ctx, ref, need, job) }))
	}
	for _, call := range calls {
		if err := call.wait(); err != nil {
			b.Error(err)
		}
	}
	if err := b.c.Open(b.ctx, ref, need, job); err != nil {
		b.Error(err)
	}
	time.Sleep(time.Hour)
	b.runs(ref)
	b.onlyOne(ref)
}

// onlyOne reports that more than one machine has an attempt.
func (b *bench) onlyOne(ref far.Ref) {
	b.Helper()
	var at []string
	for _, m := range b.machines {
		if given, _ := m.Has(ref); given {
			at = append(at, m.Name())
		}
	}
	if len(at) != 1 {
		b.Errorf("%s was given to %v, want one machine", ref, at)
	}
}

func waits(b *bench) {
	for _, m := range b.machines {
		b.down(m)
	}
	b.machines[0].offer(func(m *far.Machine) { m.Labels = []string{"cpu"} })
	b.machines[1].offer(func(m *far.Machine) { m.Agents = map[string]string{"claude": "no login"} })
	for _, m := range b.machines {
		b.up(m)
	}
	open := start(func() error { return b.c.Open(b.ctx, ref, need, job) })
	time.Sleep(time.Minute)
	if !open.pending() {
		b.Fatal("it was opened", open.err)
	}
	if p := b.stands(far.Waiting); !strings.Contains(p.Why, "gpu-1: no label gpu") || !strings.Contains(p.Why, "gpu-2: claude is not ready: no login") {
		b.Errorf("it says %q", p.Why)
	}
	ctx, cancel := b.within(time.Minute)
	defer cancel()
	if err := b.c.Put(ctx, ref, far.Entry{ID: "1", Kind: far.Order}); !errors.Is(err, context.DeadlineExceeded) {
		b.Errorf("Put did not wait for the machine: %v", err)
	}
	b.machines[1].offer(func(m *far.Machine) { m.Agents = map[string]string{"claude": ""} })
	if err := open.wait(); err != nil {
		b.Fatal(err)
	}
	time.Sleep(2 * far.Beat)
	if m := b.runs(ref); m != b.machines[1] {
		b.Error("it runs at", m.Name())
	}
}

// offer changes what the machine offers.
func (m *Machine) offer(change func(*far.Machine)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.about)
}

func refused(b *bench) {
	b.machines[0].Refuse(errors.New("the project is not among --projects"))
	if m := b.one(); m != b.machines[1] {
		b.Error("it runs at", m.Name())
	}
	b.machines[1].Refuse(errors.New("its disk is full"))
	other := refOf("web", 1)
	ctx, cancel := b.within(time.Minute)
	defer cancel()
	if err := b.c.Open(ctx, other, need, job); !errors.Is(err, context.DeadlineExceeded) {
		b.Error(err)
	}
	p, err := b.c.Pulse(b.ctx, other)
	if err != nil || p.State != far.Waiting || !strings.Contains(p.Why, "--projects") || !strings.Contains(p.Why, "its disk is full") {
		b.Errorf("%+v %v", p, err)
	}
}

func puts(b *bench) {
	m := b.one()
	var want []string
	for i := range 60 {
		b.Cut(m, i*37)
		entries := []far.Entry{{ID: fmt.Sprint("a", i), Kind: far.Order}, {ID: fmt.Sprint("b", i), Kind: far.Code, Data: slices.Repeat([]byte{'x'}, i*100)}}
		if err := b.c.Put(b.ctx, ref, entries...); err != nil {
			b.Fatal(err)
		}
		want = append(want, entries[0].ID, entries[1].ID)
	}
	if err := b.c.Put(b.ctx, ref, far.Entry{ID: "a0", Kind: far.Order}); err != nil {
		b.Fatal(err)
	}
	big := far.Parts(far.Code, "big", slices.Repeat([]byte("0123456789"), 500_000))
	if err := b.c.Put(b.ctx, ref, big...); err != nil {
		b.Fatal(err)
	}
	for _, e := range big {
		want = append(want, e.ID)
	}
	var got []string
	for _, e := range m.Orders(ref) {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) {
		b.Errorf("%v came, want %v", got, want)
	}
}

func follows(b *bench) {
	m := b.one()
	const most = 200
	var got []uint64
	follow := start(func() error {
		return b.c.Follow(b.ctx, ref, 0, func(e far.Entry) error {
			got = append(got, e.Seq)
			return nil
		})
	})
	for i := range most {
		b.Cut(m, i*13)
		m.Work(ref, strings.Repeat("x", i))
		time.Sleep(time.Duration(i%7) * time.Second)
	}
	m.Finish(ref)
	if err := follow.wait(); err != nil {
		b.Fatal(err)
	}
	for i, seq := range got {
		if seq != uint64(i+1) {
			b.Fatalf("entry %d came in place of %d", seq, i+1)
		}
	}
	if len(got) != most+2 {
		b.Errorf("%d entries came, want %d", len(got), most+2)
	}
	got = nil
	stop := errors.New("home could not record it")
	if err := b.c.Follow(b.ctx, ref, most-10, func(e far.Entry) error {
		got = append(got, e.Seq)
		if len(got) == 3 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || !slices.Equal(got, []uint64{most - 9, most - 8, most - 7}) {
		b.Errorf("entries %v came, and %v", got, err)
	}
	if err := b.c.Follow(b.ctx, ref, most+2, func(e far.Entry) error { return fmt.Errorf("entry %d came", e.Seq) }); err != nil {
		b.Error(err)
	}
}

// closed holds every call to a closed journal.
func (b *bench) closed() {
	b.Helper()
	for name, call := range map[string]func() error{
		"Open":   func() error { return b.c.Open(b.ctx, ref, need, job) },
		"Put":    func() error { return b.c.Put(b.ctx, ref, far.Entry{ID: "late", Kind: far.Order}) },
		"Follow": func() error { return b.c.Follow(b.ctx, ref, 0, func(far.Entry) error { return nil }) },
	} {
		if err := call(); !errors.Is(err, far.ErrClosed) {
			b.Errorf("%s returns %v, want ErrClosed", name, err)
		}
	}
}

func staysClosed(b *bench) {
	m := b.one()
	follow := start(func() error { return b.c.Follow(b.ctx, ref, 0, func(far.Entry) error { return nil }) })
	if !follow.pending() {
		b.Fatal("Follow did not wait", follow.err)
	}
	for range 2 {
		if err := b.c.Close(b.ctx, ref, far.GivenUp); err != nil {
			b.Fatal(err)
		}
	}
	if len(m.Running()) > 0 || m.Closed(ref) != far.GivenUp {
		b.Error("the machine goes on")
	}
	if err := follow.wait(); !errors.Is(err, far.ErrClosed) {
		b.Error("Follow returns", err)
	}
	b.closed()
	b.stop()
	b.home()
	again := need
	again.Again = true
	if err := b.c.Close(b.ctx, ref, far.GivenUp); err != nil {
		b.Fatal("after a restart:", err)
	}
	b.closed()
	b.onlyOne(ref)
}

func givenUp(b *bench) {
	m := b.one()
	b.Refuse(m, true)
	ctx, cancel := b.within(time.Second)
	defer cancel()
	if err := b.c.Close(ctx, ref, far.GivenUp); !errors.Is(err, context.DeadlineExceeded) {
		b.Error("Close did not wait for the machine:", err)
	}
	b.closed()
	if p := b.state(); p.State == far.Lost {
		b.Error("it is lost while its program runs")
	}
	b.Refuse(m, false)
	time.Sleep(time.Minute)
	if m.Closed(ref) != far.GivenUp || len(m.Running()) > 0 {
		b.Error("the machine was not told when it was reached")
	}
}

// What home has given up gets no lease, so that it ends even where a machine cannot close it.
func cannotClose(b *bench) {
	m := b.one()
	full := errors.New("no space left on device")
	m.Keep(full)
	if err := b.c.Close(b.ctx, ref, far.GivenUp); err == nil || err.Error() != full.Error() {
		b.Error("Close returns", err)
	}
	b.runs(ref)
	if p := b.state(); p.State == far.Lost {
		b.Error("it is lost while its program runs")
	}
	time.Sleep(lostAfter + far.Beat)
	if len(m.Running()) > 0 {
		b.Error("its lease was extended")
	}
	m.Keep(nil)
	time.Sleep(time.Minute)
	if m.Closed(ref) != far.GivenUp {
		b.Error("the machine was not told again")
	}
	b.stands(far.Lost)
}

func loses(b *bench) {
	m := b.one()
	follow := start(func() error { return b.c.Follow(b.ctx, ref, 0, func(far.Entry) error { return nil }) })
	b.Refuse(m, true)
	time.Sleep(lostAfter - 2*far.Beat)
	b.runs(ref)
	if p := b.stands(far.Working); p.Silent < lostAfter-3*far.Beat {
		b.Errorf("silent for %s", p.Silent)
	}
	time.Sleep(2*far.Beat + far.Grace/2)
	if b.stands(far.Working); len(m.Running()) > 0 {
		b.Error("its program outlives the lease")
	}
	time.Sleep(far.Grace)
	b.stands(far.Lost)
	if err := follow.wait(); !errors.Is(err, far.ErrClosed) {
		b.Error("Follow returns", err)
	}
	b.closed()
	next := refOf(ref.Node, 2)
	if err := b.c.Open(b.ctx, next, need, job); err != nil {
		b.Fatal(err)
	}
	time.Sleep(2 * far.Beat)
	if b.runs(next) == m {
		b.Error("a machine that is not reached has it")
	}
	b.Refuse(m, false)
	time.Sleep(time.Minute)
	b.stands(far.Lost)
	if m.Closed(ref) != far.GivenUp {
		b.Error("the machine was not told when it was reached")
	}
}

func asks(b *bench) {
	asking := job
	asking.Asks = true
	if err := b.c.Open(b.ctx, ref, need, asking); err != nil {
		b.Fatal(err)
	}
	time.Sleep(2 * far.Beat)
	m := b.runs(ref)
	b.Refuse(m, true)
	time.Sleep(24 * time.Hour)
	b.stands(far.Working)
	b.runs(ref)
	b.Refuse(m, false)
	m.Finish(ref)
	if err := b.c.Follow(b.ctx, ref, 0, func(far.Entry) error { return nil }); err != nil {
		b.Error(err)
	}
}

func restarts(b *bench) {
	m := b.one()
	b.Refuse(m, true)
	time.Sleep(lostAfter / 2)
	b.stop()
	b.home()
	again := need
	again.Again = true
	open := start(func() error { return b.c.Open(b.ctx, ref, again, job) })
	time.Sleep(lostAfter)
	if !open.pending() {
		b.Fatal("it was given up, or opened on another machine:", open.err)
	}
	b.Refuse(m, false)
	if err := open.wait(); err != nil {
		b.Fatal(err)
	}
	b.onlyOne(ref)
	b.stop()
	b.home()
	again.Machine = m.Name()
	if err := b.c.Open(b.ctx, ref, again, job); err != nil {
		b.Fatal(err)
	}
	b.Refuse(m, true)
	time.Sleep(lostAfter + 2*far.Grace)
	b.stands(far.Lost)
}

// A machine that is gone is given up by the next process of home, too, and not early.
func restartsAndLoses(b *bench) {
	for _, pinned := range []bool{false, true} {
		node := refOf(fmt.Sprint("lost-", pinned), 1)
		want := need
		if err := b.c.Open(b.ctx, node, need, job); err != nil {
			b.Fatal(err)
		}
		time.Sleep(2 * far.Beat)
		m := b.runs(node)
		if pinned {
			want.Machine = m.Name()
		}
		b.stop()
		b.Refuse(m, true)
		time.Sleep(lostAfter - 2*far.Beat)
		b.runs(node)
		b.home()
		want.Again = true
		open := start(func() error { return b.c.Open(b.ctx, node, want, job) })
		time.Sleep(lost.After() - time.Second)
		if !open.pending() {
			b.Fatal("it was given up early:", open.err)
		}
		if pulse, err := b.c.Pulse(b.ctx, node); err != nil || pulse.State == far.Lost || pulse.Machine != want.Machine {
			b.Errorf("%+v %v", pulse, err)
		}
		time.Sleep(2 * time.Second)
		if open.pending() {
			b.Fatal("it is never given up")
		}
		if err := open.wait(); !errors.Is(err, far.ErrClosed) {
			b.Error(err)
		}
		b.Refuse(m, false)
	}
}

// A machine that lost its disk has no attempt, so no program.
func forgets(b *bench) {
	m := b.one()
	b.down(m)
	m.Wipe()
	time.Sleep(lostAfter)
	b.stands(far.Working)
	b.up(m)
	time.Sleep(far.Grace / 2)
	b.stands(far.Lost)
	b.closed()
}

// An Open of an earlier process of home may arrive after another machine has the attempt.
func strays(b *bench) {
	m := b.one()
	other := b.machines[0]
	if other == m {
		other = b.machines[1]
	}
	m.mu.Lock()
	home := m.attempts[ref].home
	m.mu.Unlock()
	if err := other.Open(b.ctx, home, ref, need, job); err != nil {
		b.Fatal(err)
	}
	b.Cut(other, 0)
	time.Sleep(time.Minute)
	if _, ran := other.Has(ref); ran || other.Closed(ref) != far.GivenUp {
		b.Errorf("it ran on a second machine: %v; closed there: %q", ran, other.Closed(ref))
	}
	if b.runs(ref) != m || m.Closed(ref) != "" {
		b.Error("the first machine was told to close it")
	}
}

// Home may take long with an entry.
func slow(b *bench) {
	m := b.one()
	var got int
	go func() {
		for range 100 {
			m.Work(ref, strings.Repeat("x", 1000))
		}
		time.Sleep(2 * lostAfter)
		m.Finish(ref)
	}()
	if err := b.c.Follow(b.ctx, ref, 0, func(e far.Entry) error {
		if got++; e.Seq != uint64(got) {
			b.Errorf("entry %d came in place of %d", e.Seq, got)
		}
		time.Sleep(time.Minute)
		if p := b.state(); p.Silent > far.Beat || p.State == far.Lost {
			b.Errorf("while it works on an entry: %+v", p)
		}
		return nil
	}); err != nil {
		b.Error(err)
	}
	if got != 102 {
		b.Errorf("%d entries came", got)
	}
}

func mayHave(b *bench) {
	time.Sleep(time.Minute)
	for _, m := range b.machines {
		b.Stall(m, time.Minute)
	}
	ctx, cancel := b.within(time.Second)
	defer cancel()
	if err := b.c.Open(ctx, ref, need, job); !errors.Is(err, context.DeadlineExceeded) {
		b.Fatal("Open returns", err)
	}
	b.stands(far.Waiting)
	b.Refuse(b.machines[0], true) // the first of equals has it, or may
	open := start(func() error { return b.c.Open(b.ctx, ref, need, job) })
	time.Sleep(2 * time.Minute)
	if !open.pending() {
		b.Fatal("it was opened on another machine:", open.err)
	}
	b.Refuse(b.machines[0], false)
	if err := open.wait(); err != nil {
		b.Fatal(err)
	}
	time.Sleep(time.Minute)
	b.runs(ref)
	b.onlyOne(ref)
}

func opensOnce(b *bench) {
	for i := range 300 {
		node := refOf(fmt.Sprint("n", i), 1)
		for _, m := range b.machines {
			b.Cut(m, i*3)
		}
		for _, m := range b.machines {
			m.offer(func(m *far.Machine) { m.Slots = 1000 })
		}
		ctx, cancel := b.within(time.Duration(i%4) * time.Millisecond)
		b.c.Open(ctx, node, need, job) // it is opened, or may be, or is not
		cancel()
		b.stop()
		b.home()
		again := need
		again.Again = true
		if err := b.c.Open(b.ctx, node, again, job); err != nil {
			b.Fatal(err)
		}
		b.onlyOne(node)
	}
}

func unknown(b *bench) {
	time.Sleep(time.Minute)
	b.stands(far.Unknown)
	for name, call := range map[string]func() error{
		"Put":    func() error { return b.c.Put(b.ctx, ref, far.Entry{ID: "1", Kind: far.Order}) },
		"Follow": func() error { return b.c.Follow(b.ctx, ref, 0, func(far.Entry) error { return nil }) },
	} {
		if err := call(); !errors.Is(err, far.ErrUnknown) {
			b.Errorf("%s returns %v, want ErrUnknown", name, err)
		}
	}
	bad := ref
	bad.Node = "../up"
	if err := b.c.Open(b.ctx, bad, need, job); err == nil {
		b.Error("Open takes", bad)
	}
}
