// Package roomconfig is what a person decides about the rooms of a project: the settings
// of a new room, and bounds for all of them. Config has all of it with its defaults, Keys
// the keys below rooms: in .cmux/config.yml. Nothing here acts.
package roomconfig

import (
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/dag/keys"
)

// Config is what rooms go by.
type Config struct {
	Settings  room.Settings // of a new room
	Confirm   int64         // a person is asked before a message that uses more tokens; 0: never
	Warm      int           // seconds that the program of a member with nothing to do stays up
	MaxActive int           // turns of all rooms that are under way at once
	MaxRooms  int           // open rooms that a supervisor has opened

	OnConflict bool // cmux opens a room about work that does not fit where it is to be merged
}

// Default is Config where a person says nothing.
func Default() Config { return New(nil) }

// New returns the configuration with the values that a person set, by key, and defaults for
// the rest. A value that is not valid counts as not set.
func New(set map[string]string) Config {
	c := Config{Settings: room.Defaults()}
	for _, l := range leaves() {
		if v, ok := set[l.name()]; ok && l.field.Set(&c, v) == nil || l.ofRoom {
			continue
		}
		if err := l.field.Set(&c, l.field.Def); err != nil {
			panic(err) // the table's own
		}
	}
	return c
}

// leaf is a key with a value.
type leaf struct {
	group  string // tokens, timeouts; empty: it stands below rooms itself
	ofRoom bool   // package room has its default
	field  keys.Field[Config]
}

func (l *leaf) name() string {
	if l.group == "" {
		return l.field.Name
	}
	return l.group + "." + l.field.Name
}

// mostSeconds bounds every number of seconds: 30 days.
const mostSeconds = 30 * 24 * 60 * 60

// leaves are all keys with values, in the order of the docs.
func leaves() []leaf {
	policies := []string{string(room.Everybody), string(room.Once), string(room.Robin), string(room.Mentioned), string(room.Moderator), string(room.Debate)}
	return []leaf{
		{"", true, keys.Choice(keys.Key{Name: "policy", Allowed: policies, Def: "everybody", Doc: "Who answers whom, as [the policies](rooms.md#who-answers-whom) say."},
			func(c *Config) *room.Policy { return &c.Settings.Policy })},
		{"", true, keys.Count(keys.Key{Name: "turns", Least: 1, Most: 100, Def: "3", Doc: "So many turns of a member in a round, since your last message."},
			func(c *Config) *int { return &c.Settings.Turns })},
		{"", true, keys.Flag(keys.Key{Name: "blind", Def: "true", Doc: "Members answer you first without reading the answers of others."},
			func(c *Config) *bool { return &c.Settings.Blind })},
		{"", true, either(keys.Key{Name: "share", Allowed: []string{"all", "tagged"}, Def: "all", Doc: "With `tagged`, others read only what a member puts inside `<Share>`."},
			func(c *Config) *bool { return &c.Settings.Tagged })},
		{"tokens", true, tokens(keys.Key{Name: "round", Def: "no bound", Doc: "A round may use so many tokens, without those read from a cache."},
			func(c *Config) *int64 { return &c.Settings.Tokens.Round })},
		{"tokens", true, tokens(keys.Key{Name: "day", Def: "no bound", Doc: "A room may use so many tokens in a day."},
			func(c *Config) *int64 { return &c.Settings.Tokens.Day })},
		{"", false, tokens(keys.Key{Name: "confirm", Def: "100k", Doc: "The command line and the page ask before you send a message that uses more tokens at least; `0`: they never ask."},
			func(c *Config) *int64 { return &c.Confirm })},
		{"", false, seconds(keys.Key{Name: "warm", Least: 1, Def: "300", Doc: "The program of a member that has nothing to do ends after so long."},
			func(c *Config) *int { return &c.Warm })},
		{"", false, keys.Count(keys.Key{Name: "max_active", Least: 1, Most: 64, Def: "4", Doc: "At most so many members work at once in all rooms of the project."},
			func(c *Config) *int { return &c.MaxActive })},
		{"", false, keys.Count(keys.Key{Name: "max_rooms", Most: 50, Def: "2", Doc: "A supervisor may have so many open rooms that it has opened itself; `0`: it opens none."},
			func(c *Config) *int { return &c.MaxRooms })},
		{"", false, either(keys.Key{Name: "on_conflict", Allowed: []string{"off", "open"}, Def: "off", Doc: "With `open`, `cmux tasks merge` and `cmux agents merge` open a room about work that does not fit, and ask its members what to do: every agent program that is ready answers once, for at most 50,000 tokens."},
			func(c *Config) *bool { return &c.OnConflict })},
		{"timeouts", true, seconds(keys.Key{Name: "idle", Def: "1800", Doc: "A turn is interrupted after so long without any event, output or file change; `0`: never."},
			func(c *Config) *int { return &c.Settings.Timeouts.Idle })},
		{"timeouts", true, seconds(keys.Key{Name: "parse", Def: "1200", Doc: "You are asked about a turn that has worked for so long, without limits and questions; `0`: never."},
			func(c *Config) *int { return &c.Settings.Timeouts.Parse })},
		{"timeouts", true, seconds(keys.Key{Name: "send", Def: "120", Doc: "A program that does not take its turn within so long is started again; `0`: never."},
			func(c *Config) *int { return &c.Settings.Timeouts.Send })},
		{"timeouts", true, seconds(keys.Key{Name: "hard", Def: "0", Doc: "A turn is interrupted after so long; `0`: never."},
			func(c *Config) *int { return &c.Settings.Timeouts.Hard })},
		{"timeouts", true, either(keys.Key{Name: "on_parse", Allowed: []string{"ask", "stop"}, Def: "ask", Doc: "With `stop`, a turn is interrupted at `parse`, without a question."},
			func(c *Config) *bool { return &c.Settings.Timeouts.Stops })},
	}
}

// Keys are the keys below rooms of a configuration. What a person set is kept as text, by
// key, so that the rest has the defaults of the version that reads it: tokens.round is round
// below tokens.
func Keys[T any](set func(*T) *map[string]string) []keys.Field[T] {
	docs := map[string]string{
		"tokens":   "Bounds of a room. No turn begins that would exceed one.",
		"timeouts": "Each in seconds, or with a unit, such as `20m`.",
	}
	var all []keys.Field[T]
	groups := map[string][]keys.Field[T]{}
	for _, l := range leaves() {
		kept := keep(l, set)
		if l.group == "" {
			all = append(all, kept)
			continue
		}
		groups[l.group] = append(groups[l.group], kept)
	}
	for _, group := range []string{"tokens", "timeouts"} {
		all = append(all, keys.Section(keys.Key{Name: group, Doc: docs[group]}, groups[group]))
	}
	return all
}

func keep[T any](l leaf, set func(*T) *map[string]string) keys.Field[T] {
	return keys.Field[T]{Key: l.field.Key, Read: func(r *keys.Reader, t *T, name string, n *yaml.Node) bool {
		if !l.field.Read(r, new(Config), name, n) {
			return false
		}
		to := set(t)
		if *to == nil {
			*to = make(map[string]string)
		}
		(*to)[l.name()] = keys.Behind(n).Value
		return true
	}}
}

// either is a key with two values: the second one sets the flag.
func either(k keys.Key, to func(*Config) *bool) keys.Field[Config] {
	allowed := keys.OneOf(k.Allowed)
	return keys.New(k, keys.TypeChoice, to, func(r *keys.Reader, name string, n *yaml.Node, _ bool) (bool, bool) {
		s, ok := r.Text(name, n)
		return s == k.Allowed[1], ok && allowed(r, name, n, s)
	}, nil)
}

// tokens is a key with a number of tokens, such as 200k.
func tokens(k keys.Key, to func(*Config) *int64) keys.Field[Config] {
	k.Schema = map[string]any{"anyOf": []any{map[string]any{"type": "integer", "minimum": 0}, map[string]any{"type": "string", "pattern": "^[0-9]+[kM]?$"}}}
	return keys.New(k, "number of tokens, such as 5000, 200k or 2M", to, func(r *keys.Reader, name string, n *yaml.Node, _ int64) (int64, bool) {
		s, ok := r.Text(name, n)
		if !ok || s == "0" {
			return 0, ok
		}
		i, err := book.ParseTokens(s)
		if err != nil {
			r.Fault(n, "write 5000, 200k or 2M", "%s %q is no number of tokens", name, keys.Shorten(s))
		}
		return i, err == nil
	}, nil)
}

// seconds is a key with a number of seconds, or with a duration.
func seconds(k keys.Key, to func(*Config) *int) keys.Field[Config] {
	k.Schema = map[string]any{"anyOf": []any{map[string]any{"type": "integer", "minimum": k.Least, "maximum": mostSeconds}, map[string]any{"type": "string"}}}
	return keys.New(k, "seconds, or a duration such as 20m", to, func(r *keys.Reader, name string, n *yaml.Node, _ int) (int, bool) {
		v := keys.Behind(n)
		s := v.Value
		if v.Kind != yaml.ScalarNode || v.ShortTag() == "!!bool" {
			s = ""
		}
		i, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			var d time.Duration
			if d, err = time.ParseDuration(s); err == nil && d%time.Second != 0 {
				r.Fault(n, "", "%s must be whole seconds, not %s", name, s)
				return 0, false
			}
			i = int64(d / time.Second)
		}
		switch {
		case err != nil:
			r.Fault(n, "write seconds, or a unit: 90, 90s, 20m", "%s must be seconds or a duration, not %s", name, keys.Describe(n))
		case i < k.Least || i > mostSeconds:
			r.Fault(n, "", "%s must be from %d to %d seconds, not %s", name, k.Least, mostSeconds, strings.TrimSpace(s))
		default:
			return int(i), true
		}
		return 0, false
	}, nil)
}
