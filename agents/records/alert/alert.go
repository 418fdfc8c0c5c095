// Package alert bounds how often agents may alert a person. Each alert is written to
// .cmux/alerts.jsonl before any process notifies the person. Whether another alert is
// allowed follows from that file alone.
package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/agents/records/ledger"
)

// Name is the name of the file, in the folder .cmux.
const Name = "alerts.jsonl"

// Levels of an alert.
const (
	Info     = "info"
	Warning  = "warning"
	Critical = "critical"
)

// Levels returns all levels, the lowest first.
func Levels() []string { return []string{Info, Warning, Critical} }

// MaxText bounds the text of an alert, in bytes.
const MaxText = 300

// Limits of alerts within Window: of one agent, and of all agents together.
const (
	Window = 10 * time.Minute
	Each   = 5
	All    = 20
)

// Alert is a line of the file.
type Alert struct {
	N     int       `json:"n"`            // its number in the file, from 1; 0: written before lines had numbers
	ID    string    `json:"id,omitempty"` // of the request
	At    time.Time `json:"at"`
	By    string    `json:"by"` // user, cmux, or the address of an agent
	Level string    `json:"level"`
	Text  string    `json:"text"`
}

// Check returns an error if the alert is not valid.
func (a *Alert) Check() error {
	switch {
	case !slices.Contains(Levels(), a.Level):
		return fmt.Errorf("%.40q is not a level: want %s", a.Level, strings.Join(Levels(), ", "))
	case strings.TrimSpace(a.Text) == "" || strings.ContainsAny(a.Text, "\n\r") || len(a.Text) > MaxText:
		return fmt.Errorf("an alert is one line of at most %d bytes", MaxText)
	}
	return nil
}

// free reports whether by may alert without limits.
func free(by string) bool { return by == "user" || by == "cmux" }

// Allow returns why an agent may not alert now, or nil. before are the earlier alerts,
// oldest first.
func Allow(before []Alert, a Alert) error {
	if free(a.By) {
		return nil
	}
	each, all := 0, 0
	for _, b := range slices.Backward(before) {
		if since := a.At.Sub(b.At); since > Window || since < -Window || free(b.By) { // after the clock was set back, a future time must not block anybody for long
			continue
		}
		if b.Text == a.Text {
			return fmt.Errorf("%s sent this alert at %s: wait for the person", b.By, b.At.Local().Format("15:04:05"))
		}
		if all++; b.By == a.By {
			each++
		}
	}
	switch {
	case each >= Each:
		return fmt.Errorf("%s has alerted %d times in %s: wait for the person, or write with cmux mailbox send user", a.By, each, Window)
	case all >= All:
		return fmt.Errorf("agents have alerted %d times in %s: wait for the person, or write with cmux mailbox send user", all, Window)
	}
	return nil
}

// List is the alerts, oldest first.
type List struct {
	Bad    []ledger.Bad
	Alerts []Alert
}

func (l *List) copy() *List { return &List{slices.Clip(l.Bad), slices.Clip(l.Alerts)} }

// most returns the number of the last alert.
func (l *List) most() int {
	if len(l.Alerts) == 0 {
		return 0
	}
	return l.Alerts[len(l.Alerts)-1].N
}

// Skip records a line that does not count.
func (l *List) Skip(b ledger.Bad, _ []byte) { l.Bad = append(l.Bad, b) }

// Take adds a line, or returns why it does not count.
func (l *List) Take(line []byte) error {
	var a Alert
	if err := json.Unmarshal(line, &a); err != nil || a.Text == "" {
		return errors.New("not an alert")
	}
	if most := l.most(); most > 0 && a.N <= most {
		return ledger.ErrCopy
	}
	l.Alerts = append(l.Alerts, a)
	return nil
}

// kept is how many alerts stay in a file that is shortened: many more than the limits
// depend on.
const kept = 500

// short returns the lines of the newest alerts. They keep their numbers, so the last one
// makes the list refuse a copy of any earlier line.
func (l *List) short() (lines [][]byte, err error) {
	for _, a := range l.Alerts[max(0, len(l.Alerts)-kept):] {
		line, err := ledger.Encode(&a)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// Record writes an alert of the project at root, unless there were too many. An alert with
// a known ID is neither written again nor refused. If the file held lines that do not
// count, it is saved aside.
func Record(ctx context.Context, root string, a Alert) (aside string, err error) {
	if err := a.Check(); err != nil {
		return "", err
	}
	b, err := ledger.Open(root, ledger.Format[*List]{Name: "alerts", Place: "alerts", New: func() *List { return new(List) }, Copy: (*List).copy, Short: (*List).short}, true)
	if err != nil {
		return "", err
	}
	_, aside, err = b.Change(ctx, func(l *List) ([][]byte, error) {
		if a.ID != "" && slices.ContainsFunc(l.Alerts, func(b Alert) bool { return b.ID == a.ID }) {
			return nil, nil
		}
		if err := Allow(l.Alerts, a); err != nil {
			return nil, err
		}
		a.N = l.most() + 1
		l.Alerts = append(l.Alerts, a)
		line, err := ledger.Encode(&a)
		return [][]byte{line}, err
	})
	return aside, err
}
