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

// Failure is a notification that did not get through, in a way in which none has since.
type Failure struct {
	Way   string    `json:"way"` // desktop, webhook, command
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

// String says what failed, and when.
func (f Failure) String() string {
	return fmt.Sprintf("notify.%s: the notification of %s failed: %s", f.Way, f.At.Local().Format("2006-01-02 15:04:05"), f.Error)
}

func ways() []string { return []string{"desktop", "webhook", "command"} }

// file is where a failure is kept in the folder of a run. No node has such a name.
func file(dir, way string) string { return filepath.Join(dir, ".notify-"+way+".json") }

// keep keeps why a notification failed; nil: it did not, and what is kept goes.
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

// maxFailure bounds the file of a failure, in bytes.
const maxFailure = 64 << 10

// Failures are the ways in which the newest notification of a run failed.
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
