package attempt

import (
	"errors"

	"cmux/agents/records/event"
	"cmux/agents/runs/run"
)

// openEvents opens the node's events, which agents have: what a command does is
// in its log and in the run's records.
func (a *attempt) openEvents() (err error) {
	if !a.job.Kinds[a.node.Agent].Judge {
		return nil
	}
	a.stage.Events, err = event.Open(a.paths.Events(a.node.Name), a.node.Name, a.spec.Attempt)
	if err == nil && a.stays() {
		a.stage.Events.Also(newAuditor(a.spec, a.stage).hear)
	}
	return err
}

// closeEvents tells how the attempt ended.
func (a *attempt) closeEvents(end *run.End, err error) {
	e := event.Event{Kind: event.End}
	switch {
	case err == nil:
		e.State, e.Text = end.Label().String(), end.Detail
		if e.Text == "" {
			e.Text = end.Summary
		}
		e.Failed, e.Exit, e.Used = end.Marker() != 0, &end.Exit, end.Used
	case errors.Is(err, ErrStopped):
		e.State = run.HowStopped
	case errors.Is(err, ErrInterrupted):
		e.State = run.HowInterrupted
	default:
		e.State, e.Text, e.Failed = run.HowLost, err.Error(), true
	}
	a.stage.Keep(e)
	if err := a.stage.Events.Close(); err != nil {
		a.note("the events are incomplete: %v", err)
	}
}
