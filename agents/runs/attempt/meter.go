package attempt

import (
	"time"

	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// meter is what an attempt has used, and what was recorded of it, and when.
type meter struct {
	*reporter
	pace     time.Duration // between records
	used     dag.Usage
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
func (m *meter) uses(used dag.Usage) error {
	m.used = m.used.AtLeast(used)
	if wait := m.pace - time.Since(m.at); wait > 0 {
		if m.timer == nil && m.used != m.recorded {
			m.timer = time.NewTimer(wait)
		}
		return nil
	}
	return m.flush()
}

// flush records what has come in since it was last recorded.
func (m *meter) flush() error {
	m.stop()
	if m.used == m.recorded {
		return nil
	}
	m.recorded, m.at = m.used, time.Now()
	m.keep(event.Event{Kind: event.Usage, Used: m.used})
	return m.record(run.Record{Type: run.Used, Used: m.used})
}
