package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/dag"
)

// MaxCollisionFiles is how many files are recorded of one collision.
const MaxCollisionFiles = 100

// Collision is what the branches of two nodes did to the same files since their
// histories parted, as of two commits.
type Collision struct {
	A           string   `json:"a"` // before B in the configuration
	B           string   `json:"b"`
	TipA        string   `json:"tip_a,omitempty"`
	TipB        string   `json:"tip_b,omitempty"`
	Files       []string `json:"files,omitempty"`       // that both changed; empty: it is over; with tips: by a merge of those
	More        int      `json:"more,omitempty"`        // of them, beside Files
	Uncommitted []string `json:"uncommitted,omitempty"` // of Files: one of the two had not committed its change when the other committed
	Conflicts   []string `json:"conflicts,omitempty"`   // in which a merge of the two commits conflicts; empty: it does not
	Unknown     string   `json:"unknown,omitempty"`     // why it is not known whether it does; empty: it is

	Since time.Time `json:"-"` // the two first met
	At    time.Time `json:"-"` // of the commit that told it
}

// Over reports whether the two have no file in common any more, or were merged
// as of TipA and TipB.
func (c *Collision) Over() bool { return len(c.Files) == 0 }

// String says it in a line, for a person.
func (c *Collision) String() string {
	text := c.A + " and " + c.B + " both change " + listed(c.Files, c.More)
	switch {
	case c.Unknown != "":
		return text + "; whether a merge would conflict is not known: " + c.Unknown
	case len(c.Conflicts) > 0:
		text += "; a merge would conflict in " + listed(c.Conflicts, 0)
	case len(c.Uncommitted) < len(c.Files):
		text += "; a merge would not conflict"
	}
	if len(c.Uncommitted) > 0 {
		text += "; only one has committed " + listed(c.Uncommitted, 0)
	}
	return text
}

// filesNamed is how many files of a collision are named in a line.
const filesNamed = 3

func listed(files []string, more int) string {
	if n := len(files) - filesNamed; n > 0 {
		files, more = files[:filesNamed], more+n
	}
	text := strings.Join(files, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Merged reports whether it is over because both were merged as of these tips.
func (c *Collision) Merged(tipA, tipB string) bool {
	return c.Over() && c.TipA != "" && c.TipA == tipA && c.TipB == tipB
}

// Same reports whether o says nothing that c does not.
func (c *Collision) Same(o *Collision) bool {
	return c.A == o.A && c.B == o.B && c.TipA == o.TipA && c.TipB == o.TipB && c.More == o.More && c.Unknown == o.Unknown &&
		slices.Equal(c.Files, o.Files) && slices.Equal(c.Uncommitted, o.Uncommitted) && slices.Equal(c.Conflicts, o.Conflicts)
}

// Collision is what is recorded of two nodes; nil: they never met.
func (h *History) Collision(a, b string) *Collision {
	i := slices.IndexFunc(h.Collisions, func(c Collision) bool { return c.A == a && c.B == b })
	if i < 0 {
		return nil
	}
	return &h.Collisions[i]
}

// collide takes a record of a collision in. What an earlier look shows stays as
// it is.
func (h *History) collide(r *Record) {
	c := *r.Collision
	c.Since, c.At = r.At, r.At
	h.Collisions = slices.Clone(h.Collisions)
	if old := h.Collision(c.A, c.B); old != nil {
		c.Since = old.Since
		*old = c
	} else {
		h.Collisions = append(h.Collisions, c)
	}
}

// Standing are the collisions that a person may want to do something about, in
// the order of the configuration: of nodes whose branches still count.
func (h *History) Standing() (all []Collision) {
	for _, c := range h.Collisions {
		if a, b := h.Graph.Index(c.A), h.Graph.Index(c.B); !c.Over() && h.Counts(a) && h.Counts(b) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(x, y Collision) int {
		if d := h.Graph.Index(x.A) - h.Graph.Index(y.A); d != 0 {
			return d
		}
		return h.Graph.Index(x.B) - h.Graph.Index(y.B)
	})
	return all
}

// Counts reports whether what node i does ends up in its branch: it has begun
// and has not failed for good.
func (h *History) Counts(i int) bool {
	if i < 0 || !h.Graph.Nodes[i].HasBranch() || len(h.Nodes[i].Attempts) == 0 {
		return false
	}
	f := &h.Nodes[i].Fact
	return f.Phase != dag.Ended || f.Outcome.Success()
}
