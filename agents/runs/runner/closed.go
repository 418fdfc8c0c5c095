package runner

import (
	"fmt"
	"slices"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// keepClosed takes back a marker that would open gate i, which asks for a code,
// and tells of it.
func (r *Runner) keepClosed(i int, o signals.Observed) ([]run.Record, error) {
	var recs []run.Record
	back, err := r.takeBack(i, o)
	if err != nil {
		return nil, err
	}
	if back != nil {
		recs = append(recs, *back)
	}
	name := r.g.Nodes[i].Name
	detail := fmt.Sprintf("signals/%s%s would open a gate that asks for a code; it does not count: if it was you, cmux agents approve %[1]s, in your own terminal", name, signals.Suffix)
	f := &r.hist.Nodes[i].Fact
	if f.Phase == dag.Ended && f.Outcome.Success() || r.hist.Known(run.IncidentMarker, detail) {
		return recs, nil
	}
	// What a runner left that was killed while it carried out the order.
	pending, _ := r.Run.Pending() // what is none is told elsewhere
	if slices.ContainsFunc(pending, func(q run.Request) bool { return q.Node == name && q.Op == run.OpOverride && q.Coded }) {
		return recs, nil
	}
	return append(recs, r.found(run.IncidentMarker, detail)), nil
}
