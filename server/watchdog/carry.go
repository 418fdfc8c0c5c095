package watchdog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/records/incident"
	"cmux/agents/runs/run"
	"cmux/server/watch"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// monitor is who writes what nobody but cmux has to say, and who orders what the
// watch does.
const monitor = "monitor"

// briefing is the id of the message that goes with an order.
func briefing(id string) string { return id + "-brief" }

// Took implements World. A compaction that its keeper took on took place, whether or
// not the agent's wrapper lived to type it: it is done at most once. The rules of
// package watch wait for its confirmation, and order another one without it.
func (w *Project) Took(_ context.Context, a *watch.Action) (bool, error) {
	if err := w.look(); err != nil {
		return false, err
	}
	if answer, answered := w.org.Answers[a.ID]; answered {
		// Of a compaction that was refused nothing took place.
		return answer.Refused == "" || a.Kind != watch.Compact, nil
	}
	if _, err := signals.Type(filepath.Join(w.org.Run.Requests(), a.ID+".json")); err == nil {
		return true, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := w.readMail(); err != nil {
		return false, err
	}
	return w.mails.Known(a.ID) || w.mails.Known(briefing(a.ID)), nil
}

func (w *Project) readMail() error {
	_, err := w.mails.Load(w.post.Box, &w.read)
	return err
}

// Do implements World.
func (w *Project) Do(ctx context.Context, a *watch.Action) error {
	if err := w.look(); err != nil {
		return err
	}
	w.report(ctx, a)
	switch a.Kind {
	case watch.Observe:
		return nil
	case watch.Nudge:
		return w.send(ctx, a.ID, a.Agent, nudgeSubject(a), nudgeText(a))
	case watch.Inject:
		return w.send(ctx, a.ID, a.Agent, mailbox.Task.Subject(injectSubject(a)), injectText(a))
	case watch.Tell:
		return w.send(ctx, a.ID, a.To, mailbox.Error.Subject(a.Agent+": "+a.Reason), tellText(a))
	case watch.Compact:
		return w.order(ctx, a.ID, standing.OpCompact, a.Agent, standing.Ask{By: monitor}) // the keeper tells it of what is kept
	case watch.Relaunch:
		return w.orderAndTell(ctx, a, standing.OpRelaunch, a.Agent, standing.Ask{By: monitor}, a.Agent, relaunchText(a, w.leads(a.Agent)))
	case watch.Reset:
		text := ""
		if a.Rule != watch.DueReset { // else its task says all that it is to know
			text = resetText(a, w.leads(a.Agent))
		}
		return w.orderAndTell(ctx, a, standing.OpReset, a.Agent, standing.Ask{By: monitor}, a.Agent, text)
	case watch.Spawn:
		if err := standing.WriteRoles(w.Root); err != nil {
			return err
		}
		s := standing.Spawn{Name: standing.Sentry, Role: standing.Sentry, Supervisor: "user", Dir: w.Root, RoleFile: standing.RolePath(w.Root, standing.Sentry)}
		return w.orderAndTell(ctx, a, standing.OpSpawn, standing.Sentry, standing.Ask{By: monitor, Spawn: &s}, standing.Sentry, sentryText(a))
	case watch.End:
		return w.orderAndTell(ctx, a, standing.OpKill, standing.Sentry, standing.Ask{By: monitor, Force: true}, standing.Supervisor, sentryGoneText(a))
	}
	return fmt.Errorf("nothing carries out the action %q", a.Kind)
}

// leads reports whether an agent gives the work to others.
func (w *Project) leads(name string) bool {
	a := w.org.Agents[name]
	return a != nil && a.Leads()
}

// send writes a message, once.
func (w *Project) send(ctx context.Context, id, to, subject, body string) error {
	if err := w.readMail(); err != nil {
		return err
	}
	if w.mails.Known(id) {
		return nil
	}
	if to != "user" && w.org.Agents[to] == nil {
		to = "user"
	}
	_, err := w.post.Send(ctx, mailbox.Message{ID: id, From: monitor, To: to, Subject: incident.Cut(subject, mailbox.MaxSubject), Body: body}, true)
	return err
}

// orderPatience is how long the keeper's answer is waited for. It carries the
// order out whoever waits.
const orderPatience = 3 * time.Second

// orderAndTell leaves a request for the keeper, once, and writes to who is to know
// of it. An order that is refused is not told of.
func (w *Project) orderAndTell(ctx context.Context, a *watch.Action, op run.Op, name string, ask standing.Ask, to, text string) error {
	if err := w.order(ctx, a.ID, op, name, ask); err != nil || text == "" {
		return err
	}
	return w.send(ctx, briefing(a.ID), to, mailbox.Sys.Subject(a.Agent+": "+a.Reason), text)
}

func (w *Project) order(ctx context.Context, id string, op run.Op, name string, ask standing.Ask) error {
	watcher := signals.Watch(ctx, w.org.Run.Dir)
	defer watcher.Close()
	if _, answered := w.org.Answers[id]; !answered {
		q, err := standing.Request(op, name, ask)
		if err != nil {
			return err
		}
		if err := w.org.Run.AskOnce(id, q); err != nil {
			return err
		}
	}
	deadline := time.NewTimer(orderPatience)
	defer deadline.Stop()
	for {
		if err := w.org.Look(); err != nil {
			return err
		}
		if answer, ok := w.org.Answers[id]; ok {
			if answer.Refused != "" {
				return errors.New(answer.Refused)
			}
			return nil
		}
		select {
		case <-watcher.C:
		case <-deadline.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stillKey names the cause of incidents about an agent that stands still.
func stillKey(agent string) string { return "agent/" + agent + "/still" }

// report writes an incident for what is more than a word to somebody. That it
// cannot be written keeps nothing from being done.
func (w *Project) report(ctx context.Context, a *watch.Action) {
	deed := ""
	switch a.Kind {
	case watch.Relaunch:
		deed = "started it again, in its conversation"
	case watch.Spawn:
		deed = "started the sentry"
	case watch.Reset:
		deed = "had it begin a new conversation"
	case watch.Tell:
		deed = "told " + a.To
	}
	r := incident.Report{Kind: "agent", About: a.Agent, Key: stillKey(a.Agent), Title: incident.Cut(a.Agent+": "+a.Reason, incident.MaxTitle)}
	switch {
	case deed == "", !a.Lasting():
		return
	}
	for _, e := range a.Evidence {
		r.Evidence = append(r.Evidence, incident.Evidence{Text: e})
	}
	r.Deeds = incident.Did(deed, "")
	if a.Kind == watch.Tell {
		r.Advice = &incident.Advice{Text: "look at it, and start it again", Command: "cmux workers wake " + a.Agent}
	}
	if _, _, err := w.incidents.Open(ctx, task.Cmux, r); err != nil {
		w.log.Error("an incident could not be written down", "agent", a.Agent, "err", err)
	}
}

// Recovered implements World.
func (w *Project) Recovered(ctx context.Context, agent, why string) error {
	_, err := w.incidents.CloseKey(ctx, stillKey(agent), task.Cmux, why, incident.Note{})
	if errors.Is(err, incident.ErrNone) {
		return nil
	}
	return err
}
