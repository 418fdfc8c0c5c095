package fartest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cmux/agents/far"
	"cmux/agents/runs/run"
)

// Machine is a model of a machine: a far.Worker with its disk in memory. Its programs run
// while their leases hold.
type Machine struct {
	witness *Witness

	mu       sync.Mutex
	changed  chan struct{} // closed at the next change
	about    far.Machine
	up       bool
	attempts map[far.Ref]*work
	refuses  error // what Open fails with
	keeps    error // what Close fails with
}

// work is an attempt on a machine.
type work struct {
	home    string
	job     far.Job
	lease   far.Lease
	timer   *time.Timer // of the fence
	runs    bool        // its program
	began   bool        // it ran
	ended   bool
	closed  far.Why
	journal []far.Entry // of the machine
	orders  []far.Entry // of home
}

// NewMachine returns a machine that is down.
func NewMachine(w *Witness, about far.Machine) *Machine {
	return &Machine{witness: w, about: about, changed: make(chan struct{}), attempts: map[far.Ref]*work{}}
}

// Witness records which programs run where.
type Witness struct {
	mu     sync.Mutex
	runs   map[string]far.Ref // by node
	faults []error
}

func (w *Witness) begin(ref far.Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[string]far.Ref{}
	}
	if other, busy := w.runs[ref.Node]; busy {
		w.faults = append(w.faults, fmt.Errorf("the programs of %s and %s run at the same time", other, ref))
	}
	w.runs[ref.Node] = ref
}

func (w *Witness) end(ref far.Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs[ref.Node] == ref {
		delete(w.runs, ref.Node)
	}
}

// err returns what was seen that must not be.
func (w *Witness) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.faults...)
}

// Name is the machine's.
func (m *Machine) Name() string { return m.about.Name }

func (m *Machine) tell() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Start has the machine's process run. Programs whose leases hold have continued.
func (m *Machine) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.up = true
	m.tell()
}

// Stop ends the machine's process. Its disk stays, and programs continue while their leases hold.
func (m *Machine) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.up = false
	m.tell()
}

// Wipe has the machine, which is down, lose its disk, and with it its programs.
func (m *Machine) Wipe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, w := range m.attempts {
		m.endProgram(ref, w)
	}
	clear(m.attempts)
}

var errDown = errors.New("the machine is down")

// Describe implements far.Worker.
func (m *Machine) Describe(context.Context) (far.Machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.up {
		return far.Machine{}, errDown
	}
	about := m.about
	about.Busy = 0
	for _, w := range m.attempts {
		if w.closed == "" && !w.ended {
			about.Busy++
		}
	}
	return about, nil
}

// Open implements far.Worker.
func (m *Machine) Open(_ context.Context, home string, ref far.Ref, need far.Need, job far.Job) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.up {
		return errDown
	}
	if m.refuses != nil {
		return m.refuses
	}
	w := m.attempts[ref]
	switch {
	case w == nil:
		w = &work{home: home, job: job, lease: far.Lease{For: job.LostAfter, Asks: job.Asks}}
		m.attempts[ref] = w
		m.write(w, far.Entry{Kind: far.Claimed, Claim: &far.Claim{Machine: m.about.Name}})
	case w.closed != "":
		return far.ErrClosed
	}
	return nil
}

// write adds an entry to the journal towards home.
func (m *Machine) write(w *work, e far.Entry) {
	e.Seq, e.At = uint64(len(w.journal)+1), time.Now()
	w.journal = append(w.journal, e)
	m.tell()
}

// Put implements far.Worker.
func (m *Machine) Put(_ context.Context, ref far.Ref, entries ...far.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, err := m.open(ref)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.ContainsFunc(w.orders, func(o far.Entry) bool { return o.ID == e.ID }) {
			w.orders = append(w.orders, e)
		}
	}
	m.tell()
	return nil
}

// open returns an attempt that is not closed.
func (m *Machine) open(ref far.Ref) (*work, error) {
	w := m.attempts[ref]
	switch {
	case !m.up:
		return nil, errDown
	case w == nil:
		return nil, far.ErrUnknown
	case w.closed != "":
		return nil, far.ErrClosed
	}
	return w, nil
}

// Follow implements far.Worker.
func (m *Machine) Follow(ctx context.Context, ref far.Ref, from uint64, f func(far.Entry) error) error {
	for {
		m.mu.Lock()
		w, err := m.open(ref)
		if err != nil {
			m.mu.Unlock()
			return err
		}
		entries := slices.Clone(w.journal[min(from, uint64(len(w.journal))):])
		over, changed := w.ended, m.changed
		m.mu.Unlock()
		for _, e := range entries {
			if err := f(e); err != nil {
				return err
			}
			from = e.Seq
		}
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Held implements far.Worker.
func (m *Machine) Held(_ context.Context, home string) (map[far.Ref]far.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.up {
		return nil, errDown
	}
	all := map[far.Ref]far.State{}
	for ref, w := range m.attempts {
		if w.home == home && w.closed == "" {
			all[ref] = far.Working
			if w.ended {
				all[ref] = far.Ended
			}
		}
	}
	return all, nil
}

// Renew implements far.Worker. The first starts the program.
func (m *Machine) Renew(refs []far.Ref, sent time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for _, ref := range refs {
		w := m.attempts[ref]
		if w == nil || w.closed != "" || w.ended {
			continue
		}
		w.lease.Renewed(sent, now)
		if w.lease.Over(now) {
			continue // fence ends it
		}
		if !w.runs {
			w.runs, w.began = true, true
			m.witness.begin(ref)
			m.tell()
		}
		if w.timer == nil && !w.lease.Asks {
			w.timer = time.AfterFunc(w.lease.Left(now), func() { m.fence(ref) })
		}
	}
}

// fence ends the program of an attempt whose lease is over.
func (m *Machine) fence(ref far.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.attempts[ref]
	if now := time.Now(); !w.runs {
		return
	} else if !w.lease.Over(now) {
		w.timer.Reset(max(w.lease.Left(now), time.Millisecond))
		return
	}
	m.endProgram(ref, w)
	w.ended = true
	m.write(w, far.Entry{Kind: far.End, Record: &run.Record{Type: run.Vanished, Node: ref.Node, Attempt: ref.N}})
}

func (m *Machine) endProgram(ref far.Ref, w *work) {
	if w.runs {
		w.runs = false
		m.witness.end(ref)
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	m.tell()
}

// Close implements far.Worker.
func (m *Machine) Close(_ context.Context, ref far.Ref, why far.Why) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.up {
		return errDown
	}
	w := m.attempts[ref]
	switch {
	case w == nil:
		return far.ErrUnknown
	case m.keeps != nil:
		return m.keeps
	}
	if w.closed == "" {
		w.closed = why
		m.endProgram(ref, w)
	}
	return nil
}

// Work has the program of an attempt write an entry. false: it does not run.
func (m *Machine) Work(ref far.Ref, text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.attempts[ref]
	if w == nil || !w.runs {
		return false
	}
	m.write(w, far.Entry{Kind: far.Log, Data: []byte(text)})
	return true
}

// Finish has the program of an attempt end by itself. false: it does not run.
func (m *Machine) Finish(ref far.Ref) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.attempts[ref]
	if w == nil || !w.runs {
		return false
	}
	m.endProgram(ref, w)
	w.ended = true
	m.write(w, far.Entry{Kind: far.End, Record: &run.Record{Type: run.AttemptEnd, Node: ref.Node, Attempt: ref.N}})
	return true
}

// Journal returns what the machine has written of an attempt.
func (m *Machine) Journal(ref far.Ref) []far.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.attempts[ref]; w != nil {
		return slices.Clone(w.journal)
	}
	return nil
}

// Orders returns the entries of home that have come for an attempt.
func (m *Machine) Orders(ref far.Ref) []far.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.attempts[ref]; w != nil {
		return slices.Clone(w.orders)
	}
	return nil
}

// Running returns the attempts whose programs run.
func (m *Machine) Running() []far.Ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	refs := slices.DeleteFunc(slices.Collect(maps.Keys(m.attempts)), func(r far.Ref) bool { return !m.attempts[r].runs })
	slices.SortFunc(refs, func(a, b far.Ref) int { return strings.Compare(a.String(), b.String()) })
	return refs
}

// Has reports whether the machine was ever given an attempt, and whether its program ever
// ran there.
func (m *Machine) Has(ref far.Ref) (given, ran bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.attempts[ref]
	return w != nil, w != nil && w.began
}

// Closed returns why an attempt was closed; empty: it is not.
func (m *Machine) Closed(ref far.Ref) far.Why {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.attempts[ref]; w != nil {
		return w.closed
	}
	return ""
}

// Keep has Close fail with err; nil: no more.
func (m *Machine) Keep(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keeps = err
}

// Refuse has Open fail with err; nil: no more.
func (m *Machine) Refuse(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuses = err
}
