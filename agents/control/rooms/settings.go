package rooms

import (
	"cmp"
	"strconv"

	"cmux/agents/room"
)

// Source is where a setting of a room comes from.
type Source string

// The sources.
const (
	OfRoom   Source = "room"       // it differs from what a new room has
	OfConfig Source = "config.yml" // rooms: in .cmux/config.yml, as it was applied
	BuiltIn  Source = "built-in"
)

// Sources are all sources.
func Sources() []Source { return []Source{OfRoom, OfConfig, BuiltIn} }

// Setting is a setting of a room with what it inherits. Values are as Set takes them.
type Setting struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	From      Source `json:"from"`
	Inherited string `json:"inherited"`      // the value of a new room
	Of        Source `json:"inherited_from"` // config.yml or built-in
}

// configured are the settings that .cmux/config.yml has keys for: by key of Set, the key below
// rooms.
func configured() map[string]string {
	return map[string]string{
		"policy": "policy", "blind": "blind", "turns": "turns", "share": "share", "tokens": "tokens.round", "tokens-day": "tokens.day",
		"timeout": "timeouts.idle", "parse-timeout": "timeouts.parse", "send-timeout": "timeouts.send", "hard-timeout": "timeouts.hard", "on-parse": "timeouts.on_parse",
	}
}

// Settings are the settings of a room, each with where it comes from. A room keeps what it
// began with; a value that a new room would have counts as inherited.
func Settings(p *Rooms, name string) ([]Setting, error) {
	_, lines, _, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	set, defaults, err := inherited(p)
	if err != nil {
		return nil, err
	}
	s, all, keys := room.Fold(name, lines), []Setting{}, configured()
	for _, key := range Keys() {
		one := Setting{Key: key, Value: valueOf(&s.Settings, key), Inherited: valueOf(defaults, key), Of: BuiltIn}
		if _, ok := set[keys[key]]; ok {
			one.Of = OfConfig
		}
		if one.From = one.Of; one.Value != one.Inherited {
			one.From = OfRoom
		}
		all = append(all, one)
	}
	return all, nil
}

// inherited are the settings of a new room, and the keys that .cmux/config.yml sets of them.
func inherited(p *Rooms) (map[string]string, *room.Settings, error) {
	config, err := p.Config()
	if err != nil {
		return nil, nil, err
	}
	org, err := p.org()
	if err != nil {
		return nil, nil, err
	}
	if org != nil {
		return org.Settings.Rooms, &config.Settings, nil
	}
	c, err := p.Configured()
	return c.Rooms, &config.Settings, err
}

// valueOf is a setting as setOne takes it.
func valueOf(s *room.Settings, key string) string {
	number := func(n int) string { return strconv.Itoa(n) }
	tokens := func(n int64) string {
		switch {
		case n != 0 && n%1_000_000 == 0:
			return strconv.FormatInt(n/1_000_000, 10) + "M"
		case n != 0 && n%1000 == 0:
			return strconv.FormatInt(n/1000, 10) + "k"
		}
		return strconv.FormatInt(n, 10)
	}
	either := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	switch key {
	case "topic":
		return s.Topic
	case "policy":
		return string(s.Policy)
	case "blind":
		return strconv.FormatBool(s.Blind)
	case "turns":
		return number(s.Turns)
	case "tokens":
		return tokens(s.Tokens.Round)
	case "tokens-day":
		return tokens(s.Tokens.Day)
	case "share":
		return either(s.Tagged, "tagged", "all")
	case "moderator":
		return s.Moderator
	case "judge":
		return s.Judge
	case "decide":
		return cmp.Or(s.Decide, "person")
	case "rebuttals":
		return number(s.Rebuttals)
	case "timeout":
		return number(s.Timeouts.Idle)
	case "parse-timeout":
		return number(s.Timeouts.Parse)
	case "send-timeout":
		return number(s.Timeouts.Send)
	case "hard-timeout":
		return number(s.Timeouts.Hard)
	case "on-parse":
		return either(s.Timeouts.Stops, "stop", "ask")
	}
	return ""
}
