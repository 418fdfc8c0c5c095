package runs

import (
	"slices"
	"time"

	"cmux/agents/runs/run"
)

// Refusal is an order that an agent tried to give, and that is a person's.
type Refusal struct {
	Node   string    `json:"node"` // empty: it is not known whose
	Detail string    `json:"detail"`
	At     time.Time `json:"at"`
	Words  []string  `json:"words,omitempty"` // of the command that a person may give all the same; empty: none
}

// Refusals is what agents of a run tried and may not, the newest last.
func Refusals(v *run.View) (all []Refusal) {
	for i := range v.Incidents {
		if rec := &v.Incidents[i]; rec.How == run.IncidentRefused {
			all = append(all, Refusal{Node: rec.Node, Detail: rec.Detail, At: rec.At, Words: confirmable(rec.Words)})
		}
	}
	return all
}

// confirmed are the orders that a person may give with a key after an agent was
// refused them. Others take a look at what they do, and a terminal.
var confirmed = []string{"retry", "override", "approve", "release", "answer", "stop"}

// confirmable are the words of a command line, if a key may give it.
func confirmable(words []string) []string {
	if len(words) < 2 || words[0] != "agents" || !slices.Contains(confirmed, words[1]) {
		return nil
	}
	return words
}
