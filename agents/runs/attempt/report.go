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

// reporter writes what happens to an attempt: to the run's records, the node's events and
// its log.
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

// note records something for a person. If it cannot be written, the attempt continues.
func (r *reporter) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.out.Say("%s", text)
	r.keep(event.Event{Kind: event.Note, Text: text})
	r.record(run.Record{Type: run.Noted, Detail: text})
}

// keep adds an event to the node's.
func (r *reporter) keep(e event.Event) { r.events.Keep(e) }

// close ends the node's events with the attempt's end.
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
