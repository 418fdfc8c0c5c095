package logs

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/records/event"
)

// The last check counts if it failed, however much the agent said behind it, and those
// before a time do not.
func TestFailedCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	failed := func(since time.Time) string {
		t.Helper()
		c, err := FailedCheck(path, since)
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			return ""
		}
		return c.Command + ": " + c.Output
	}
	if got := failed(time.Time{}); got != "" {
		t.Errorf("without events: %q", got)
	}
	l, err := event.Open(path, "api", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	check := func(command string, exit int) {
		l.Append(event.Event{Kind: event.Check, Command: command, Exit: &exit, Failed: exit != 0, Text: "seen"})
	}
	check("make", 2)
	for range 40 { // more than is read
		l.Append(event.Event{Kind: event.Text, Text: strings.Repeat("x", 50_000)})
	}
	if got := failed(time.Time{}); got != "" {
		t.Errorf("beyond what is read: %q", got)
	}
	check("make", 0)
	check("go vet", 1)
	l.Append(event.Event{Kind: event.Text, Text: "I stop here."})
	if got := failed(time.Time{}); got != "go vet: seen" {
		t.Errorf("the last one failed: %q", got)
	}
	if got := failed(time.Now().Add(time.Hour)); got != "" {
		t.Errorf("of a task before: %q", got)
	}
	check("go vet", 0)
	if got := failed(time.Time{}); got != "" {
		t.Errorf("the last one passed: %q", got)
	}
}
