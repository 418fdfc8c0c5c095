package serving

import (
	"context"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/org/standing"
)

// OrderRun has the monitor start a run, in the organization's environment and not
// in the caller's. Where no organization runs, a person's server starts it itself. What becomes of the run is told to the caller by message, where
// that is a standing agent; a person sees it.
func (p *Serving) OrderRun(ctx context.Context, o commands.Start) (*standing.RunMade, error) {
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
