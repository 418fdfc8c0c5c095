package runner

import (
	"context"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// keepBudget ends the agents at work once they have used more than the run's
// budget. That none is started any more carryOut sees to.
func (r *Runner) keepBudget(ctx context.Context) {
	err := r.hist.RunOverBudget()
	if err == nil || r.broke {
		return
	}
	r.broke = true
	r.Log.Warn("over its budget: the agents at work are ended, none is started", "err", err)
	for node := range r.lives.All() {
		r.endOverBudget(ctx, r.g.Index(node))
	}
}

// endOverBudget ends the agent of node i when the run is over its budget. One
// whose node a person has decided is the person's.
func (r *Runner) endOverBudget(ctx context.Context, i int) {
	err := r.hist.RunOverBudget()
	if err != nil && r.g.Nodes[i].UsesModel() && !r.hist.Nodes[i].Fact.StillOpen {
		r.lives.Say(ctx, r.g.Nodes[i].Name, attempt.Message{Op: attempt.OpBudget, Text: err.Error()})
	}
}

// unaffordable is the end of a node that is not started because of a budget.
func unaffordable(node string, err error) run.Record {
	return run.Record{Type: run.AttemptEnd, Node: node, At: time.Now(),
		End: &run.End{Outcome: dag.Failed, Reason: dag.ReasonBudget, Exit: 1, Detail: "not started: " + err.Error()}}
}
