package runner

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
	"time"

	"cmux/agents/harmless"
	"cmux/agents/run"
	"cmux/dag"
)

const (
	// noticeTime bounds one notification.
	noticeTime = 10 * time.Second
	// noticeRest is what is left to those under way when the run has ended.
	noticeRest = 5 * time.Second
)

// news is what a webhook is sent.
type news struct {
	At      time.Time `json:"at"`
	Run     string    `json:"run"`
	Session string    `json:"session"`
	Event   string    `json:"event"` // needs_input, limited, collision, run_ended
	Node    string    `json:"node,omitempty"`
	Other   string    `json:"other,omitempty"` // collision: the other node
	Account string    `json:"account,omitempty"`
	Until   time.Time `json:"until,omitzero"` // limited
	State   string    `json:"state,omitempty"`
	Text    string    `json:"text"`
}

// notifyInput tells a person that a node waits for one.
func (r *Runner) notifyInput(ctx context.Context, rec *run.Record) {
	text := rec.Node + " needs input"
	if rec.Type == run.Opened {
		text = rec.Node + " waits for approval: cmux agents approve " + rec.Node
		if i := r.g.Index(rec.Node); i >= 0 && r.g.Nodes[i].AsksCode() {
			text += ", which asks for a code in a terminal of yours"
		}
	} else if rec.Detail != "" {
		text += ": " + rec.Detail
	}
	r.notify(ctx, news{At: rec.At, Event: "needs_input", Node: rec.Node, Text: text})
}

// notifyLimit tells a person that an account met its limit: once, however many
// nodes meet it and however often it is tried, until it works again.
func (r *Runner) notifyLimit(ctx context.Context, rec *run.Record) {
	l := r.hist.Limits[rec.Account]
	if !l.Since.Equal(rec.At) {
		return
	}
	text := "account " + rec.Account + " is at its limit"
	if !l.Until.IsZero() {
		text += " until " + l.Until.Local().Format("2006-01-02 15:04")
	}
	if rec.Detail != "" {
		text += ": " + rec.Detail
	}
	r.notify(ctx, news{At: rec.At, Event: "limited", Node: rec.Node, Account: rec.Account, Until: l.Until, Text: text})
}

// notifyCollision tells a person that two nodes change the same files: once,
// whatever becomes of it.
func (r *Runner) notifyCollision(ctx context.Context, rec *run.Record) {
	c := r.hist.Collision(rec.Collision.A, rec.Collision.B)
	if c == nil || !c.Since.Equal(rec.At) {
		return
	}
	r.notify(ctx, news{At: rec.At, Event: "collision", Node: c.A, Other: c.B, Text: c.String()})
}

// notifyEnd tells a person that the run has ended.
func (r *Runner) notifyEnd(ctx context.Context, state dag.RunState) {
	r.notify(ctx, news{At: time.Now(), Event: "run_ended", State: string(state), Text: fmt.Sprintf("run %s: %s", r.g.Session, state)})
}

// notify tells in the ways that the configuration names. None of them may hold
// the run up or fail it.
func (r *Runner) notify(ctx context.Context, n news) {
	n.Run, n.Session = r.Run.Plan.ID, r.g.Session
	how := r.g.Notify
	if how.Bell && r.Server != nil {
		io.WriteString(os.Stdout, "\a")
	}
	if !how.Desktop && how.Webhook == "" {
		return
	}
	r.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noticeTime)
		defer cancel()
		defer context.AfterFunc(r.hushed, cancel)()
		if how.Desktop {
			if err := desktop(ctx, n); err != nil {
				r.Log.Warn("no desktop notification", "err", err)
			}
		}
		if how.Webhook != "" {
			if err := post(ctx, how.Webhook, n); err != nil {
				r.Log.Warn("the webhook was not told", "err", err)
			}
		}
	})
}

// shownAs is the text of a desktop notification, which some desktops read as
// markup.
func shownAs(n news) string {
	return strings.NewReplacer("<", "‹", ">", "›").Replace(harmless.Line(n.Text))
}

func desktop(ctx context.Context, n news) error {
	if runtime.GOOS == "darwin" {
		script := `on run a
display notification (item 2 of a) with title (item 1 of a)
end run`
		return exec.CommandContext(ctx, "osascript", "-e", script, "cmux", shownAs(n)).Run()
	}
	return exec.CommandContext(ctx, "notify-send", "--app-name=cmux", "--", "cmux", shownAs(n)).Run()
}

func post(ctx context.Context, to string, n news) error {
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
