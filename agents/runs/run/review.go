package run

import "time"

// Verdict is what a person decided about a node's work.
type Verdict string

const (
	VerdictApproved Verdict = "approved"
	VerdictDropped  Verdict = "dropped"
	VerdictSentBack Verdict = "sent back" // it goes on, as Comment says
)

// Review is a person's decision about a node's work. One of a commit holds for
// that commit alone; each further attempt that a person orders ends it.
type Review struct {
	Verdict Verdict
	Commit  string // that the person looked at; sent back: what the branch held then
	Comment string // sent back
	Attempt int    // the newest one then
	At      time.Time
}

// reviewed takes in what a person decided about a node's work.
func (n *Node) reviewed(r *Record) {
	n.Review = &Review{Verdict: Verdict(r.How), Commit: r.Tip, Attempt: n.newest(), At: r.At}
}

// sentBack is the decision that a retry comes to; nil: it comments on nothing.
func (n *Node) sentBack(r *Record) *Review {
	if r.Comment == "" {
		return nil
	}
	return &Review{Verdict: VerdictSentBack, Commit: r.Tip, Comment: r.Comment, Attempt: n.newest(), At: r.At}
}

func (n *Node) newest() int {
	if a := n.Attempt(); a != nil {
		return a.N
	}
	return 0
}

// Said is what a person sent the node's work back with; empty: nothing.
func (n *Node) Said() string {
	if n.Review == nil {
		return ""
	}
	return n.Review.Comment
}
