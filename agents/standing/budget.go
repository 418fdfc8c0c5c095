package standing

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"cmux/agents/control/say"
	"cmux/agents/run"
	"cmux/agents/task"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// Budgets are the tokens that agents may use in a day, which ends at midnight
// where cmux runs; 0: no bound.
type Budgets struct {
	Supervisor int64 `json:"supervisor,omitempty"` // each agent that leads
	Worker     int64 `json:"worker,omitempty"`     // each of the others
	All        int64 `json:"all,omitempty"`        // all of them together
}

// spending is what an agent has used on one day.
type spending struct {
	day  string
	used dag.Usage
}

func dayOf(t time.Time) string { return t.Local().Format(time.DateOnly) }

// midnight is when the day of a moment ends.
func midnight(t time.Time) time.Time {
	t = t.Local()
	return time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location())
}

// spends takes in what the agent has used in all by a moment.
func (s *State) spends(at time.Time, used dag.Usage) {
	if day := dayOf(at); s.spent.day != day {
		s.spent = spending{day: day}
	}
	s.spent.used = s.spent.used.Plus(used.Beyond(s.Used))
	s.Used = used
}

// UsedOn is what the agent has used so far on the day of a moment.
func (s *State) UsedOn(t time.Time) dag.Usage {
	if s.spent.day != dayOf(t) {
		return dag.Usage{}
	}
	return s.spent.used
}

// Broke says which budget of the day keeps an agent from being given anything;
// empty: none does.
func (o *Org) Broke(a *Agent, now time.Time) string {
	b, own := o.Settings.Budgets, o.Settings.Budgets.Worker
	if a.Leads() {
		own = b.Supervisor
	}
	if used := a.UsedOn(now).Counted(); own > 0 && used >= own {
		return fmt.Sprintf("it has used %s of its %s tokens of today", say.Short(used), say.Short(own))
	}
	if b.All == 0 {
		return ""
	}
	var all int64
	for _, other := range o.Agents {
		all += other.UsedOn(now).Counted()
	}
	if all < b.All {
		return ""
	}
	return fmt.Sprintf("all agents have used %s of their %s tokens of today", say.Short(all), say.Short(b.All))
}

// Leads reports whether the agent is a supervisor.
func (s *State) Leads() bool {
	return s.Member.Role == Supervisor || s.Member.Role == ProjectSupervisor
}

// budgets records whose budget of the day is spent, and whose is there again, and
// tells the person of each once.
func (k *Keeper) budgets(ctx context.Context) error {
	now := k.Now()
	for _, name := range k.org.Names() {
		a := k.org.Agents[name]
		why := k.org.Broke(a, now)
		if until, _ := a.Spent(now); (why != "") == !until.IsZero() {
			if why != "" {
				k.at(until)
			}
			continue
		}
		rec := run.Record{Type: run.Noted, Key: keySpent, Detail: why}
		if why != "" {
			rec.Until = midnight(now)
			k.at(rec.Until)
			if err := k.tellSpent(ctx, a, why, now); err != nil {
				return err
			}
		}
		if err := k.org.RecordOf(ctx, name, rec); err != nil {
			return err
		}
		if err := k.org.lookAt(a); err != nil {
			return err
		}
	}
	return nil
}

// tellSpent tells the person, by an id that a day has once.
func (k *Keeper) tellSpent(ctx context.Context, a *Agent, why string, now time.Time) error {
	id := fmt.Sprintf("budget-%s-%s", a.Member.ID, dayOf(now))
	subject := mailbox.Sys.Subject(fmt.Sprintf("%s is limited until midnight: %s", a.Name, why))
	return k.write(ctx, a, "user", mailID(id), subject, "Nothing is handed to it until then. To raise the budget: edit .cmux/config.yml, then cmux config apply.")
}

// mailID makes an id of a message of a text.
func mailID(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			out[i] = '-'
		}
	}
	return string(out)
}

// Spent is until when the agent's budget of the day keeps it from being given
// anything, and why; zero: it does not.
func (s *State) Spent(now time.Time) (until time.Time, why string) {
	if s.Broken == "" || !now.Before(s.BrokenUntil) || s.BrokenUntil.Sub(now) > 25*time.Hour { // the clock was put back
		return time.Time{}, ""
	}
	return s.BrokenUntil, s.Broken
}

// putBack takes the work of an agent back whose budget of the day is spent. It is
// given it again when there is a budget.
func (k *Keeper) putBack(ctx context.Context, a *Agent, t *task.Task, why string) error {
	if _, err := k.move(ctx, t.ID, task.Change{To: task.Paused, Reason: why}); err != nil {
		return err
	}
	return k.withdraw(ctx, a, t, why+": end your turn; you get it back when there is a budget again")
}

// budgetKey is a key with a budget in tokens below it.
func budgetKey(to *int64, doc string) configKey {
	return groupKey("budget", doc, "budget: {tokens: 2000000}", []configKey{{
		name: "tokens", doc: "Input and output tokens, without what is read from a cache.", def: "no bound",
		schema: map[string]any{"type": "integer", "minimum": 1},
		read: func(p *configParser, n *yaml.Node) {
			text := p.text(n, "budget.tokens")
			v, err := strconv.ParseInt(text, 10, 64)
			if text != "" && (err != nil || v < 1) {
				p.fault(n, "", "budget.tokens must be a whole number of 1 or more, not %s", text)
				return
			}
			*to = v
		},
	}})
}
