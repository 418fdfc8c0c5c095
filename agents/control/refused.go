package control

import (
	"time"

	"cmux/agents/run"
)

// Refusal is an order that an agent tried to give, and that is a person's.
type Refusal struct {
	Node   string    `json:"node"` // empty: it is not known whose
	Detail string    `json:"detail"`
	At     time.Time `json:"at"`
	Words  []string  `json:"words,omitempty"` // of the command line; empty: they were not recorded whole
}

// Refusals is what agents of a run tried and may not, the newest last.
func Refusals(v *run.View) (all []Refusal) {
	for i := range v.Incidents {
		if rec := &v.Incidents[i]; rec.How == run.IncidentRefused {
			all = append(all, Refusal{Node: rec.Node, Detail: rec.Detail, At: rec.At})
		}
	}
	return all
}
