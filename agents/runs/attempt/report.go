package attempt

import (
	"errors"
	"fmt"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/records/event"
	"cmux/agents/runs/attempt/output"
	"cmux/agents/runs/run"
)

// reporter writes down what becomes of an attempt: in the run's records, in the
// node's events and in its log.
type reporter struct {
	name    string // of the node
	attempt int
	append  func(run.Record) error
	out     *output.Output
	events  *agent.Stage // which keeps them
}

func (r *reporter) record(rec run.Record) error {
	rec.Node, rec.Attempt, rec.At = r.name, r.attempt, time.Now()
	return r.append(rec)
}

// note records something a person may want to see. A note that cannot be
// written is not worth the attempt.
func (r *reporter) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.out.Say("%s", text)
	r.keep(event.Event{Kind: event.Note, Text: text})
	r.record(run.Record{Type: run.Noted, Detail: text})
}

// keep adds an event to the node's.
func (r *reporter) keep(e event.Event) { r.events.Keep(e) }

// close ends the node's events with how the attempt ended.
func (r *reporter) close(end *run.End, err error) {
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
	r.keep(e)
	if err := r.events.Events.Close(); err != nil {
		r.note("the events are incomplete: %v", err)
	}
}
