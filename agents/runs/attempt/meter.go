package attempt

import (
	"time"

	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// meter counts what an attempt has used, and when that was recorded.
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

// due returns when to record the usage since the last record.
func (m *meter) due() <-chan time.Time {
	if m.timer == nil {
		return nil
	}
	return m.timer.C
}

// uses takes the attempt's usage so far. It records it, but not too often: a killed attempt
// loses what came since.
func (m *meter) uses(used dag.Usage) error {
	m.used = m.used.AtLeast(used.Bounded())
	if wait := m.pace - time.Since(m.at); wait > 0 {
		if m.timer == nil && m.used != m.recorded {
			m.timer = time.NewTimer(wait)
		}
		return nil
	}
	return m.flush()
}

// flush records the usage since the last record.
func (m *meter) flush() error {
	m.stop()
	if m.used == m.recorded {
		return nil
	}
	m.recorded, m.at = m.used, time.Now()
	m.keep(event.Event{Kind: event.Usage, Used: m.used})
	return m.record(run.Record{Type: run.Used, Used: m.used})
}
