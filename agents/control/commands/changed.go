package commands

import (
	"context"
	"fmt"
	"time"

	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
)

// Ended is a run that has ended well, which a start would only repeat.
type Ended struct {
	ID   string
	At   time.Time
	Base string // as the start asked for it
	From string // the commit that it stands for
}

// String is a line for whoever starts.
func (e *Ended) String() string {
	return fmt.Sprintf("Nothing to start: the base %s (%.12s) and the configuration are those of run %s, which ended well on %s.",
		e.Base, e.From, e.ID, e.At.Format("2006-01-02 15:04"))
}

// unchanged is the last run of the same configuration that ended well, where it
// had the base and the graph that l has; nil: there is something to start.
func (p *Commands) unchanged(ctx context.Context, l *runner.Launch) (*Ended, error) {
	ids, err := p.Runs.RunIDs()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := run.Open(p.Root, id)
		if err != nil {
			continue // a damaged run does not keep another from starting
		}
		if r.Plan.Config != l.Options.Config {
			continue
		}
		state, at, err := r.Final()
		if err != nil || state != dag.RunDone {
			continue
		}
		if r.Plan.Base != l.Base.Commit || !r.Plan.Graph.Same(l.Graph) {
			return nil, nil
		}
		return &Ended{id, at.In(p.Now().Location()), l.Base.Ref, l.Base.Commit}, nil
	}
	return nil, nil
}
