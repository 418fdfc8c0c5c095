package roomconfig

import (
	"reflect"
	"strings"
	"testing"

	"cmux/agents/room"
	"cmux/dag/keys"
)

// file is a configuration that has these keys and no others.
type file struct{ Rooms map[string]string }

func parse(src string) (Config, map[string]string, error) {
	var f file
	err := keys.NewTable([]keys.Field[file]{keys.Section(keys.Key{Name: "rooms"}, Keys(func(f *file) *map[string]string { return &f.Rooms }))}).Parse(keys.NewReader("f"), &f, []byte(src), nil)
	return New(f.Rooms), f.Rooms, err
}

func TestDefault(t *testing.T) {
	if got, want := Default(), (Config{Settings: room.Defaults(), Confirm: 100_000, Warm: 300, MaxActive: 4, MaxRooms: 2}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
	// What the page says of a default is what counts without the key.
	for _, l := range leaves() {
		if c := Default(); l.field.Def != "no bound" && (l.field.Set(&c, l.field.Def) != nil || c != Default()) {
			t.Errorf("%s: the default is not %q: %+v", l.name(), l.field.Def, c)
		}
	}
}

func TestParse(t *testing.T) {
	all := `rooms:
  policy: once
  turns: 5
  blind: false
  share: tagged
  tokens: {round: 200k, day: 2M}
  confirm: 5000
  warm: 10m
  max_active: 2
  max_rooms: 5
  on_conflict: open
  timeouts: {idle: 60, parse: 20m, send: 30s, hard: 1h, on_parse: stop}
`
	c, set, err := parse(all)
	want := Config{
		Settings: room.Settings{Policy: room.Once, Turns: 5, Tagged: true, Rebuttals: 1, Tokens: room.Tokens{Round: 200_000, Day: 2_000_000}, Timeouts: room.Timeouts{Idle: 60, Parse: 1200, Send: 30, Hard: 3600, Stops: true}},
		Confirm:  5000, Warm: 600, MaxActive: 2, MaxRooms: 5, OnConflict: true,
	}
	if err != nil || c != want {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
	if len(set) != len(leaves()) || set["tokens.round"] != "200k" || set["timeouts.on_parse"] != "stop" {
		t.Errorf("recorded: %v", set)
	}
	for _, l := range leaves() {
		if _, there := set[l.name()]; !there {
			t.Errorf("the test leaves out %s", l.name())
		}
	}
	for src, change := range map[string]func(*Config){
		"rooms: {}\n":                  func(*Config) {},
		"rooms:\n":                     func(*Config) {},
		"rooms: {tokens: {day: 3M}}\n": func(c *Config) { c.Settings.Tokens.Day = 3_000_000 },
		"rooms: {tokens: {round: 0}, confirm: 0}\n":  func(c *Config) { c.Confirm = 0 },
		"rooms: {timeouts: {hard: 0, idle: 0s}}\n":   func(c *Config) { c.Settings.Timeouts.Idle = 0 },
		"x-t: &t {hard: 9}\nrooms: {timeouts: *t}\n": func(c *Config) { c.Settings.Timeouts.Hard = 9 },
	} {
		want := Default()
		change(&want)
		if c, _, err := parse(src); err != nil || c != want {
			t.Errorf("%q: %+v, %v; want %+v", src, c, err, want)
		}
	}
	for src, want := range map[string]string{
		"rooms: once\n":                                 `f:1:8: rooms must hold keys and values, not "once"`,
		"rooms: {polcy: once}\n":                        `f:1:9: unknown key "polcy" in rooms (did you mean "policy"?)`,
		"rooms:\n  policy: twice\n":                     `f:2:11: rooms.policy cannot be "twice" (one of everybody, once, robin, mentioned, moderator, debate)`,
		"rooms: {turns: 0}\n":                           `f:1:16: rooms.turns must be from 1 to 100, not 0`,
		"rooms: {blind: no}\n":                          `f:1:16: rooms.blind must be true or false, not "no"`,
		"rooms: {share: some}\n":                        `f:1:16: rooms.share cannot be "some" (one of all, tagged)`,
		"rooms: {share: [all]}\n":                       `f:1:16: rooms.share must be text, not a list`,
		"rooms: {tokens: 200k}\n":                       `f:1:17: rooms.tokens must hold keys and values, not "200k"`,
		"rooms: {tokens: {round: 200 k}}\n":             `f:1:25: rooms.tokens.round "200 k" is no number of tokens (write 5000, 200k or 2M)`,
		"rooms: {tokens: {day: -1}}\n":                  `f:1:23: rooms.tokens.day "-1" is no number of tokens`,
		"rooms: {tokens: {week: 1M}}\n":                 `f:1:18: unknown key "week" in rooms.tokens`,
		"rooms: {confirm: true}\n":                      `f:1:18: rooms.confirm must be text, not true`,
		"rooms: {warm: 0}\n":                            `f:1:15: rooms.warm must be from 1 to 2592000 seconds, not 0`,
		"rooms: {warm: soon}\n":                         `f:1:15: rooms.warm must be seconds or a duration, not "soon" (write seconds, or a unit: 90, 90s, 20m)`,
		"rooms: {warm: 1500ms}\n":                       `f:1:15: rooms.warm must be whole seconds, not 1500ms`,
		"rooms: {warm: true}\n":                         `f:1:15: rooms.warm must be seconds or a duration, not true`,
		"rooms: {max_active: 65}\n":                     `f:1:21: rooms.max_active must be from 1 to 64, not 65`,
		"rooms: {timeouts: {idle: -5}}\n":               `f:1:26: rooms.timeouts.idle must be from 0 to 2592000 seconds, not -5`,
		"rooms: {timeouts: {hard: 721h}}\n":             `f:1:26: rooms.timeouts.hard must be from 0 to 2592000 seconds, not 721h`,
		"rooms: {timeouts: {on_parse: wait}}\n":         `f:1:30: rooms.timeouts.on_parse cannot be "wait" (one of ask, stop)`,
		"rooms:\n  timeouts:\n    idle: 1\n    idle: 2": `f:4:5: key "idle" appears twice`,
	} {
		if _, _, err := parse(src); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v; want %s", src, err, want)
		}
	}
}

// A recorded value that this version does not take counts as not set.
func TestNew(t *testing.T) {
	if got := New(map[string]string{"policy": "twice", "warm": "soon", "max_active": "0", "later": "1", "turns": "2"}); got.Settings.Turns != 2 {
		t.Errorf("%+v", got)
	} else if got.Settings.Turns = 3; !reflect.DeepEqual(got, Default()) {
		t.Errorf("%+v", got)
	}
}
