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

// Slots hands out the lowest slot number that no live attempt of this run uses. Slots come
// in blocks, which all runs of the person share, so no other run has the same number. A
// slot whose ports another program uses is skipped for the rest of the run, because such
// programs usually stay.
type Slots struct {
	By     Holder
	Warn   func(error) // called once with the reason if blocks cannot be shared; may be nil
	blocks []*block    // by number
}

// block is a range of slots that this run holds.
type block struct {
	n              int
	held           *Lease // nil: not locked against other runs
	taken, checked [BlockSlots]bool
}

// Take returns a slot and the first of its ports; 0: it has no ports.
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
			return slot, 0, true // these slots have no ports
		}
		if !b.checked[i] && !portsFree(portFirst+slot*portsEach) {
			continue
		}
		b.checked[i] = true
		return slot, portFirst + slot*portsEach, true
	}
	return 0, 0, false
}

// more takes another block that no other run has. If blocks cannot be shared, it takes the
// next one without a lock.
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

// Hold marks the slot of an attempt that an earlier runner started, and holds its block.
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

// Release frees a slot.
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

// Close releases the blocks; running wrappers keep theirs.
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
