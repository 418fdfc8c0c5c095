package run

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"

	"cmux/signals"
)

const (
	maxAttempt = 1 << 30
	maxSlot    = 1 << 20 // more nodes than any machine runs at a time
)

// attempts are the types of records that are about an attempt that lives or
// lived.
var attempts = map[Type]bool{Started: true, Began: true, Active: true, Wants: true, Granted: true, Output: true, AttemptEnd: true, Vanished: true}

// check says why r is no record that cmux writes: what its type needs is
// missing, or a number is out of all bounds. What it lets through, in whatever
// order, History takes in.
func (r *Record) check() error {
	switch {
	case r.Type == "":
		return fmt.Errorf("a record without a type")
	case r.Type == AttemptEnd && r.End == nil:
		return fmt.Errorf("record %q of %q without an end", r.Type, r.Node)
	case r.Type == WorkEnded && (r.End == nil || r.Key == ""):
		return fmt.Errorf("record %q of %q without an end", r.Type, r.Node)
	case r.Type == Joined && r.Member == nil, r.Type == Given && (r.Work == nil || r.Work.Def == nil):
		return fmt.Errorf("record %q of %q without what it tells", r.Type, r.Node)
	case r.Type == Filled && (r.Context == nil || r.Context.Tokens < 0 || r.Context.Window < 0):
		return fmt.Errorf("record %q of %q without what it tells", r.Type, r.Node)
	case r.Posed != nil && len(r.Posed.Parts) == 0:
		return fmt.Errorf("record %q of %q without a question", r.Type, r.Node)
	case r.Type == Collided && (r.Collision == nil || r.Collision.A == r.Collision.B):
		return fmt.Errorf("record %q without two nodes", r.Type)
	case r.Type == Reviewed && (r.Node == "" || r.How != string(VerdictApproved) && r.How != string(VerdictDropped)):
		return fmt.Errorf("record %q of %q: there is no verdict %q", r.Type, r.Node, r.How)
	case r.Type == Fenced && (r.Node == "" || r.Value == ""):
		return fmt.Errorf("record %q of %q without a path", r.Type, r.Node)
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

// BadLine is a line of the records that counts for nothing.
type BadLine struct {
	At   int64  // where it begins
	Torn bool   // it is no JSON, as a kill or a power cut in the middle of a write leaves it
	Why  string // for people
}

// maxBadLines bounds what is remembered of them.
const maxBadLines = 1000

func (h *History) bad(l BadLine) {
	if len(h.Bad) < maxBadLines {
		h.Bad = append(h.Bad, l)
	}
}

// replayed remembers the torn lines that a reading met.
func (h *History) replayed(tail signals.Tail) {
	for _, s := range tail.Torn {
		h.bad(BadLine{At: s.At, Torn: true, Why: "not JSON: a write that a kill or a power cut broke off, or somebody else's"})
	}
}

// Passed returns the lines of the records that count for nothing, in their order,
// each as "records.jsonl:12: why". torn includes the lines that a kill left torn:
// they are no error.
func (v *View) Passed(torn bool) ([]string, error) {
	lines := make(map[int64]string)
	for _, at := range v.foreign {
		lines[at] = "not written by cmux of this user on this machine"
	}
	for _, l := range v.bad {
		if !l.Torn || torn {
			lines[l.At] = l.Why
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	f, err := signals.Open(v.Run.Records())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	n, counted := int64(1), int64(0)
	for _, at := range slices.Sorted(maps.Keys(lines)) {
		more, err := countLines(io.NewSectionReader(f, counted, at-counted))
		if err != nil {
			return nil, err
		}
		n, counted = n+more, at
		out = append(out, fmt.Sprintf("%s:%d: %s", recordsFile, n, lines[at]))
	}
	return out, nil
}

func countLines(r io.Reader) (n int64, err error) {
	buf := make([]byte, 64<<10)
	for {
		k, err := r.Read(buf)
		n += int64(bytes.Count(buf[:k], []byte{'\n'}))
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
