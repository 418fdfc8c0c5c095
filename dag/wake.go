package dag

import "time"

// wakeup is the time at which a node may be retried or an account used again.
type wakeup struct {
	at      time.Time
	node    int32 // -1: account
	account int32
}

// wakes is a binary min-heap by time. Entries that no longer matter stay in it until they
// are first.
type wakes []wakeup

func (w *wakes) push(u wakeup) {
	h := append(*w, u)
	p := len(h) - 1
	for p > 0 && u.at.Before(h[(p-1)/2].at) {
		h[p] = h[(p-1)/2]
		p = (p - 1) / 2
	}
	h[p] = u
	*w = h
}

func (w *wakes) pop() wakeup {
	h := *w
	first, u := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*w = h
	p := 0
	for c := 1; c < len(h); c = 2*p + 1 {
		if c+1 < len(h) && h[c+1].at.Before(h[c].at) {
			c++
		}
		if !h[c].at.Before(u.at) {
			break
		}
		h[p] = h[c]
		p = c
	}
	if len(h) > 0 {
		h[p] = u
	}
	return first
}

// trim removes entries that no longer matter from the front.
func (w *wakes) trim(s *State) {
	for len(*w) > 0 {
		u := (*w)[0]
		if u.node >= 0 {
			if s.stands[u.node] == backoff && s.facts[u.node].NotBefore.Equal(u.at) {
				return
			}
		} else if l := &s.limits[u.account]; l.on && l.until.Equal(u.at) {
			return
		}
		w.pop()
	}
}
