package lease

import (
	"errors"
	"net"
	"slices"
	"strconv"
)

const (
	portFirst = 20000 // CMUX_PORT_BASE of slot 0
	portsEach = 20
)

// Slots hands out the lowest number that no live attempt has: none of this run,
// and by blocks that are shared out among all runs of the person none of any
// other. A slot whose ports somebody else uses is passed over, for good: what
// uses them is likely to stay.
type Slots struct {
	By     Holder
	Warn   func(error) // is told, once, why blocks cannot be shared out; may be nil
	blocks []*block    // by number
}

// block is a run of slots that this run has.
type block struct {
	n              int
	held           *Lease // nil: it is this run's alone in name
	taken, checked [BlockSlots]bool
}

// Take returns a slot and the first of its ports, 0 when it has none.
func (s *Slots) Take() (slot, portBase int) {
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
		slot := b.n*BlockSlots + i
		if b.n >= Blocks {
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
func (s *Slots) more() {
	has := func(n int) bool { return slices.ContainsFunc(s.blocks, func(b *block) bool { return b.n == n }) }
	dir, err := SlotFolder()
	var l *Lease
	if err == nil {
		l, err = Take(dir, Blocks, s.By, has)
	}
	n := 0
	switch {
	case err == nil:
		n = l.N
	case errors.Is(err, ErrNone):
		n = Blocks
		fallthrough
	default:
		for has(n) {
			n++
		}
		if s.Warn != nil {
			s.Warn(err)
			s.Warn = nil
		}
	}
	s.add(&block{n: n, held: l})
}

func (s *Slots) add(b *block) {
	s.blocks = append(s.blocks, b)
	slices.SortFunc(s.blocks, func(a, b *block) int { return a.n - b.n })
}

// Hold marks the slot of an attempt that an earlier runner started, and keeps
// its block.
func (s *Slots) Hold(slot int) {
	n := slot / BlockSlots
	b := s.block(n)
	if b == nil {
		b = &block{n: n}
		var err error
		if b.held, err = JoinSlot(slot, s.By); err != nil && s.Warn != nil {
			s.Warn(err)
		}
		s.add(b)
	}
	b.taken[slot%BlockSlots], b.checked[slot%BlockSlots] = true, true
}

// Release gives a slot back.
func (s *Slots) Release(slot int) {
	if b := s.block(slot / BlockSlots); b != nil && b.checked[slot%BlockSlots] {
		b.taken[slot%BlockSlots] = false
	}
}

func (s *Slots) block(n int) *block {
	if i := slices.IndexFunc(s.blocks, func(b *block) bool { return b.n == n }); i >= 0 {
		return s.blocks[i]
	}
	return nil
}

// Close gives the blocks up; wrappers that are at work keep theirs.
func (s *Slots) Close() error {
	var errs []error
	for _, b := range s.blocks {
		if b.held != nil {
			errs = append(errs, b.held.Release())
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
