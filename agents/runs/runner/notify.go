package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cmux/agents/platform/harmless"
	"cmux/agents/platform/notice"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// noticeRest is what is left to notifications under way when the run has ended.
const noticeRest = 5 * time.Second

// notifyInput tells a person that a node waits for one.
func (r *Runner) notifyInput(ctx context.Context, rec *run.Record) {
	text := rec.Node + " needs input"
	if rec.Type == run.Opened {
		text = rec.Node + " waits for approval: cmux agents approve " + rec.Node
		if i := r.g.Index(rec.Node); i >= 0 && r.g.Nodes[i].AsksCode() {
			text += ", which asks for a code in your own terminal"
		}
	} else if rec.Detail != "" {
		text += ": " + rec.Detail
	}
	r.notify(ctx, notice.News{At: rec.At, Event: "needs_input", Node: rec.Node, Text: text})
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
	r.notify(ctx, notice.News{At: rec.At, Event: "limited", Node: rec.Node, Account: rec.Account, Until: l.Until, Text: text})
}

// notifyCollision tells a person that two nodes change the same files: once,
// whatever becomes of it.
func (r *Runner) notifyCollision(ctx context.Context, rec *run.Record) {
	c := r.hist.Collision(rec.Collision.A, rec.Collision.B)
	if c == nil || !c.Since.Equal(rec.At) {
		return
	}
	r.notify(ctx, notice.News{At: rec.At, Event: "collision", Node: c.A, Other: c.B, Text: c.String()})
}

// notifyEnd tells a person that the run has ended.
func (r *Runner) notifyEnd(ctx context.Context, state dag.RunState) {
	r.notify(ctx, notice.News{At: time.Now(), Event: "run_ended", State: string(state), Text: fmt.Sprintf("run %s: %s", r.g.Session, state)})
}

// tellOrderer writes to the standing agent that ordered the run.
func (r *Runner) tellOrderer(ctx context.Context, n notice.News) {
	by := r.Run.Plan.By
	if by == "" {
		return
	}
	prefix := mailbox.StatusOf
	switch {
	case n.Event == "run_ended" && n.State == string(dag.RunDone):
		prefix = mailbox.Done
	case n.Event == "run_ended":
		prefix = mailbox.Blocked
	case n.Event == "needs_input":
		prefix = mailbox.Question
	}
	subject := prefix.Subject(harmless.Line("run " + r.g.Session + ": " + strings.TrimPrefix(n.Text, "run "+r.g.Session+": ")))
	if len(subject) > mailbox.MaxSubject {
		subject = strings.ToValidUTF8(subject[:mailbox.MaxSubject], "")
	}
	m := mailbox.Message{From: "monitor", To: by, Subject: subject, Body: "cmux agents status --session " + r.g.Session + " says more."}
	r.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notice.Time)
		defer cancel()
		defer context.AfterFunc(r.hushed, cancel)()
		if _, err := r.Run.Post(ctx, m); err != nil {
			r.Log.Warn("who ordered the run was not told", "by", by, "err", err)
		}
	})
}

// notify tells in the ways that the configuration names. None of them may hold
// the run up or fail it.
func (r *Runner) notify(ctx context.Context, n notice.News) {
	n.Run, n.Session = r.Run.Plan.ID, r.g.Session
	r.tellOrderer(ctx, n)
	how := r.g.Notify
	if how.Bell && r.Server != nil {
		io.WriteString(os.Stdout, "\a")
	}
	if !notice.Beyond(how) {
		return
	}
	to := notice.To{Notify: how, Root: r.Run.Plan.Root, Dir: r.Run.Dir, Log: r.Log}
	r.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notice.Time)
		defer cancel()
		defer context.AfterFunc(r.hushed, cancel)()
		to.Tell(ctx, n)
	})
}
