// Package watchconfig is what a person decides about the watch: what it may do,
// and after how long. Config has all of it with its defaults, Fields the same as
// the keys below watch: in .cmux/config.yml. Nothing here acts.
package watchconfig

import (
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"cmux/dag/keys"
)

// Config is what the watch goes by.
type Config struct {
	Heartbeat, Injection, Observation, Relaunch, Sentry bool
	Compaction, Resets, Roles, Stale, Loops             bool

	IdleAfter    time.Duration // without activity, a supervisor is nudged
	NudgeEvery   time.Duration // between two nudges
	Nudges       int           // of one series
	FrozenAfter  time.Duration // without progress, an agent is relaunched
	SentryWithin time.Duration // the sentry has to be done
	SentryTokens int           // it may use so many
	PersonWithin time.Duration // a person who typed is taken to be there
	CompactEvery time.Duration // between two compactions of an agent
	CompactShare int           // percent of the context window in use
	Window       int           // tokens of the context window
	ResetTasks   int           // of a permanent worker, before it is reset
	ResetAfter   time.Duration // likewise
	Quiet        Hours         // in which permanent workers are left alone
	StaleAfter   time.Duration // an idle worker is reported
	LoopCalls    int           // equal calls of a tool in a row
}

// Hours are the hours of a day from From to To, in minutes since midnight. They
// may go past midnight; equal ones are none.
type Hours struct{ From, To int }

// Has reports whether a moment is in the hours, by the clock on the wall.
func (h Hours) Has(t time.Time) bool {
	at := t.Hour()*60 + t.Minute()
	if h.From <= h.To {
		return h.From <= at && at < h.To
	}
	return at >= h.From || at < h.To
}

// Default is Config where a person says nothing.
func Default() Config { return New(nil) }

// New returns the configuration with the values that a person set, by key, and
// defaults for the rest. A value that is not valid counts as not set.
func New(set map[string]string) Config {
	var c Config
	for _, f := range Fields() {
		if v, ok := set[f.Name]; ok && f.Set(&c, v) == nil || f.Def == "" {
			continue
		}
		if err := f.Set(&c, f.Def); err != nil {
			panic(err) // the table's own
		}
	}
	return c
}

// ResetDue reports whether a permanent worker is to be reset before its next
// task.
func (c *Config) ResetDue(tasks int, age time.Duration) bool {
	return c.Resets && (tasks >= c.ResetTasks || tasks > 0 && age >= c.ResetAfter)
}

// mostSpan bounds every duration.
const mostSpan = 30 * 24 * time.Hour

// Fields are the keys below watch:, in the order of the docs.
func Fields() []keys.Field[Config] {
	return []keys.Field[Config]{
		onOff("heartbeat", "A supervisor without activity is nudged.", func(c *Config) *bool { return &c.Heartbeat }),
		span("idle_after", "10m", "So long without activity before the first nudge.", func(c *Config) *time.Duration { return &c.IdleAfter }),
		span("nudge_every", "2m", "At least so long between two nudges.", func(c *Config) *time.Duration { return &c.NudgeEvery }),
		count("nudges", "3", 100, "So many nudges about the same things.", func(c *Config) *int { return &c.Nudges }),
		onOff("injection", "A supervisor that acts on no nudge is given one task of the backlog.", func(c *Config) *bool { return &c.Injection }),
		onOff("observation", "An agent in a turn without activity is observed: its files and its processes too.", func(c *Config) *bool { return &c.Observation }),
		span("frozen_after", "20m", "So long without any progress before an agent counts as frozen.", func(c *Config) *time.Duration { return &c.FrozenAfter }),
		onOff("relaunch", "A frozen agent is started again, in its conversation.", func(c *Config) *bool { return &c.Relaunch }),
		onOff("sentry", "A supervisor that freezes again after that gets a sentry.", func(c *Config) *bool { return &c.Sentry }),
		span("sentry_within", "5m", "The sentry has so long.", func(c *Config) *time.Duration { return &c.SentryWithin }),
		count("sentry_tokens", "200000", 100_000_000, "The sentry may use so many tokens, without what is read from a cache.", func(c *Config) *int { return &c.SentryTokens }),
		span("person_within", "10m", "A person who typed in an agent's window so long ago is taken to be there.", func(c *Config) *time.Duration { return &c.PersonWithin }),
		onOff("compaction", "An idle agent whose context fills is compacted.", func(c *Config) *bool { return &c.Compaction }),
		span("compact_every", "10m", "At most one compaction of an agent in this time.", func(c *Config) *time.Duration { return &c.CompactEvery }),
		count("compact_share", "50", 99, "Percent of the context window that must be in use.", func(c *Config) *int { return &c.CompactShare }),
		count("context_window", "200000", 100_000_000, "Tokens of the context window, where the program does not say.", func(c *Config) *int { return &c.Window }),
		onOff("resets", "A permanent worker begins a new conversation before its next task, when one is due.", func(c *Config) *bool { return &c.Resets }),
		count("reset_tasks", "5", 1000, "A reset is due after so many tasks.", func(c *Config) *int { return &c.ResetTasks }),
		span("reset_after", "3h", "Or after so long with at least one task.", func(c *Config) *time.Duration { return &c.ResetAfter }),
		hours("quiet_hours", "Permanent workers are neither reset nor compacted in these hours, such as `00:00-08:00`.", func(c *Config) *Hours { return &c.Quiet }),
		onOff("roles", "Tell the supervisor about a permanent worker whose role file is missing.", func(c *Config) *bool { return &c.Roles }),
		onOff("stale", "Tell the supervisor about a worker that has nothing to do.", func(c *Config) *bool { return &c.Stale }),
		span("stale_after", "2h", "So long without a task before a worker counts as stale.", func(c *Config) *time.Duration { return &c.StaleAfter }),
		onOff("loops", "Tell the supervisor about a worker that makes the same call again and again.", func(c *Config) *bool { return &c.Loops }),
		count("loop_calls", "30", 10_000, "So many equal calls of a tool in a row are a loop.", func(c *Config) *int { return &c.LoopCalls }),
	}
}

// Keys are Fields in another configuration. What a person set is kept as text, by key: the rest
// has the default of the version that reads it.
func Keys[T any](set func(*T) *map[string]string) []keys.Field[T] { return keys.AsText(Fields(), set) }

func onOff(name, doc string, to func(*Config) *bool) keys.Field[Config] {
	return keys.Flag(keys.Key{Name: name, Doc: doc, Def: "true"}, to)
}

func span(name, def, doc string, to func(*Config) *time.Duration) keys.Field[Config] {
	return keys.Duration(keys.Key{Name: name, Doc: doc, Def: def, Least: 1, Most: int64(mostSpan)}, to)
}

func count(name, def string, most int64, doc string, to func(*Config) *int) keys.Field[Config] {
	return keys.Count(keys.Key{Name: name, Doc: doc, Def: def, Least: 1, Most: most}, to)
}

func hours(name, doc string, to func(*Config) *Hours) keys.Field[Config] {
	k := keys.Key{Name: name, Doc: doc, Pattern: `^(([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9])?$`, Hint: "write hours such as 00:00-08:00"}
	k.Schema = map[string]any{"type": "string", "pattern": k.Pattern}
	check := k.Check()
	return keys.New(k, "hours of a day", to, func(r *keys.Reader, name string, n *yaml.Node, _ Hours) (Hours, bool) {
		s, ok := r.Text(name, n)
		if !ok || !check(r, name, n, s) || s == "" {
			return Hours{}, ok && s == ""
		}
		from, until, _ := strings.Cut(s, "-")
		return Hours{minutes(from), minutes(until)}, true
	}, nil)
}

func minutes(s string) int {
	h, m, _ := strings.Cut(s, ":")
	hour, _ := strconv.Atoi(h)
	minute, _ := strconv.Atoi(m)
	return hour*60 + minute
}
