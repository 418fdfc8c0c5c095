package runs

import (
	"slices"
	"time"

	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
)

// Collision is two nodes whose branches change the same files, as programs read
// it.
type Collision struct {
	A           string    `json:"a"` // before B in the configuration; of several runs: SESSION:NAME
	B           string    `json:"b"`
	Files       []string  `json:"files"`       // that both change, the first of them
	More        int       `json:"more"`        // beside Files
	Uncommitted []string  `json:"uncommitted"` // of Files: only one of the two has committed its change
	Conflicts   []string  `json:"conflicts"`   // in which a merge of the two would conflict
	Unknown     string    `json:"unknown,omitempty"`
	Since       time.Time `json:"since"` // the two first met
	At          time.Time `json:"at"`    // of what is known
}

func Collisions(v *run.View) []Collision {
	all := make([]Collision, len(v.Collisions))
	for i, c := range v.Collisions {
		list := func(files []string) []string { return append([]string{}, files...) }
		all[i] = Collision{A: c.A, B: c.B, Files: list(c.Files), More: c.More, Uncommitted: list(c.Uncommitted),
			Conflicts: list(c.Conflicts), Unknown: c.Unknown, Since: c.Since, At: c.At}
	}
	return all
}

// shownCollisions is how many collisions are told below a table.
const shownCollisions = 3

// collisionNotices tells of the collisions, those that would conflict first.
func collisionNotices(v *run.View) (all []Notice) {
	pairs := slices.Clone(v.Collisions)
	slices.SortStableFunc(pairs, func(a, b run.Collision) int { return min(1, len(b.Conflicts)) - min(1, len(a.Conflicts)) })
	for i := range pairs {
		if i == shownCollisions {
			return append(all, Notice{Text: say.Count(len(pairs)-i, "collision") + " more: cmux agents collisions"})
		}
		all = append(all, Notice{Text: "collision: " + say.Line(pairs[i].String()), Long: true})
	}
	return all
}
