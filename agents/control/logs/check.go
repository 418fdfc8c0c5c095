package logs

import (
	"errors"
	"io/fs"
	"time"

	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// maxRecent bounds how much of an agent's events FailedCheck reads, in bytes.
const maxRecent = 1 << 20

// FailedCheck returns the last check of an agent's work since a time, by the events at path,
// if that check failed; the checks behind it did not run. nil: it passed, or there is none.
func FailedCheck(path string, since time.Time) (last *run.Check, err error) {
	f, err := signals.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	f.Close()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-maxRecent) // amid a line, which is no event
	_, err = event.Replay(path, from, func(e event.Event, _ int64) error {
		if e.Kind != event.Check || e.At.Before(since) {
			return nil
		}
		last = nil
		if e.Failed || e.TimedOut {
			last = &run.Check{Command: e.Command, TimedOut: e.TimedOut, Took: e.Took, Output: e.Text}
			if e.Exit != nil {
				last.Exit = *e.Exit
			}
		}
		return nil
	})
	return last, err
}
