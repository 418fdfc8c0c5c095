package standing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/dag/keys"
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

// talkUse is what is known of the use of an agent's conversation. A program that resumes
// the conversation reports all that was used in it, and earlier lives have counted it.
type talkUse struct {
	past    dag.Usage // in the lives before this one
	earlier dag.Usage // of this life, in conversations before this one
}

// counted is what the agent's lives have counted of its conversation.
func (s *State) counted() dag.Usage {
	if s.Conversation == "" {
		return dag.Usage{}
	}
	return s.talk.past.Plus(s.life().Beyond(s.talk.earlier))
}

// life is what the agent has used in this life.
func (s *State) life() dag.Usage { return s.Used.Beyond(s.past) }

// talksIn takes in that the agent goes on in a conversation.
func (s *State) talksIn(conversation string) {
	if s.Conversation != "" && s.Conversation != conversation {
		s.talk = talkUse{earlier: s.life()}
	}
	s.Conversation = conversation
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
	all := o.left.on(dayOf(now))
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

// keyLeft is the key of the Noted record with what an agent that is being removed
// had used on its last day: Value is a dayShare, Request the removal.
const keyLeft = "left"

// dayShare is what one agent had used on a day.
type dayShare struct {
	Day    string `json:"day"`
	Tokens int64  `json:"tokens"`
}

// leftovers are the shares of agents that were removed, by the removal, so that
// one that is carried out twice counts once. Those of days that are over are
// dropped.
type leftovers map[string]dayShare

// takes takes in a record with keyLeft.
func (l *leftovers) takes(rec *run.Record) {
	var s dayShare
	if json.Unmarshal([]byte(rec.Value), &s) != nil {
		return
	}
	if *l == nil {
		*l = make(leftovers)
	}
	maps.DeleteFunc(*l, func(_ string, old dayShare) bool { return old.Day < s.Day })
	(*l)[rec.Request] = s
}

func (l leftovers) on(day string) (tokens int64) {
	for _, s := range l {
		if s.Day == day {
			tokens += s.Tokens
		}
	}
	return tokens
}

// keepUsed records what an agent used on its last day before it is removed.
func (o *Org) keepUsed(ctx context.Context, removal string, a *Agent) error {
	s := dayShare{a.spent.day, a.spent.used.Counted()}
	if s.Tokens == 0 || o.left[removal] == s {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return o.Record(ctx, run.Record{Type: run.Noted, Key: keyLeft, Request: removal, Value: string(b)})
}

// budgets records whose budget of the day is spent, and whose is there again, and
// tells the person of each once. A budget holds although nobody can be told of it
// and whatever is wrong with another agent.
func (k *Keeper) budgets(ctx context.Context) error {
	now := k.Now()
	var errs []error
	for _, name := range k.org.Names() {
		errs = append(errs, k.budget(ctx, k.org.Agents[name], now))
	}
	if rest := k.tellRest.Sub(now); rest > 0 && rest <= tellRest {
		k.at(k.tellRest)
		return errors.Join(errs...)
	}
	for _, name := range k.org.Names() {
		if err := k.tellSpent(ctx, k.org.Agents[name], now); err != nil {
			k.tellRest = now.Add(tellRest)
			k.at(k.tellRest)
			k.Log.Error("nobody could be told of a spent budget; trying again", "agent", name, "err", err)
			break
		}
	}
	return errors.Join(errs...)
}

// tellRest is how long the keeper waits after the person could not be told.
const tellRest = 10 * time.Second

// budget records whether an agent's budget of the day is spent, if that is new.
func (k *Keeper) budget(ctx context.Context, a *Agent, now time.Time) error {
	why := k.org.Broke(a, now)
	if until, _ := a.Spent(now); (why != "") == !until.IsZero() {
		if why != "" {
			k.at(until)
			k.endTurn(ctx, a, now, why)
		}
		return nil
	}
	rec := run.Record{Type: run.Noted, Key: keySpent, Detail: why}
	if why != "" {
		rec.Until = midnight(now)
		k.at(rec.Until)
	}
	if err := k.org.RecordOf(ctx, a.Name, rec); err != nil {
		return fmt.Errorf("the budget of %s: %w", a.Name, err)
	}
	return k.org.lookAt(a)
}

// turnRest is how long a turn may go on after it was told to end: what was said last
// takes a while to arrive, and the answer to write.
const turnRest = 5 * time.Minute

// endTurn has a turn broken off that goes on after the budget of the day is spent,
// unless it is a person's, which the agent's wrapper knows, or of a program whose turn
// cannot be broken off. A task is taken back first.
func (k *Keeper) endTurn(ctx context.Context, a *Agent, now time.Time, why string) {
	l := k.lives.Of(a.Name)
	if l == nil || a.Activity != dag.Working || a.Work != nil {
		return
	}
	if rest := k.endedTurn[a.Name].Add(turnRest).Sub(now); rest > 0 && rest <= turnRest {
		k.at(now.Add(rest))
		return
	}
	k.endedTurn[a.Name] = now
	k.at(now.Add(turnRest))
	m := attempt.Message{Op: attempt.OpEndTurn, Key: mailID("budget-" + now.UTC().Format("20060102-150405")), Text: prompt.Spent(why)}
	if _, err := l.Tell(ctx, m); err != nil {
		k.Log.Warn("a turn could not be broken off", "agent", a.Name, "err", err)
	}
}

// tellSpent tells the person of a budget that is spent, by an id that a day has once.
func (k *Keeper) tellSpent(ctx context.Context, a *Agent, now time.Time) error {
	until, why := a.Spent(now)
	if until.IsZero() {
		return nil
	}
	id := mailID(fmt.Sprintf("budget-%s-%s", a.Member.ID, dayOf(until.Add(-time.Second))))
	subject := mailbox.Sys.Subject(fmt.Sprintf("%s is limited until midnight: %s", a.Name, why))
	return k.sends(ctx, mailbox.Message{ID: id, From: "monitor", To: "user", Subject: subject,
		Body: "Nothing is handed to it until then. To raise the budget: edit .cmux/config.yml, then cmux config apply."})
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
	t, err := k.move(ctx, t.ID, task.Change{To: task.Paused, Reason: why})
	if err != nil {
		return err
	}
	return k.withdraw(ctx, a, t, why+": end your turn; you get it back when there is a budget again")
}

// budgetField is a key with a budget in tokens below it.
func budgetField(doc string, to func(*Config) *int64) keys.Field[Config] {
	return keys.Section(keys.Key{Name: "budget", Example: "budget: {tokens: 2000000}", Doc: doc}, []keys.Field[Config]{
		keys.Count(keys.Key{Name: "tokens", Least: 1, Def: "no bound", Doc: "Input and output tokens, without what is read from a cache."}, to),
	})
}
