// Package watchconfig is what a person decides about the watch: what it may do,
// and after how long. Config has all of it with its defaults, Keys the same as
// the keys below watch: in .cmux/config.yml. Nothing here acts.
package watchconfig

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
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
	for _, k := range c.keys() {
		value := k.Default
		if v, ok := set[k.Name]; ok && k.read(v) == nil {
			continue
		}
		if err := k.read(value); err != nil {
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

// Type is what the value of a Key is.
type Type uint8

const (
	Switch   Type = iota // true or false
	Span                 // such as 10m
	Count                // 1 or more
	DayHours             // such as 00:00-08:00
)

// Key is one key below watch:.
type Key struct {
	Name    string
	Type    Type
	Doc     string
	Default string // empty: none

	read func(string) error
}

// Keys are the keys, in the order of the docs.
func Keys() []Key { return new(Config).keys() }

// Check says why a value of the key is none; nil: it is one.
func (k Key) Check(value string) error { return k.read(value) }

const (
	// SpanPattern and HoursPattern are what a Span and DayHours look like.
	SpanPattern  = `^([0-9]+(ms|s|m|h))+$`
	HoursPattern = `^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$`
	// mostSpan bounds every duration.
	mostSpan = 30 * 24 * time.Hour
)

func (c *Config) keys() []Key {
	return []Key{
		onOff(&c.Heartbeat, "heartbeat", "A supervisor without activity is nudged."),
		span(&c.IdleAfter, "idle_after", "10m", "So long without activity before the first nudge."),
		span(&c.NudgeEvery, "nudge_every", "2m", "At least so long between two nudges."),
		count(&c.Nudges, "nudges", "3", 100, "So many nudges about the same things."),
		onOff(&c.Injection, "injection", "A supervisor that acts on no nudge is given one task of the backlog."),
		onOff(&c.Observation, "observation", "An agent in a turn without activity is observed: its files and its processes too."),
		span(&c.FrozenAfter, "frozen_after", "20m", "So long without any progress before an agent counts as frozen."),
		onOff(&c.Relaunch, "relaunch", "A frozen agent is started again, in its conversation."),
		onOff(&c.Sentry, "sentry", "A supervisor that freezes again after that gets a sentry."),
		span(&c.SentryWithin, "sentry_within", "5m", "The sentry has so long."),
		count(&c.SentryTokens, "sentry_tokens", "200000", 100_000_000, "The sentry may use so many tokens, without what is read from a cache."),
		span(&c.PersonWithin, "person_within", "10m", "A person who typed in an agent's window so long ago is taken to be there."),
		onOff(&c.Compaction, "compaction", "An idle agent whose context fills is compacted."),
		span(&c.CompactEvery, "compact_every", "10m", "At most one compaction of an agent in this time."),
		count(&c.CompactShare, "compact_share", "50", 99, "Percent of the context window that must be in use."),
		count(&c.Window, "context_window", "200000", 100_000_000, "Tokens of the context window, where the program does not say."),
		onOff(&c.Resets, "resets", "A permanent worker begins a new conversation before its next task, when one is due."),
		count(&c.ResetTasks, "reset_tasks", "5", 1000, "A reset is due after so many tasks."),
		span(&c.ResetAfter, "reset_after", "3h", "Or after so long with at least one task."),
		hours(&c.Quiet, "quiet_hours", "Permanent workers are neither reset nor compacted in these hours, such as `00:00-08:00`."),
		onOff(&c.Roles, "roles", "Tell the supervisor about a permanent worker whose role file is missing."),
		onOff(&c.Stale, "stale", "Tell the supervisor about a worker that has nothing to do."),
		span(&c.StaleAfter, "stale_after", "2h", "So long without a task before a worker counts as stale."),
		onOff(&c.Loops, "loops", "Tell the supervisor about a worker that makes the same call again and again."),
		count(&c.LoopCalls, "loop_calls", "30", 10_000, "So many equal calls of a tool in a row are a loop."),
	}
}

func onOff(to *bool, name, doc string) Key {
	return Key{Name: name, Type: Switch, Doc: doc, Default: "true", read: func(s string) error {
		if s != "true" && s != "false" {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		*to = s == "true"
		return nil
	}}
}

func span(to *time.Duration, name, def, doc string) Key {
	return Key{Name: name, Type: Span, Doc: doc, Default: def, read: func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 || d > mostSpan || !regexp.MustCompile(SpanPattern).MatchString(s) {
			return fmt.Errorf("%q is no time such as 90s, 10m or 3h", s)
		}
		*to = d
		return nil
	}}
}

func count(to *int, name, def string, most int, doc string) Key {
	return Key{Name: name, Type: Count, Doc: doc, Default: def, read: func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("%q is no whole number from 1 to %d", s, most)
		}
		*to = n
		return nil
	}}
}

func hours(to *Hours, name, doc string) Key {
	return Key{Name: name, Type: DayHours, Doc: doc, read: func(s string) error {
		if s == "" {
			*to = Hours{}
			return nil
		}
		if !regexp.MustCompile(HoursPattern).MatchString(s) {
			return fmt.Errorf("%q are no hours such as 00:00-08:00", s)
		}
		from, until, _ := strings.Cut(s, "-")
		*to = Hours{minutes(from), minutes(until)}
		return nil
	}}
}

func minutes(s string) int {
	h, m, _ := strings.Cut(s, ":")
	hour, _ := strconv.Atoi(h)
	minute, _ := strconv.Atoi(m)
	return hour*60 + minute
}
