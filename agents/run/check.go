package run

import "fmt"

const (
	maxAttempt = 1 << 30
	maxSlot    = 1 << 20 // more nodes than any machine runs at a time
)

// attempts are the types of records that are about an attempt that lives or
// lived.
var attempts = map[Type]bool{Started: true, Began: true, Active: true, Wants: true, Granted: true, AttemptEnd: true, Vanished: true}

// check says why r is no record that cmux writes: what its type needs is
// missing, or a number is out of all bounds. What it lets through, in whatever
// order, History takes in.
func (r *Record) check() error {
	switch {
	case r.Type == "":
		return fmt.Errorf("a record without a type")
	case r.Type == AttemptEnd && r.End == nil:
		return fmt.Errorf("record %q of %q without an end", r.Type, r.Node)
	case r.Node == "" && attempts[r.Type]:
		return fmt.Errorf("record %q without a node", r.Type)
	case r.Attempt < 0 || r.Attempt > maxAttempt || r.Type == Started && r.Attempt == 0:
		return fmt.Errorf("record %q of %q: there is no attempt %d", r.Type, r.Node, r.Attempt)
	case !isCode(r.Code) || r.Marker != nil && !isCode(r.Marker.Code):
		return fmt.Errorf("record %q of %q: no exit code", r.Type, r.Node)
	case r.Place != nil && (r.Place.Slot < 0 || r.Place.Slot > maxSlot):
		return fmt.Errorf("record %q of %q: there is no slot %d", r.Type, r.Node, r.Place.Slot)
	}
	return nil
}

func isCode(c int) bool { return 0 <= c && c <= 255 }

// known returns attempt i of n, as a record of it tells of one. That of its
// start may be missing, damaged or another's: then it is entered with what
// there is. An attempt older than those known is none that still matters.
func (n *Node) known(r *Record) *Attempt {
	if a := n.attempt(r.Attempt); a != nil || !attempts[r.Type] || r.Attempt == 0 {
		return a
	}
	if a := n.Attempt(); a != nil && r.Attempt < a.N {
		return nil
	}
	n.Attempts = append(n.Attempts, Attempt{N: r.Attempt, Started: r.At, Pane: r.Pane})
	return n.Attempt()
}
