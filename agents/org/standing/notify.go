package standing

import (
	"context"
	"strings"

	"cmux/agents/records/alert"
	"cmux/agents/runs/run"

	"cmux/agents/platform/harmless"
	"cmux/agents/platform/notice"
	"cmux/dag"
	"cmux/dag/keys"
	"cmux/signals/mailbox"
)

// notifyFields are the keys below notify.
func notifyFields() []keys.Field[Config] {
	return []keys.Field[Config]{
		keys.Flag(keys.Key{Name: "bell", Def: "true", Doc: "The terminal's bell, in tmux."}, func(c *Config) *bool { return &c.Notify.Bell }),
		keys.Flag(keys.Key{Name: "desktop", Def: "false", Doc: "A desktop notification."}, func(c *Config) *bool { return &c.Notify.Desktop }),
		keys.Flag(keys.Key{Name: "voice", Def: "false", Doc: "An alert (`cmux alert`) is spoken, by the first of spd-say, espeak-ng, espeak and say that there is."}, func(c *Config) *bool { return &c.Voice }),
		keys.Text(keys.Key{Name: "webhook", Doc: "An address that is sent JSON with `event` (`message`, `needs_input` or `alert`), `node` and `text`, and of an alert its level as `state`."},
			func(c *Config) *string { return &c.Notify.Webhook }, keys.WebAddress),
		keys.Choice(keys.Key{Name: "format", Allowed: dag.NotifyFormats(), Doc: "What the webhook understands. Default: `slack` or `discord` if the address is one of theirs, else `json`."},
			func(c *Config) *string { return &c.Notify.Format }),
		keys.Text(keys.Key{Name: "command", Doc: "A command that cmux runs with `sh -c` in the project's root, with that JSON on its standard input and `CMUX_EVENT`, `CMUX_TEXT`, `CMUX_NODE`, `CMUX_STATE` and `CMUX_SESSION` in its environment."},
			func(c *Config) *string { return &c.Notify.Command }, keys.NotEmpty),
	}
}

// noticed is what the keeper has shown a person, or what it found when it began.
type noticed struct {
	begun  bool
	mail   map[string]bool // ids of messages that wait for the person
	agents map[string]bool // that need them
}

// notifies tells the person of each message to them, and of each agent that needs
// them, once. What was there when the keeper began is in cmux status.
func (k *Keeper) notifies(ctx context.Context) {
	was := k.noticed
	now := noticed{begun: true, mail: make(map[string]bool), agents: make(map[string]bool)}
	for _, w := range k.office.Waiting() {
		if w.For.Kind != mailbox.User {
			continue
		}
		now.mail[w.ID] = true
		if was.begun && !was.mail[w.ID] {
			k.notify(ctx, notice.News{Event: "message", Node: w.From, Text: "message from " + harmless.Line(w.From) + ": " + harmless.Line(w.Subject)})
		}
	}
	for _, name := range k.org.Names() {
		word, detail := k.org.Agents[name].Stands(k.Now(), k.org.Stopped)
		if !WantsPerson(word, detail) {
			continue
		}
		now.agents[name] = true
		if was.begun && !was.agents[name] {
			k.notify(ctx, notice.News{Event: "needs_input", Node: name, Text: strings.TrimSuffix(name+" needs input: "+harmless.Line(detail), ": ")})
		}
	}
	k.noticed = now
}

// alert calls for the person, in the ways that it answers with. It is written down here
// and by the id of the request, so that what was not told does not stand as told. A
// keeper that is killed before it has answered calls again, which is better than not at
// all.
func (k *Keeper) alert(ctx context.Context, q run.Request, ask Ask) (done, error) {
	if ask.Alert == nil {
		return refuse("an alert without a text"), nil
	}
	a := *ask.Alert
	a.ID, a.At, a.By = q.ID, k.Now().UTC(), ask.By
	aside, err := alert.Record(ctx, k.org.Root(), a)
	if ctx.Err() != nil {
		return done{}, ctx.Err()
	}
	if aside != "" {
		k.Log.Warn("a file held lines that do not count, and was saved aside", "file", alert.Name, "as", aside)
	}
	if err != nil {
		return refuse("%w", err), nil
	}
	text := harmless.Line(a.Text)
	if a.By != "user" {
		text = harmless.Line(a.By) + ": " + text
	}
	k.notify(ctx, notice.News{Event: "alert", Node: a.By, State: a.Level, Text: text})
	ways := []string{}
	how := k.org.Settings.Notify
	if how.Bell && k.Bell != nil {
		ways = append(ways, "bell")
	}
	if how.Desktop {
		ways = append(ways, "desktop")
	}
	if how.Webhook != "" {
		ways = append(ways, "webhook")
	}
	if how.Command != "" {
		ways = append(ways, "command")
	}
	if k.org.Settings.Voice {
		ways = append(ways, "voice")
		k.tasks.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, notice.Time)
			defer cancel()
			if err := notice.Speak(ctx, text); err != nil {
				k.Log.Warn("the alert was not spoken", "err", err)
			}
		})
	}
	return done{over: true, made: ways}, nil
}

// notify tells in the ways that the configuration names. None of them may hold
// the keeper up.
func (k *Keeper) notify(ctx context.Context, n notice.News) { newTeller(k).news(ctx, n) }

// teller is notify for what runs beside the keeper.
type teller struct {
	*Keeper
	to   notice.To
	plan run.Plan
}

func newTeller(k *Keeper) teller {
	return teller{k, notice.To{Notify: k.org.Settings.Notify, Root: k.org.Root(), Dir: k.org.Run.Dir, Log: k.Log}, k.org.Run.Plan}
}

func (t teller) news(ctx context.Context, n notice.News) {
	n.At, n.Run, n.Session = t.Now(), t.plan.ID, t.plan.Session
	if t.to.Notify.Bell && t.Bell != nil {
		t.Bell()
	}
	if !notice.Beyond(t.to.Notify) {
		return
	}
	t.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, notice.Time)
		defer cancel()
		t.to.Tell(ctx, n)
	})
}
