package run

import (
	"os"
	"time"

	"cmux/signals"
)

// unrestTail is how much of the end of the records Unrest looks at.
const unrestTail = 256 << 10

// Unrest reports whether, after a moment, something else of the run was
// interrupted by a signal: the sign of a shutdown that reaches one process
// after the other.
func (r *Run) Unrest(after time.Time) bool {
	info, err := os.Lstat(r.Records())
	if err != nil {
		return false
	}
	found := false
	// What the tail begins with may be the end of a line: that counts as torn.
	signals.ReadLog(r.Records(), max(0, info.Size()-unrestTail), func(line []byte, _ int64) error {
		rec, err := ParseRecord(line)
		if err != nil || !rec.At.After(after) {
			return nil
		}
		switch rec.Type {
		case Vanished, RunnerDown:
			found = found || rec.How == HowInterrupted
		}
		return nil
	})
	return found
}
