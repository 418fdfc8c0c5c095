package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestUnrest(t *testing.T) {
	now := time.Now()
	at := func(ago time.Duration) string { return now.Add(-ago).Format(time.RFC3339Nano) }
	line := func(typ Type, how string, ago time.Duration) string {
		return fmt.Sprintf(`{"t":%q,"at":%q,"node":"b","n":1,"how":%q}`+"\n", typ, at(ago), how)
	}
	long := strings.Repeat(line(Noted, strings.Repeat("x", 900), 0), 1000)
	for _, c := range []struct {
		name, records string
		want          bool
	}{
		{"nothing", "", false},
		{"another was interrupted", line(Vanished, HowInterrupted, time.Second), true},
		{"the runner was", line(RunnerDown, HowInterrupted, time.Second), true},
		{"long ago", line(Vanished, HowInterrupted, time.Minute), false},
		{"lost", line(Vanished, HowLost, time.Second), false},
		{"stopped", line(Vanished, HowStopped, time.Second), false},
		{"at the end of much", long + line(Vanished, HowInterrupted, time.Second), true},
		{"torn", long + "{\"t\":\"van\n" + line(Vanished, HowInterrupted, time.Second) + "{", true},
	} {
		r := &Run{Paths: Paths{Dir: t.TempDir()}}
		if err := os.WriteFile(filepath.Join(r.Dir, recordsFile), []byte(c.records), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := r.Unrest(now.Add(-10 * time.Second)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if (&Run{Paths: Paths{Dir: t.TempDir()}}).Unrest(now) {
		t.Error("no records at all")
	}
}
