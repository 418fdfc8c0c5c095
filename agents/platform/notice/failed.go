package notice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"cmux/signals"
)

// Failure is a failed notification; no later one succeeded in the same way.
type Failure struct {
	Way   string    `json:"way"` // desktop, webhook, command
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

// String says what failed and when.
func (f Failure) String() string {
	return fmt.Sprintf("notify.%s: the notification of %s failed: %s", f.Way, f.At.Local().Format("2006-01-02 15:04:05"), f.Error)
}

func ways() []string { return []string{"desktop", "webhook", "command"} }

// file is the name of a failure's file in the folder of a run. No node can have that name.
func file(dir, way string) string { return filepath.Join(dir, ".notify-"+way+".json") }

// keep stores why a notification failed; nil: it succeeded, and the stored failure is
// removed.
func keep(dir, way string, failed error) error {
	if failed == nil {
		err := signals.RemoveFile(file(dir, way))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	b, err := json.Marshal(Failure{way, time.Now(), failed.Error()})
	if err != nil {
		return err
	}
	return signals.WriteFile(file(dir, way), append(b, '\n'), 0o600)
}

// maxFailure bounds the size of a failure's file, in bytes.
const maxFailure = 64 << 10

// Failures returns the ways in which the newest notification of a run failed.
func Failures(dir string) (all []Failure) {
	for _, way := range ways() {
		b, err := signals.ReadFile(file(dir, way), maxFailure)
		var f Failure
		if err == nil && json.Unmarshal(b, &f) == nil && f.Error != "" {
			all = append(all, f)
		}
	}
	return all
}
