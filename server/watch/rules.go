package watch

import (
	"fmt"
	"slices"
	"time"

	"cmux/agents/org/watchconfig"
)

// Rule is one line of what the watch may do.
type Rule struct {
	Name      string
	Level     int // of recovery, from 0, at which an agent helps itself, to 5
	Evidence  string
	Threshold string // keys of the configuration that it goes by
	Action    string
	Most      int           // actions about one agent
	Per       time.Duration // in this time
	Bound     string        // what else bounds it
	Switch    string        // key of the configuration

	unsaid bool // beyond its bound it is done all the same, without an action
	on     func(*watchconfig.Config) *bool
	due    func(*move, *Agent, *Seen) *Action
}

const day = 24 * time.Hour

// DueReset is the rule by which a permanent worker is reset in the ordinary course
// of its work.
const DueReset = "reset"

// Lasting reports whether the action is about an agent that does not get on by
// itself.
func (a *Action) Lasting() bool {
	switch a.Rule {
	case ruleFrozen, ruleSentry, ruleRestart, ruleGiveUp, ruleCrashed, ruleHindered:
		return true
	}
	return false
}

// Names of rules.
const (
	ruleSentryOver = "sentry over"
	ruleFrozen     = "frozen"
	ruleSentry     = "sentry"
	ruleRestart    = "new start"
	ruleGiveUp     = "given up"
	ruleCrashed    = "crashed"
	ruleHindered   = "person in the way"
	ruleObserve    = "observation"
	ruleReset      = DueReset
	ruleCompact    = "compaction"
	ruleFailed     = "compaction failed"
	ruleNudge      = "nudge"
	ruleInject     = "injection"
	ruleLoop       = "loop"
	ruleRole       = "role missing"
	ruleStale      = "stale worker"
)

// Rungs of what is done about an agent that stands still.
const (
	relaunched = 1 + iota
	guarded    // a sentry was there for it
	renewed    // it began a new conversation
	leftAlone  // a person was told
)

// Rules is the table. The first rule that is due for an agent acts.
func Rules() []Rule { return rules() }

func rules() []Rule {
	return []Rule{
		{Name: ruleSentryOver, Level: 4, Evidence: "the sentry is there longer than it may be, or has used what it may, or the supervisor that it is there for works again",
			Threshold: "`sentry_within`, `sentry_tokens`", Action: "the sentry is removed", Most: 6, Per: day, Bound: "once for each sentry", due: sentryOver},
		{Name: ruleHindered, Level: 4, Evidence: "it stands still, and your draft, a dialog or copy mode is in its window; or you have taken it over, and it gave no sign since",
			Threshold: "`frozen_after`", Action: "you are told, and nothing else is done", Most: 6, Per: day, Bound: "once before its next sign", due: hindered},
		{Name: ruleFrozen, Level: 4, Evidence: "in a turn, or nudged at its prompt, and no sign in hooks, transcript, records, files or processes since; of a supervisor also: it died five times in a row",
			Threshold: "`frozen_after`", Action: "its program is ended and started again in its conversation, with a briefing", Most: 2, Per: 6 * time.Hour, Bound: "once before it gets on again", Switch: "relaunch",
			on: func(c *watchconfig.Config) *bool { return &c.Relaunch }, due: frozen},
		{Name: ruleSentry, Level: 4, Evidence: "a supervisor stands still again after it was relaunched",
			Threshold: "`frozen_after`", Action: "the sentry is started, with what is known of the supervisor", Most: 2, Per: day, Bound: "one sentry at a time", Switch: "sentry",
			on: func(c *watchconfig.Config) *bool { return &c.Sentry }, due: sentry},
		{Name: ruleRestart, Level: 4, Evidence: "it still stands still: after the sentry, or, where there is none, after it was relaunched",
			Threshold: "`sentry_within`, `frozen_after`", Action: "it begins a new conversation, with a briefing", Most: 1, Per: day, Bound: "once before it gets on again", Switch: "relaunch",
			on: func(c *watchconfig.Config) *bool { return &c.Relaunch }, due: restart},
		{Name: ruleGiveUp, Level: 4, Evidence: "nothing of this helped", Threshold: "`frozen_after`", Action: "you are told, and it is left alone",
			Most: 6, Per: day, Bound: "once before it gets on again", due: giveUp},
		{Name: ruleCrashed, Level: 0, Evidence: "a worker died five times in a row", Threshold: "", Action: "its supervisor is told", Most: 4, Per: day, Bound: "once for each crash loop", due: crashed},
		{Name: ruleObserve, Level: 3, Evidence: "in a turn, and no sign in hooks, transcript or records", Threshold: "`idle_after`",
			Action: "its files and processes are looked at too; nothing is said to it", Most: 12, Per: day, Bound: "once before it gets on again; beyond that it is looked at all the same, without a line of the log", Switch: "observation", unsaid: true,
			on: func(c *watchconfig.Config) *bool { return &c.Observation }, due: observe},
		{Name: ruleReset, Level: 0, Evidence: "a permanent worker is idle, a task waits for it, and it has done many since its conversation began, or some and it is old",
			Threshold: "`reset_tasks`, `reset_after`, not in `quiet_hours`", Action: "it begins a new conversation before its next task", Most: 24, Per: day, Bound: "once before each task", Switch: "resets",
			on: func(c *watchconfig.Config) *bool { return &c.Resets }, due: reset},
		{Name: ruleCompact, Level: 0, Evidence: "idle, with activity since the last time, and much of its context window in use",
			Threshold: "`compact_share`, `compact_every`, `nudge_every` at its prompt", Action: "how it stands is kept, `/compact` is typed, and it is told where that is", Most: 24, Per: day, Bound: "two that came to nothing in one conversation", Switch: "compaction",
			on: func(c *watchconfig.Config) *bool { return &c.Compaction }, due: compact},
		{Name: ruleFailed, Level: 0, Evidence: "it was to compact, and its program has not confirmed that", Threshold: "`nudge_every`", Action: "its supervisor is told; of the supervisor, you are",
			Most: 4, Per: day, Bound: "once for each attempt", due: compactFailed},
		{Name: ruleNudge, Level: 1, Evidence: "a supervisor is at its prompt without activity, and something waits that it can act on: new to it, or, in one series, all that it was nudged about",
			Threshold: "`idle_after`, then `nudge_every`", Action: "it is sent what `cmux autonomy` says", Most: 24, Per: day, Bound: "`nudges` about the same things", Switch: "heartbeat",
			on: func(c *watchconfig.Config) *bool { return &c.Heartbeat }, due: nudge},
		{Name: ruleInject, Level: 2, Evidence: "it acted on none of the nudges, and the backlog has a task", Threshold: "`nudge_every`", Action: "it is sent that one task",
			Most: 6, Per: day, Bound: "one after each series of nudges", Switch: "injection",
			on: func(c *watchconfig.Config) *bool { return &c.Injection }, due: inject},
		{Name: ruleLoop, Level: 0, Evidence: "it makes the same call of a tool again and again", Threshold: "`loop_calls`", Action: "its supervisor is told; of the supervisor, you are",
			Most: 6, Per: day, Bound: "once for each call and task", Switch: "loops", on: func(c *watchconfig.Config) *bool { return &c.Loops }, due: loop},
		{Name: ruleRole, Level: 0, Evidence: "the role file of a permanent worker is missing", Threshold: "", Action: "its supervisor is told", Most: 2, Per: day, Bound: "once for each file", Switch: "roles",
			on: func(c *watchconfig.Config) *bool { return &c.Roles }, due: roleMissing},
		{Name: ruleStale, Level: 0, Evidence: "a worker that is not permanent has no task, and none waits for it", Threshold: "`stale_after`", Action: "its supervisor is told", Most: 2, Per: day, Bound: "once after each task", Switch: "stale",
			on: func(c *watchconfig.Config) *bool { return &c.Stale }, due: stale},
	}
}

func about(kind Kind, reason string, evidence ...string) *Action {
	return &Action{Kind: kind, Reason: reason, Evidence: evidence}
}

func tell(to, reason string, evidence ...string) *Action {
	a := about(Tell, reason, evidence...)
	a.To = to
	return a
}

// over is who is told about an agent: whom it reports to.
func over(a *Agent) string {
	if a.Leads || a.Supervisor == "" || a.Supervisor == a.Name {
		return "user"
	}
	return a.Supervisor
}

func round(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// still says why an agent counts as standing still; empty: it does not. From is
// what was done about it last.
func (m *move) still(a *Agent, s *Seen, from time.Duration) string {
	if a.Sentry {
		return ""
	}
	// What was seen before a look at its files and processes proves less.
	since := max(s.Still, from)
	switch {
	case a.Stand == Busy && m.since(since) >= m.f.Config.FrozenAfter && (s.Observed || !m.f.Config.Observation):
		return "no progress in a turn for " + round(m.since(since))
	case a.Stand == Idle && s.Nudges > 0 && s.Quiet < s.Series && m.since(max(s.Series, from)) >= m.f.Config.FrozenAfter:
		return fmt.Sprintf("no sign after %d nudges for %s", s.Nudges, round(m.since(max(s.Series, from))))
	case a.Stand == Crashed && a.Leads:
		return "it died five times in a row"
	}
	return ""
}

func (m *move) signs(a *Agent, s *Seen) []string {
	e := []string{
		fmt.Sprintf("%s is %s, life %d", a.Name, a.Stand, a.Life),
		"last sign " + a.Sign.UTC().Format(time.RFC3339) + ", watched without a new one for " + round(m.since(s.Quiet)),
	}
	if a.Task != "" {
		e = append(e, "task "+a.Task)
	}
	return e
}

// climb notes what is done about an agent that stands still. What it was nudged
// about and has not read is new to it after that.
func (s *Seen) climb(rung int, at time.Duration) {
	s.Rung, s.Climbed = rung, at
	if rung < leftAlone {
		s.Asked, s.Nudges, s.Injected = nil, 0, false
	}
}

// hindered tells a person that they are in the way of what would be done about an
// agent. That they typed of late is no reason to: it passes.
func hindered(m *move, a *Agent, s *Seen) *Action {
	why := ""
	switch since := m.since(max(s.Signed, s.Touched)); {
	case a.Sentry:
		return nil
	case a.Stand == Taken && since >= m.f.Config.FrozenAfter:
		why = "you have taken it over, and it gave no sign for " + round(since)
	case a.Person && s.Rung < leftAlone:
		from := time.Duration(0)
		if s.Rung > 0 {
			from = s.Climbed
		}
		if why = m.still(a, s, from); why != "" {
			why += ", and what you have open in its window (a draft, a dialog, copy mode) keeps anything from being done"
		}
	}
	if why == "" || s.told(fmt.Sprintf("in the way %d %d", a.Life, a.Sign.UnixNano())) {
		return nil
	}
	return tell("user", why, m.signs(a, s)...)
}

func frozen(m *move, a *Agent, s *Seen) *Action {
	why := m.still(a, s, 0)
	if why == "" || s.Rung >= relaunched {
		return nil
	}
	s.climb(relaunched, m.Clock)
	return about(Relaunch, why, m.signs(a, s)...)
}

// climbs reports why the next rung is due: after the last one it stands still
// again, or that one was not to be had.
func (m *move) climbs(a *Agent, s *Seen, patience time.Duration) string {
	if s.Rung > 0 && m.since(s.Climbed) < patience {
		return ""
	}
	from := time.Duration(0)
	if s.Rung > 0 {
		from = s.Climbed
	}
	why := m.still(a, s, from)
	if why == "" && s.Rung == guarded && (a.Stand == Busy || a.Stand == Idle) && s.Quiet < s.Climbed {
		why = "no sign since the sentry came, " + round(m.since(s.Climbed)) + " ago"
	}
	return why
}

// sentryBusy reports whether the sentry is there for somebody else, and not longer
// than it takes to remove it: it is waited for.
func (m *move) sentryBusy() bool {
	for i := range m.f.Agents {
		if a := &m.f.Agents[i]; a.Sentry {
			return m.since(m.Agents[a.Name].Sentinel) < 2*m.f.Config.SentryWithin
		}
	}
	return m.sentryThere()
}

func (m *move) sentryThere() bool {
	return slices.ContainsFunc(m.f.Agents, func(a Agent) bool { return a.Sentry }) || slices.ContainsFunc(m.actions, func(a Action) bool { return a.Kind == Spawn })
}

// barred reports whether a rule may not act on an agent now, by its switch or its
// bound: then the next rung is due.
func (m *move) barred(s *Seen, name string) bool {
	i := 0
	for m.rules[i].Name != name { // without copies: it is asked for every agent at every look
		i++
	}
	r := &m.rules[i]
	return r.on != nil && !*r.on(&m.f.Config) || !m.within(s, r)
}

func sentry(m *move, a *Agent, s *Seen) *Action {
	if !a.Leads || s.Rung > relaunched || s.Rung < relaunched && !m.barred(s, ruleFrozen) || m.sentryThere() {
		return nil
	}
	why := m.climbs(a, s, m.f.Config.NudgeEvery)
	if why == "" {
		return nil
	}
	s.climb(guarded, m.Clock)
	return about(Spawn, why+", after it was relaunched", m.signs(a, s)...)
}

func sentryOver(m *move, a *Agent, s *Seen) *Action {
	if !a.Sentry {
		return nil
	}
	if d := m.since(s.Sentinel); d >= m.f.Config.SentryWithin {
		s.Sentinel = m.Clock
		return about(End, "the sentry had "+round(d), fmt.Sprintf("sentry_within is %s", m.f.Config.SentryWithin))
	}
	if budget := int64(m.f.Config.SentryTokens); a.Used >= budget && !s.told(fmt.Sprintf("spent %d", a.Began.UnixNano())) {
		return about(End, fmt.Sprintf("the sentry has used %d tokens", a.Used), fmt.Sprintf("sentry_tokens is %d", budget))
	}
	for _, o := range m.f.Agents {
		if seen := m.Agents[o.Name]; seen.Rung == guarded && (seen.Quiet <= seen.Climbed || o.Stand == Crashed) {
			return nil // it is needed
		}
	}
	s.Sentinel = m.Clock
	return about(End, "no supervisor stands still any more", "the supervisor has given a sign since the sentry came")
}

func restart(m *move, a *Agent, s *Seen) *Action {
	patience := m.f.Config.NudgeEvery
	switch {
	case s.Rung >= renewed, a.Sentry:
		return nil
	case s.Rung == guarded:
		patience = m.f.Config.SentryWithin
	case s.Rung == 0 && !m.barred(s, ruleFrozen):
		return nil
	case a.Leads && !m.barred(s, ruleSentry) && (!m.sentryThere() || m.sentryBusy()):
		return nil
	}
	why := m.climbs(a, s, patience)
	if why == "" {
		return nil
	}
	s.climb(renewed, m.Clock)
	return about(Reset, why+", whatever was done about it", m.signs(a, s)...)
}

func giveUp(m *move, a *Agent, s *Seen) *Action {
	if s.Rung == leftAlone || s.Rung < renewed && !m.barred(s, ruleRestart) {
		return nil
	}
	if a.Leads && s.Rung < guarded && !m.barred(s, ruleSentry) && m.sentryBusy() {
		return nil
	}
	patience := m.f.Config.NudgeEvery
	if s.Rung == guarded {
		patience = m.f.Config.SentryWithin
	}
	why := m.climbs(a, s, patience)
	if why == "" {
		return nil
	}
	s.climb(leftAlone, m.Clock)
	return tell("user", why+", and what the watch may do about it is used up", m.signs(a, s)...)
}

func crashed(m *move, a *Agent, s *Seen) *Action {
	if a.Stand != Crashed || a.Leads || s.told(fmt.Sprintf("crashed %d", a.Life)) {
		return nil
	}
	return tell(over(a), "it died five times in a row, and is not started again by itself", m.signs(a, s)...)
}

func observe(m *move, a *Agent, s *Seen) *Action {
	if a.Stand != Busy || s.Observed || a.Sentry || m.since(s.Still) < m.f.Config.IdleAfter {
		return nil
	}
	s.Observed = true
	return about(Observe, "no sign in a turn for "+round(m.since(s.Still)), m.signs(a, s)...)
}

func reset(m *move, a *Agent, s *Seen) *Action {
	if !a.Permanent || a.Stand != Idle || a.Task != "" || !a.Next || m.f.Config.Quiet.Has(m.now) || !m.f.Config.ResetDue(a.Tasks, m.since(s.Fresh)) {
		return nil
	}
	return about(Reset, "a reset is due before its next task", fmt.Sprintf("%d tasks since its conversation began %s ago", a.Tasks, round(m.since(s.Fresh))))
}

func compact(m *move, a *Agent, s *Seen) *Action {
	c := &m.f.Config
	switch {
	case !a.Compacts, a.Stand != Idle, a.Task != "", a.Context < c.CompactShare, m.since(s.Quiet) < c.NudgeEvery:
		return nil
	case s.Pressed > 0 && m.since(s.Pressed) < c.CompactEvery, s.Pending, s.Tries >= 2, s.Tries > 0 && a.Context <= s.Share:
		return nil
	case s.Pressed > 0 && s.Quiet <= s.Pressed:
		return nil // it did nothing since
	case a.Permanent && (c.Quiet.Has(m.now) || c.ResetDue(a.Tasks, m.since(s.Fresh))):
		return nil
	}
	s.Pressed, s.Pending, s.Share = m.Clock, true, a.Context
	return about(Compact, fmt.Sprintf("%d%% of its context window is in use", a.Context),
		"idle for "+round(m.since(s.Quiet)), fmt.Sprintf("%d compactions so far", a.Compactions))
}

func compactFailed(m *move, a *Agent, s *Seen) *Action {
	if !s.Pending || m.since(s.Pressed) < m.f.Config.NudgeEvery {
		return nil
	}
	s.Pending = false
	s.Tries++
	return tell(over(a), "it was to compact its conversation, and did not confirm that",
		"asked for "+round(m.since(s.Pressed))+" ago", fmt.Sprintf("%d%% of its context window is in use", a.Context), fmt.Sprintf("%d compactions, as before", a.Compactions))
}

// nudge is about something new, or about what it was nudged about before and did
// not act on.
func nudge(m *move, a *Agent, s *Seen) *Action {
	c := &m.f.Config
	if !a.Leads || a.Stand != Idle || len(a.Todo) == 0 {
		return nil
	}
	fresh := slices.ContainsFunc(a.Todo, func(i Item) bool { return !slices.Contains(s.Asked, i.Key) })
	switch {
	case fresh && m.since(s.Quiet) >= c.IdleAfter && (s.Nudges == 0 || m.since(s.Nudged) >= c.IdleAfter):
		s.Nudges, s.Series, s.Injected = 1, m.Clock, false
	case !fresh && 0 < s.Nudges && s.Nudges < c.Nudges && m.since(s.Nudged) >= c.NudgeEvery && m.since(s.Quiet) >= c.NudgeEvery:
		s.Nudges++
		s.lasts(m.Clock)
	default:
		return nil
	}
	s.Asked, s.Nudged = nil, m.Clock
	e := m.signs(a, s)
	for _, i := range a.Todo {
		s.Asked = append(s.Asked, i.Key)
		e = append(e, i.said())
	}
	act := about(Nudge, fmt.Sprintf("nudge %d of %d: idle for %s, and %s", s.Nudges, c.Nudges, round(m.since(s.Quiet)), things(len(a.Todo))), e...)
	act.Items, act.Nth, act.Of = a.Todo, s.Nudges, c.Nudges
	return act
}

// lasts has a series that a sign came in between begin with this message: from it on
// there was none.
func (s *Seen) lasts(clock time.Duration) {
	if s.Quiet > s.Series {
		s.Series = clock
	}
}

func things(n int) string {
	if n == 1 {
		return "one thing waits"
	}
	return fmt.Sprintf("%d things wait", n)
}

func inject(m *move, a *Agent, s *Seen) *Action {
	c := &m.f.Config
	if !a.Leads || a.Stand != Idle || a.Backlog == nil || s.Injected || s.Nudges < c.Nudges || m.since(s.Nudged) < c.NudgeEvery || m.since(s.Quiet) < c.NudgeEvery {
		return nil
	}
	s.Injected, s.Nudged = true, m.Clock
	s.lasts(m.Clock)
	act := about(Inject, fmt.Sprintf("%d nudges, and it acted on nothing", s.Nudges), append(m.signs(a, s), a.Backlog.said())...)
	act.Items = []Item{*a.Backlog}
	return act
}

func loop(m *move, a *Agent, s *Seen) *Action {
	if a.Stand != Busy || a.Calls < m.f.Config.LoopCalls || s.told("loop "+a.Task+" "+a.Call) {
		return nil
	}
	return tell(over(a), fmt.Sprintf("it made the same call %d times in a row", a.Calls), append(m.signs(a, s), "the call: "+a.Call)...)
}

func roleMissing(_ *move, a *Agent, s *Seen) *Action {
	if !a.Permanent || a.RoleMissing == "" || s.told("role "+a.RoleMissing) {
		return nil
	}
	return tell(over(a), "its role file is missing", "there is no file "+a.RoleMissing)
}

func stale(m *move, a *Agent, s *Seen) *Action {
	if a.Leads || a.Permanent || a.Sentry || a.Stand != Idle || a.Task != "" || a.Next || m.since(s.Spent) < m.f.Config.StaleAfter || s.told(fmt.Sprintf("stale after %d", a.Tasks)) {
		return nil
	}
	return tell(over(a), "it has had nothing to do for "+round(m.since(s.Spent)), m.signs(a, s)...)
}
