package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cmux/agents/runs/run"
	"cmux/signals"
)

// incident records that something was found which no command of this person
// did, once.
func (r *Runner) incident(ctx context.Context, how, detail string) error {
	return r.learn(ctx, r.found(how, detail))
}

// found is the record of an incident. Who did it is known as far as one attempt
// alone was at work.
func (r *Runner) found(how, detail string) run.Record {
	rec := run.Record{Type: run.Incident, How: how, Detail: detail}
	at := r.atWork()
	switch len(at) {
	case 0:
		rec.Detail += ", while no node was at work"
	case 1:
		rec.Node = r.g.Nodes[at[0]].Name
		rec.Attempt = r.hist.Nodes[at[0]].Fact.Attempts
		rec.Detail += ", while " + rec.Node + " alone was at work"
	default:
		var names []string
		for _, i := range at {
			names = append(names, r.g.Nodes[i].Name)
		}
		rec.Detail += ", while these were at work: " + strings.Join(names, ", ")
	}
	r.Log.Warn("incident", "how", how, "node", rec.Node, "what", rec.Detail)
	return rec
}

// byHand tells of a marker that no command of cmux made, changed or removed. It
// counts: it may be a person's, who then knows of it. Where no node is at work,
// it is.
func (r *Runner) byHand(i int, did string) []run.Record {
	if len(r.atWork()) == 0 {
		return nil
	}
	return []run.Record{r.found(run.IncidentMarker,
		fmt.Sprintf("signals/%s%s was %s without cmux and counts as a person's (if it was not you: cmux agents retry %[1]s)", r.g.Nodes[i].Name, signals.Suffix, did))}
}

// atWork is the nodes whose attempts live on this machine: what is on another one reaches
// nothing here.
func (r *Runner) atWork() []int {
	var at []int
	for i := range r.hist.Nodes {
		if n := &r.hist.Nodes[i]; n.Fact.Live() && n.Away() == nil {
			at = append(at, i)
		}
	}
	return at
}

// mostForeign is the number of foreign lines in the records that the runner reports.
// It bounds the runner's work if somebody writes such lines in a loop.
const mostForeign = 100

// foreign records the lines among the records that this person's cmux did not
// write.
func (r *Runner) foreign(ctx context.Context) error {
	for r.strange < len(r.hist.Foreign) {
		if r.strange >= mostForeign {
			r.Log.Warn("more lines of the records were not written by cmux", "lines", len(r.hist.Foreign))
			r.strange = len(r.hist.Foreign)
			return nil
		}
		where, told, err := r.Run.ForeignLine(r.hist.Foreign[r.strange])
		if err != nil {
			return err
		}
		r.strange++
		if r.hist.Known(run.IncidentRecord, where) {
			continue
		}
		if err := r.incident(ctx, run.IncidentRecord, told); err != nil {
			return err
		}
	}
	return nil
}

// noRequest records that a file among the requests was not a request.
func (r *Runner) noRequest(ctx context.Context, not, aside error) error {
	if is := (*run.NoRequest)(nil); aside != nil || !errors.As(not, &is) {
		r.Log.Error("a request cannot be read", "err", errors.Join(not, aside))
		return nil
	}
	return r.incident(ctx, run.IncidentRequest, fmt.Sprintf("%v; it does not count", not))
}

// proveBin makes sure, before an attempt is launched, that it finds this cmux
// and nothing else first in its PATH.
func (r *Runner) proveBin(ctx context.Context) error {
	strangers, err := r.Run.ProveBin()
	for _, path := range strangers {
		if err := r.incident(ctx, run.IncidentBin, path+" was put there or changed; it is out of the PATH again"); err != nil {
			return err
		}
	}
	return err
}
