// Package notice notifies a person who is not watching: by a desktop notification, a
// webhook and a command. Nothing waits for a notification or fails because of one. A
// failure is stored, so that status and doctor can report it.
package notice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/platform/harmless"
	"cmux/dag"
)

// Time bounds one notification.
const Time = 10 * time.Second

// News is the content of a notification, and the body of a webhook.
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

// To is how cmux notifies a person about a run or an organization.
type To struct {
	dag.Notify
	Root string // of the project, where a command runs
	Dir  string // of the run or the organization; failures are stored there
	Log  *log.Logger
}

// Beyond reports whether there is a way to notify other than the bell, which needs a
// terminal.
func Beyond(how dag.Notify) bool { return how.Desktop || how.Webhook != "" || how.Command != "" }

// Tell notifies a person in each way except the bell. A failure goes to the log, and
// Failures returns it until that way succeeds.
func (t To) Tell(ctx context.Context, n News) {
	t.by(ctx, "desktop", t.Desktop, func() error { return desktop(ctx, n) })
	t.by(ctx, "webhook", t.Webhook != "", func() error { return post(ctx, t.Notify, n) })
	t.by(ctx, "command", t.Command != "", func() error { return run(ctx, t.Command, t.Root, n) })
}

// by notifies in one way and stores the result.
func (t To) by(ctx context.Context, way string, wanted bool, tell func() error) {
	if !wanted {
		return
	}
	err := tell()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (cmux waits %s at most)", err, Time)
	}
	if err != nil {
		t.Log.Warn("a notification failed", "way", way, "err", err)
	}
	if err := keep(t.Dir, way, err); err != nil {
		t.Log.Warn("the result of a notification could not be stored", "err", err)
	}
}

// shownAs returns the text of a desktop notification, escaped because some desktops read it
// as markup.
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

// voices are programs that speak, with their arguments before the text.
var voices = [][]string{{"spd-say", "--wait", "--"}, {"espeak-ng", "--"}, {"espeak", "--"}, {"say", "--"}}

// Speak reads a text aloud.
func Speak(ctx context.Context, text string) error {
	for _, v := range voices {
		if program, err := exec.LookPath(v[0]); err == nil {
			return exec.CommandContext(ctx, program, append(v[1:len(v):len(v)], harmless.Line(text))...).Run()
		}
	}
	return errors.New("none of spd-say, espeak-ng, espeak and say is installed")
}

// post sends n to the webhook.
func post(ctx context.Context, how dag.Notify, n News) error {
	b, err := json.Marshal(payload(how, n))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, how.Webhook, bytes.NewReader(b))
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
	if resp.StatusCode < 300 {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxSaid))
	err = fmt.Errorf("%s answered %s", req.URL.Host, resp.Status)
	if text := harmless.Line(strings.TrimSpace(string(said))); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// maxSaid is how much of a webhook's or a command's error output is kept, in bytes.
const maxSaid = 200

// FormatOf returns the format of how.Webhook, a value of dag.NotifyFormats.
func FormatOf(how dag.Notify) string {
	if how.Format != "" {
		return how.Format
	}
	u, err := url.Parse(how.Webhook)
	if err != nil {
		return "json"
	}
	host := strings.ToLower(u.Hostname())
	in := func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }
	switch {
	case host == "hooks.slack.com" || host == "hooks.slack-gov.com":
		return "slack"
	case in("discord.com") || in("discordapp.com"):
		if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/slack") {
			return "slack" // Discord's own address for it
		}
		return "discord"
	}
	return "json"
}

// maxDiscord is the length of a Discord message, in characters.
const maxDiscord = 2000

// payload returns the body for the webhook. In a chat the text mentions nobody.
func payload(how dag.Notify, n News) any {
	text := []rune("cmux " + n.Session + ": " + harmless.Line(n.Text))
	switch FormatOf(how) {
	case "slack":
		return map[string]any{"text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(string(text))}
	case "discord":
		return map[string]any{"content": string(text[:min(len(text), maxDiscord)]), "allowed_mentions": map[string]any{"parse": []string{}}}
	}
	return n
}

// run runs the person's command. The text is data: the command gets it in its environment
// and its standard input, never as shell text.
func run(ctx context.Context, command, dir string, n News) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Dir, c.Stdin = dir, bytes.NewReader(append(b, '\n'))
	c.Env = append(os.Environ(), "CMUX_EVENT="+n.Event, "CMUX_TEXT="+harmless.Line(n.Text), "CMUX_NODE="+n.Node, "CMUX_STATE="+n.State, "CMUX_SESSION="+n.Session)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil && lines[len(lines)-1] != "" {
		last := harmless.Line(lines[len(lines)-1])
		err = fmt.Errorf("%w: %s", err, strings.ToValidUTF8(last[:min(len(last), maxSaid)], ""))
	}
	return err
}
