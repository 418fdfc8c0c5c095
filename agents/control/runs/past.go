package runs

import (
	"context"

	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// ViewOf is a run as it stands; id is as for Named. Past says that a newer one
// has taken its place: nothing continues it.
func (p *Runs) ViewOf(ctx context.Context, id string) (v *run.View, past bool, err error) {
	r, err := p.Named(ctx, id)
	if err != nil {
		return nil, false, err
	}
	if id != "" {
		if past, err = p.Past(ctx, r); err != nil {
			return nil, false, err
		}
	}
	v, err = r.View(ctx, p.Now())
	return v, past, err
}

func (p *Runs) Past(_ context.Context, r *run.Run) (bool, error) {
	newest, err := p.IsNewest(r)
	return !newest, err
}

// PastNotices says of a past run why its nodes ended as they did, and how to
// look into it. The orders of Notices are to the newest one.
func PastNotices(v *run.View) (all []Notice) {
	id := v.Run.Plan.ID
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Status.Label.State == dag.NodeDone || !wantsLooking(n.Status) {
			continue
		}
		line := n.Spec.Name + ": " + n.Status.Label.String()
		if n.Status.Reason != "" {
			line += ": " + say.Line(n.Status.Reason)
		}
		if n.Fact.Attempts > 0 {
			line += " (cmux agents logs " + id + " " + n.Spec.Name + ")"
		}
		if end := n.LastEnd(); end != nil && end.Snapshot != "" {
			line += "; its work is saved: cmux snapshots restore " + end.Snapshot
		}
		all = append(all, Notice{line, true})
	}
	return append(all, Notice{Text: "a past run; what its nodes did: cmux agents changelog " + id})
}
