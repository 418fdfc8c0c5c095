// Package alert bounds how often agents may call for a person. Each alert stands in
// .cmux/alerts.jsonl before it is told, by whoever tells it, and whether there may be another one follows
// from those, purely.
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

// Name is that of the file, in the folder .cmux.
const Name = "alerts.jsonl"

// Levels of an alert.
const (
	Info     = "info"
	Warning  = "warning"
	Critical = "critical"
)

// Levels are all of them, the least first.
func Levels() []string { return []string{Info, Warning, Critical} }

// MaxText bounds what an alert says, in bytes.
const MaxText = 300

// Of agents, one may alert so often in a while, and all together.
const (
	Window = 10 * time.Minute
	Each   = 5
	All    = 20
)

// Alert is a line of the file.
type Alert struct {
	N     int       `json:"n"`            // its number in the file, from 1; 0: of a time when they had none
	ID    string    `json:"id,omitempty"` // of the request
	At    time.Time `json:"at"`
	By    string    `json:"by"` // user, cmux, or the address of an agent
	Level string    `json:"level"`
	Text  string    `json:"text"`
}

// Check refuses an alert that is none.
func (a *Alert) Check() error {
	switch {
	case !slices.Contains(Levels(), a.Level):
		return fmt.Errorf("%.40q is no level: want %s", a.Level, strings.Join(Levels(), ", "))
	case strings.TrimSpace(a.Text) == "" || strings.ContainsAny(a.Text, "\n\r") || len(a.Text) > MaxText:
		return fmt.Errorf("an alert is one line of at most %d bytes", MaxText)
	}
	return nil
}

// free reports whether somebody may alert as often as they like.
func free(by string) bool { return by == "user" || by == "cmux" }

// Allow says why an agent may not alert now, going by the alerts before, oldest first.
func Allow(before []Alert, a Alert) error {
	if free(a.By) {
		return nil
	}
	each, all := 0, 0
	for _, b := range slices.Backward(before) {
		if since := a.At.Sub(b.At); since > Window || since < -Window || free(b.By) { // a clock that was set back holds nobody up for long
			continue
		}
		if b.Text == a.Text {
			return fmt.Errorf("%s told them this at %s: wait for the person", b.By, b.At.Local().Format("15:04:05"))
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

// List are the alerts, oldest first.
type List struct {
	Bad    []ledger.Bad
	Alerts []Alert
}

func (l *List) copy() *List { return &List{slices.Clip(l.Bad), slices.Clip(l.Alerts)} }

// most is the number of the last one.
func (l *List) most() int {
	if len(l.Alerts) == 0 {
		return 0
	}
	return l.Alerts[len(l.Alerts)-1].N
}

// Skip keeps in mind a line that does not count.
func (l *List) Skip(b ledger.Bad, _ []byte) { l.Bad = append(l.Bad, b) }

// Take takes in a line, or says why it does not count.
func (l *List) Take(line []byte) error {
	var a Alert
	if err := json.Unmarshal(line, &a); err != nil || a.Text == "" {
		return errors.New("it is no alert")
	}
	if most := l.most(); most > 0 && a.N <= most {
		return ledger.ErrCopy
	}
	l.Alerts = append(l.Alerts, a)
	return nil
}

// kept is how many alerts stay in a file that is shortened: many more than follow from
// each other.
const kept = 500

// short are the lines of the newest alerts. Their numbers go on, so the last one refuses
// a copy of any before.
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

// Record writes an alert down in the project at root, unless there were too many. One
// whose ID is there already is not written again, nor refused. The file that held lines that do not count is saved aside.
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
