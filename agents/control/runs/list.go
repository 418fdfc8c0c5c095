package runs

import (
	"context"
	"slices"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// PastRun is a run of the project in a few words.
type PastRun struct {
	ID        string       `json:"id"`
	State     dag.RunState `json:"state"`
	Session   string       `json:"session"`
	Config    string       `json:"config"`
	Base      string       `json:"base"`
	Nodes     int          `json:"nodes"`
	Done      int          `json:"done"`
	StartedAt *time.Time   `json:"started_at"`
	EndedAt   *time.Time   `json:"ended_at"`
	Failed    int          `json:"failed"`   // nodes that failed or were cancelled
	Attempts  int          `json:"attempts"` // of all nodes
	Used      *dag.Usage   `json:"used"`
	Headless  bool         `json:"headless"`
}

// Runs is the project's runs, newest first, and what is damaged among them: one
// damaged folder does not hide the others.
func (p *Runs) List(ctx context.Context) (all []PastRun, damaged []error, err error) {
	ids, err := run.List(p.Root)
	if err != nil {
		return nil, nil, err
	}
	all = make([]PastRun, 0, len(ids))
	for _, id := range slices.Backward(ids) {
		one, err := p.pastRun(ctx, id)
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		all = append(all, one)
	}
	return all, damaged, nil
}

// RunIDs are the ids of the project's runs, newest first.
func (p *Runs) RunIDs() ([]string, error) {
	ids, err := run.List(p.Root)
	slices.Reverse(ids)
	return ids, err
}

func (p *Runs) pastRun(ctx context.Context, id string) (PastRun, error) {
	r, err := run.Open(p.Root, id)
	if err != nil {
		return PastRun{}, err
	}
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return PastRun{}, err
	}
	return PastRunOf(v), nil
}

func PastRunOf(v *run.View) PastRun {
	plan := v.Run.Plan
	one := PastRun{ID: plan.ID, State: v.RunState, Session: plan.Graph.Session, Config: plan.Config, Base: plan.Base,
		Nodes: len(v.Nodes), StartedAt: project.Moment(v.StartedAt), EndedAt: project.Moment(v.EndedAt), Used: Known(v.Used), Headless: plan.Headless}
	for i := range v.Nodes {
		one.Attempts += len(v.Nodes[i].Attempts)
		switch {
		case runview.Succeeded(&v.Nodes[i]):
			one.Done++
		case v.Nodes[i].Status.Label.State == dag.NodeFailed:
			one.Failed++
		}
	}
	return one
}

// Nodes names the nodes of a run that fit; id is as for Named.
func (p *Runs) Nodes(ctx context.Context, id string, fits func(*dag.Node) bool) ([]string, error) {
	r, err := p.Named(ctx, id)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range r.Plan.Graph.Nodes {
		if n := &r.Plan.Graph.Nodes[i]; fits(n) {
			names = append(names, n.Name)
		}
	}
	return names, nil
}
