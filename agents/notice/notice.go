// Package notice tells a person who looks elsewhere that something wants them: by
// the desktop and by a webhook. Nothing waits for it, and nothing fails by it.
package notice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/harmless"
	"cmux/dag"
)

// Time bounds one notification.
const Time = 10 * time.Second

// News is what a person is told, and a webhook is sent.
type News struct {
	At      time.Time `json:"at"`
	Run     string    `json:"run"`
	Session string    `json:"session"`
	Event   string    `json:"event"` // needs_input, limited, collision, run_ended, message
	Node    string    `json:"node,omitempty"`
	Other   string    `json:"other,omitempty"` // collision: the other node
	Account string    `json:"account,omitempty"`
	Until   time.Time `json:"until,omitzero"` // limited
	State   string    `json:"state,omitempty"`
	Text    string    `json:"text"`
}

// Tell tells in the ways that how names, but for the bell, which is a terminal's.
// What cannot be told goes to the log.
func Tell(ctx context.Context, how dag.Notify, n News, l *log.Logger) {
	if how.Desktop {
		if err := desktop(ctx, n); err != nil {
			l.Warn("no desktop notification", "err", err)
		}
	}
	if how.Webhook != "" {
		if err := post(ctx, how.Webhook, n); err != nil {
			l.Warn("the webhook was not told", "err", err)
		}
	}
}

// shownAs is the text of a desktop notification, which some desktops read as
// markup.
func shownAs(n News) string {
	return strings.NewReplacer("<", "‹", ">", "›").Replace(harmless.Line(n.Text))
}

func desktop(ctx context.Context, n News) error {
	if runtime.GOOS == "darwin" {
		script := `on run a
display notification (item 2 of a) with title (item 1 of a)
end run`
		return exec.CommandContext(ctx, "osascript", "-e", script, "cmux", shownAs(n)).Run()
	}
	return exec.CommandContext(ctx, "notify-send", "--app-name=cmux", "--", "cmux", shownAs(n)).Run()
}

// voices are programs that speak, with what stands before the text.
var voices = [][]string{{"spd-say", "--wait", "--"}, {"espeak-ng", "--"}, {"espeak", "--"}, {"say", "--"}}

// Speak says a text aloud.
func Speak(ctx context.Context, text string) error {
	for _, v := range voices {
		if program, err := exec.LookPath(v[0]); err == nil {
			return exec.CommandContext(ctx, program, append(v[1:len(v):len(v)], harmless.Line(text))...).Run()
		}
	}
	return errors.New("there is no spd-say, espeak-ng, espeak or say")
}

func post(ctx context.Context, to string, n News) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // without the address, whose path is often a secret
	}
	if err != nil {
		return fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s answered %s", req.URL.Host, resp.Status)
	}
	return nil
}
