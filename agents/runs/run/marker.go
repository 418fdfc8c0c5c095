package run

import (
	"fmt"
	"time"

	"cmux/signals"
)

// Recorded is what the records know of a node's marker, for signals.Judge.
func (n *Node) Recorded() signals.Recorded {
	if n.Marker == nil {
		return signals.Recorded{}
	}
	return signals.Recorded{Known: true, Published: n.Published, Marker: n.Marker.marker()}
}

// Beside is what o is judged beside: what is recorded, or the marker that was
// withdrawn where that is the one that stands there, touched by a person before
// it could be removed.
func (n *Node) Beside(o signals.Observed) signals.Recorded {
	if w := n.Withdrawn; n.Marker == nil && w != nil && o.Exists && o.Identity.Inode == w.Identity.Inode && o.Identity.Size == w.Identity.Size {
		if m := w.marker(); o.Content == m.Content && !m.Content.Success() {
			return signals.Recorded{Known: true, Published: true, Marker: m}
		}
	}
	return n.Recorded()
}

// Judge says what stands in the place of the node's marker. The 0 of a skipped
// node says that it did not start: one that a person touched says that it is
// done.
func (n *Node) Judge(o signals.Observed, now time.Time) signals.Verdict {
	v := signals.Judge(n.Beside(o), o, now)
	if v.Kind == signals.Ours && n.Skipped && n.Marker != nil && o.Identity.Inode == n.Marker.Identity.Inode && o.Identity != n.Marker.Identity {
		v.Kind = signals.Touched
	}
	return v
}

// Stale reports whether o is the withdrawn marker.
func (n *Node) Stale(o signals.Observed) bool {
	w := n.Withdrawn
	return w != nil && o.Exists && o.Identity == w.Identity
}

func (w *Written) marker() signals.Marker {
	c := signals.Content{Kind: signals.Code, Code: w.Code}
	switch {
	case w.Bad:
		c = signals.Content{}
	case w.Empty:
		c = signals.Content{Kind: signals.Empty}
	}
	return signals.Marker{Identity: w.Identity, Content: c}
}

// OverrideBy is the record of what a person's marker means, when v says that
// it is a person's; the marker is recorded as seen.
func OverrideBy(node string, v signals.Verdict, seen signals.Observed) (Record, bool) {
	rec := Record{Type: Overridden, Node: node, How: HowTouched,
		Marker: &Written{Identity: seen.Identity, Code: seen.Content.Code,
			Empty: seen.Content.Kind == signals.Empty, Bad: seen.Content.Kind == signals.Bad}}
	switch v.Kind {
	case signals.Override, signals.Touched:
	case signals.FailedByHand:
		rec.Code = v.Code
	case signals.BadMarker:
		rec.How, rec.Detail = HowBad, fmt.Sprintf("%s%s is not a marker: %s", node, signals.Suffix, seen.Problem)
	default:
		return rec, false
	}
	return rec, true
}
