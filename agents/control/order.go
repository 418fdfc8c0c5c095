package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/run"
	"cmux/signals"
)

// patience is how long an order waits for a live runner to take it up. It
// stands whatever happens to whoever gave it.
const patience = 10 * time.Second

// Taken is what has become of an order.
type Taken struct {
	Done bool   `json:"done"`           // it was carried out
	Note string `json:"note,omitempty"` // why it was not yet, and what carries it out
}

// order leaves a request for the runner. It returns once a live runner has
// carried it out or refused it; without one the request waits for resume.
func (p *Project) order(ctx context.Context, v *run.View, q run.Request) (Taken, error) {
	r := v.Run
	ended := v.Holder == nil && Over(v)
	h := run.NewHistory(r.Plan.Graph)
	offset, err := r.Replay(h, 0, nil)
	if err != nil {
		return Taken{}, err
	}
	w := signals.Watch(ctx, r.Dir)
	defer w.Close()
	if q, err = r.Ask(q); err != nil {
		return Taken{}, err
	}
	if ended {
		return Taken{Note: "the run has ended: cmux agents resume takes it up again and carries this out"}, nil
	}
	if v.Holder == nil {
		return Taken{Note: "no runner: this is carried out at cmux agents resume"}, nil
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		var answer *run.Record
		offset, err = r.Replay(h, offset, func(rec *run.Record) {
			if rec.Type == run.Requested && rec.Request == q.ID {
				answer = rec
			}
		})
		if err != nil {
			return Taken{}, err
		}
		if answer != nil {
			if answer.Detail != "" {
				return Taken{}, errors.New(answer.Detail)
			}
			return Taken{Done: true}, nil
		}
		select {
		case <-w.C:
		case <-deadline.C:
			return Taken{Note: fmt.Sprintf("the runner (%s) has not taken this up yet; it stands until it does", v.Holder)}, nil
		case <-ctx.Done():
			return Taken{}, ctx.Err()
		}
	}
}
