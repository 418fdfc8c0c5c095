package runner

import (
	"net"
	"strconv"
)

const (
	portFirst = 20000 // CMUX_PORT_BASE of slot 0
	portsEach = 20
	portSlots = 1000 // slots beyond have no ports of their own
)

// slots hands out the lowest number that no live attempt has. A slot whose
// ports somebody else uses is passed over, for good: what uses them is likely
// to stay.
type slots struct {
	taken   []bool
	checked []bool
}

// take returns a slot and the first of its ports, 0 when it has none.
func (s *slots) take() (slot, portBase int) {
	for i := 0; ; i++ {
		if i == len(s.taken) {
			s.taken, s.checked = append(s.taken, false), append(s.checked, false)
		}
		if s.taken[i] {
			continue
		}
		s.taken[i] = true
		if i >= portSlots {
			return i, 0
		}
		if !s.checked[i] && !portsFree(portFirst+i*portsEach) {
			continue
		}
		s.checked[i] = true
		return i, portFirst + i*portsEach
	}
}

// hold marks the slot of an attempt that an earlier runner started.
func (s *slots) hold(slot int) {
	for len(s.taken) <= slot {
		s.taken, s.checked = append(s.taken, false), append(s.checked, false)
	}
	s.taken[slot], s.checked[slot] = true, true
}

func (s *slots) release(slot int) {
	if slot < len(s.taken) && s.checked[slot] {
		s.taken[slot] = false
	}
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
