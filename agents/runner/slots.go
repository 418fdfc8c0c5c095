package runner

import (
	"errors"
	"net"
	"slices"
	"strconv"

	"cmux/agents/lease"
)

const (
	portFirst = 20000 // CMUX_PORT_BASE of slot 0
	portsEach = 20
)

// slots hands out the lowest number that no live attempt has: none of this run,
// and by blocks that are shared out among all runs of the person none of any
// other. A slot whose ports somebody else uses is passed over, for good: what
// uses them is likely to stay.
type slots struct {
	by     lease.Holder
	warn   func(error) // is told, once, why blocks cannot be shared out; may be nil
	blocks []*block    // by number
}

// block is a run of slots that this run has.
type block struct {
	n              int
	lease          *lease.Lease // nil: it is this run's alone in name
	taken, checked [lease.BlockSlots]bool
}

// take returns a slot and the first of its ports, 0 when it has none.
func (s *slots) take() (slot, portBase int) {
	for ; ; s.more() {
		for _, b := range s.blocks {
			if slot, portBase, ok := b.take(); ok {
				return slot, portBase
			}
		}
	}
}

func (b *block) take() (slot, portBase int, ok bool) {
	for i := range b.taken {
		if b.taken[i] {
			continue
		}
		b.taken[i] = true
		slot := b.n*lease.BlockSlots + i
		if b.n >= lease.Blocks {
			return slot, 0, true // these have no ports of their own
		}
		if !b.checked[i] && !portsFree(portFirst+slot*portsEach) {
			continue
		}
		b.checked[i] = true
		return slot, portFirst + slot*portsEach, true
	}
	return 0, 0, false
}

// more takes a further block: one that no other run has, while there are any.
// Where none can be shared out, the next one is taken without asking.
func (s *slots) more() {
	has := func(n int) bool { return slices.ContainsFunc(s.blocks, func(b *block) bool { return b.n == n }) }
	dir, err := lease.SlotFolder()
	var l *lease.Lease
	if err == nil {
		l, err = lease.Take(dir, lease.Blocks, s.by, has)
	}
	n := 0
	switch {
	case err == nil:
		n = l.N
	case errors.Is(err, lease.ErrNone):
		n = lease.Blocks
		fallthrough
	default:
		for has(n) {
			n++
		}
		if s.warn != nil {
			s.warn(err)
			s.warn = nil
		}
	}
	s.add(&block{n: n, lease: l})
}

func (s *slots) add(b *block) {
	s.blocks = append(s.blocks, b)
	slices.SortFunc(s.blocks, func(a, b *block) int { return a.n - b.n })
}

// hold marks the slot of an attempt that an earlier runner started, and keeps
// its block.
func (s *slots) hold(slot int) {
	n := slot / lease.BlockSlots
	b := s.block(n)
	if b == nil {
		b = &block{n: n}
		var err error
		if b.lease, err = lease.JoinSlot(slot, s.by); err != nil && s.warn != nil {
			s.warn(err)
		}
		s.add(b)
	}
	b.taken[slot%lease.BlockSlots], b.checked[slot%lease.BlockSlots] = true, true
}

func (s *slots) release(slot int) {
	if b := s.block(slot / lease.BlockSlots); b != nil && b.checked[slot%lease.BlockSlots] {
		b.taken[slot%lease.BlockSlots] = false
	}
}

func (s *slots) block(n int) *block {
	if i := slices.IndexFunc(s.blocks, func(b *block) bool { return b.n == n }); i >= 0 {
		return s.blocks[i]
	}
	return nil
}

// close gives the blocks up; wrappers that are at work keep theirs.
func (s *slots) close() error {
	var errs []error
	for _, b := range s.blocks {
		if b.lease != nil {
			errs = append(errs, b.lease.Release())
		}
	}
	s.blocks = nil
	return errors.Join(errs...)
}

func portsFree(from int) bool {
	for p := from; p < from+portsEach; p++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
