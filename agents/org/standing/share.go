package standing

import (
	"context"
	"maps"
	"time"

	"cmux/agents/platform/lease"
	"cmux/agents/platform/limits"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/runs/shares"
	"cmux/dag"
)

// share is what the organization shares with all runs of the person.
type share struct {
	*shares.Shares
	held  map[string]int       // agent to its slot
	told  map[string]time.Time // account to the limit that all runs were told of, by when it was met
	later map[string]time.Time // agent to when it is told again that its limit is over
}

func (k *Keeper) openShare() {
	by := lease.Holder{Project: k.org.Root(), Session: k.org.Run.Plan.Session, Run: k.org.Run.Plan.ID}
	k.share = share{shares.Open(by, shares.Needs{Seats: true, Limits: true}, k.Log), make(map[string]int), make(map[string]time.Time), make(map[string]time.Time)}
	for _, a := range k.org.Agents {
		if a.Life.On() && a.place.Slot != shares.NoSlot {
			k.share.Hold(a.place.Slot)
			k.share.held[a.Name] = a.place.Slot
		}
	}
}

// shares tells all runs of the limits that agents met, takes in the ends of those
// that others found over, and has the agents that work hold their seats.
func (k *Keeper) shares(ctx context.Context) {
	for name, slot := range k.share.held {
		if a := k.org.Agents[name]; a == nil || !a.Life.On() {
			k.share.Release(slot)
			delete(k.share.held, name)
		}
	}
	k.shareLimits(ctx)
	k.share.Sit(maps.Keys(k.org.Agents), func(name string) bool { a := k.org.Agents[name]; return a != nil && a.sits() })
}

func (k *Keeper) shareLimits(ctx context.Context) {
	s := &k.share
	now := k.Now()
	for name, a := range k.org.Agents {
		l := a.Limit
		if l == nil || !l.At.After(s.told[l.Account]) {
			continue
		}
		s.told[l.Account] = l.At
		s.Tell(limits.State{Account: l.Account, Free: l.Free, Until: l.Until, Said: l.Said, At: l.At}, name, false, now)
	}
	for _, a := range k.org.Agents {
		if a.Limit == nil || a.Activity != dag.AtLimit || k.lives.Of(a.Name) == nil {
			continue
		}
		if err := k.awake(ctx, a); err != nil {
			k.Log.Error("an agent could not be told that its limit is over", "agent", a.Name, "err", err)
		}
	}
}

// awakeAgain is how long an agent has to hear that its limit is over.
const awakeAgain = 10 * time.Second

// awake tells an agent that its account's limit was found over before its time:
// on record first, from which it reads that, and then until it has heard it.
func (k *Keeper) awake(ctx context.Context, a *Agent) error {
	s := &k.share
	if !a.Limit.Free {
		is, _ := s.Limit(a.Limit.Account, k.Now())
		if is == nil || !is.Free || !is.At.After(a.Limit.At) {
			return nil
		}
		if err := k.org.RecordOf(ctx, a.Name, run.Record{Type: run.Freed, Account: is.Account}); err != nil {
			return err
		}
		if err := k.org.lookAt(a); err != nil {
			return err
		}
		s.told[is.Account] = a.Limit.At // who found it out has told it
	}
	if at := s.later[a.Name]; k.Now().Before(at) {
		k.at(at)
		return nil
	}
	// Again, in case it does not hear it or goes on waiting all the same.
	s.later[a.Name] = k.Now().Add(awakeAgain)
	k.at(s.later[a.Name])
	_, err := k.lives.Of(a.Name).Tell(ctx, attempt.Message{Op: attempt.OpAwake})
	return err
}

// shared is where something happens when what agents wait for may be there.
func (k *Keeper) shared() []string {
	for _, a := range k.org.Agents {
		if a.Waits != "" || a.Activity == dag.AtLimit {
			return k.share.Dirs()
		}
	}
	return nil
}

// sits reports whether the agent works on a task, for which it holds a place. The
// supervisor needs none.
func (s *State) sits() bool {
	return s.Work != nil && s.Life.On() && s.Member.NeedsSeat() && s.Activity != dag.NeedsInput && s.Activity != dag.AtLimit
}

// slot takes a slot for the next life of an agent.
func (k *Keeper) slot(name string, p *run.Place) {
	if old, ok := k.share.held[name]; ok {
		k.share.Release(old)
	}
	p.Slot, p.PortBase = k.share.Take()
	k.share.held[name] = p.Slot
}

// hindered says whether an agent cannot begin with a task now for a reason that
// is everybody's: its account is at a limit, or as many agents work as may. It has
// its place when it may begin.
func (k *Keeper) hindered(ctx context.Context, a *Agent) (bool, error) {
	why := ""
	if a.Member.Account != "" {
		is, _ := k.share.Limit(a.Member.Account, k.Now())
		if is != nil && !is.Free && is.Until.After(k.Now()) {
			why = "the account is limited until " + is.Until.Local().Format("15:04") + ", " + is.By.String() + " found out"
			k.at(is.Until)
		}
	}
	if why == "" && a.Member.NeedsSeat() {
		if why = k.share.Seat(a.Name); why != "" {
			k.at(k.Now().Add(2 * time.Second))
		}
	}
	return why != "", k.waits(ctx, a, why)
}

// waits records why an agent's next task waits; empty: it does not.
func (k *Keeper) waits(ctx context.Context, a *Agent, why string) error {
	if a.Waits == why {
		return nil
	}
	if err := k.org.RecordOf(ctx, a.Name, run.Record{Type: run.Noted, Key: keyWaits, Detail: why}); err != nil {
		return err
	}
	return k.org.lookAt(a)
}
