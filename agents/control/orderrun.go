package control

import (
	"context"
	"slices"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/runs/origin"
	"cmux/agents/runs/run"
)

// Leads reports whether an order comes from a standing agent. What outlives it, it
// has the monitor start.
func (p *Project) Leads() (bool, error) {
	from, err := p.Origin()
	return from != nil && from.Standing() && from.Node != "", err
}

// carried reports whether an order is the monitor's own, by which it carries out
// what an agent may order: it is a child of the monitor, and the request is there.
func (p *Project) carried(from *origin.Attempt, o Order) bool {
	if o.Name != "agents start" || o.Value == nil || !from.Standing() || from.Node != "" {
		return false
	}
	org, err := standing.Open(p.Root)
	if err != nil {
		return false
	}
	pending, _ := org.Run.Pending() // what is no request is told of by the monitor
	return slices.ContainsFunc(pending, func(q run.Request) bool { return q.Op == standing.OpRun && q.ID == o.Value("order") })
}

// OrderRun has the monitor start a run, in the organization's environment and not
// in the caller's. Where no organization runs, a person's server starts it itself. What becomes of the run is told to the caller by message, where
// that is a standing agent; a person sees it.
func (p *Project) OrderRun(ctx context.Context, o commands.Start) (*standing.RunMade, error) {
	if o.Headless {
		return nil, project.Usage("cmux agents start --yes", "--headless is for a run that ends with the command: the monitor starts yours in tmux")
	}
	if p.Person && !p.OrgRuns() {
		return p.startHere(ctx, o)
	}
	by, err := p.Orderer()
	if err != nil {
		return nil, err
	}
	q := standing.RunOrder{Base: o.Base, New: o.New, Fresh: o.Fresh, IfChanged: o.IfChanged}
	if o.Config != "" {
		q.Config = p.Abs(o.Config)
	}
	made := new(standing.RunMade)
	return made, p.AskKeeper(ctx, standing.OpRun, "", standing.Ask{By: by, Run: &q}, made)
}
