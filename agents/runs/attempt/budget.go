package attempt

import (
	"time"

	"cmux/agents/records/event"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// meter is what was recorded of the attempt's use, and when.
type meter struct {
	recorded dag.Usage
	at       time.Time
	timer    *time.Timer // of the next record; nil: none is needed
}

func (m *meter) stop() {
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
}

// due says when what came in since the last record is to be recorded.
func (m *meter) due() <-chan time.Time {
	if m.timer == nil {
		return nil
	}
	return m.timer.C
}

// uses takes in what the attempt has used so far. It is recorded at once, but
// not again and again: a killed attempt forgets what came in since.
func (a *attempt) uses(used dag.Usage) error {
	a.end.Used = a.end.Used.AtLeast(used)
	if wait := a.limits.Note - time.Since(a.meter.at); wait > 0 {
		if a.meter.timer == nil && a.end.Used != a.meter.recorded {
			a.meter.timer = time.NewTimer(wait)
		}
	} else if err := a.recordUse(); err != nil {
		return err
	}
	return a.affordable()
}

// recordUse records what has come in since it was last recorded.
func (a *attempt) recordUse() error {
	a.meter.stop()
	if a.end.Used == a.meter.recorded {
		return nil
	}
	a.meter.recorded, a.meter.at = a.end.Used, time.Now()
	a.stage.Keep(event.Event{Kind: event.Usage, Used: a.end.Used})
	return a.record(run.Record{Type: run.Used, Used: a.end.Used})
}

// affordable holds what the node has used against its budget.
func (a *attempt) affordable() error {
	used, budget := a.spec.Used.Plus(a.end.Used), a.node.Budget
	if !budget.Exceeded(used) {
		return nil
	}
	return a.feed(conversation.Overspent{Text: (&run.BudgetError{Node: a.node.Name, Used: used.Counted(), Budget: budget.Tokens}).Error()})
}
