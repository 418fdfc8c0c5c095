package keys

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"cmux/agents/testkit/agenttest/fuzzing"
)

// The distance with a limit agrees with the textbook's.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"auth", "auht", 1}, {"build", "biuld", 1}, {"kitten", "sitting", 3}, {"abc", "xyz", 3}, {"agent", "agents", 1}} {
		if got := distance(c.a, c.b, 5); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.a, c.b, c.want-1); c.want > 0 && got != c.want {
			t.Errorf("distance(%q, %q) with limit %d = %d", c.a, c.b, c.want-1, got)
		}
	}
}

type mode string

// shop has a key of each type.
type shop struct {
	Name    string
	Open    bool
	Shelves int
	Every   time.Duration
	Mode    mode
	Tags    []string
	After   []string
	Ways    []string
	Till    till
	Doors   []door
	Note    string
}

type till struct {
	Coins int64
	Deep  pair
}

type pair struct{ Max int }

type door struct{ Name string }

func shopFields() []Field[shop] {
	return []Field[shop]{
		Text(Key{Name: "name", Pattern: "^[a-z]+$", Most: 8, Hint: "small letters"}, func(s *shop) *string { return &s.Name }),
		Flag(Key{Name: "open"}, func(s *shop) *bool { return &s.Open }),
		Count(Key{Name: "shelves", Least: 1, Most: 9}, func(s *shop) *int { return &s.Shelves }),
		Duration(Key{Name: "every", Least: int64(time.Second), Most: int64(time.Hour)}, func(s *shop) *time.Duration { return &s.Every }),
		Choice(Key{Name: "mode", Allowed: []string{"any", "slow", "fast"}}, func(s *shop) *mode { return &s.Mode }, "any"),
		List(Key{Name: "tags"}, func(s *shop) *[]string { return &s.Tags }, OneLine),
		Names(Key{Name: "after"}, func(s *shop) *[]string { return &s.After }),
		Choices(Key{Name: "ways", Allowed: []string{"push", "pr"}}, func(s *shop) *[]string { return &s.Ways }),
		Group(Key{Name: "till"}, func(s *shop) *till { return &s.Till }, []Field[till]{
			Count(Key{Name: "coins"}, func(t *till) *int64 { return &t.Coins }),
			Group(Key{Name: "deep"}, func(t *till) *pair { return &t.Deep }, []Field[pair]{
				Count(Key{Name: "max"}, func(p *pair) *int { return &p.Max }),
			}, &Short[pair]{Type: "whole number, or keys and values", Schema: map[string]any{"type": "integer"}, Read: func(r *Reader, name string, n *yaml.Node) (pair, bool) {
				i, ok := r.Count(name, n, 0, 0)
				return pair{int(i)}, ok
			}}),
		}, nil),
		Items(Key{Name: "doors"}, func(s *shop) *[]door { return &s.Doors }, []Field[door]{
			Text(Key{Name: "name"}, func(d *door) *string { return &d.Name }),
		}, func(r *Reader, at *yaml.Node, d *door) bool {
			if d.Name == "" {
				r.Fault(at, "", "a door has no name")
			}
			return d.Name != ""
		}),
		Section(Key{Name: "more"}, []Field[shop]{Text(Key{Name: "note"}, func(s *shop) *string { return &s.Note }, WebAddress)}),
	}
}

func parseShop(src string) (shop, error) {
	s := shop{Name: "none", Note: "http://a"}
	return s, NewTable(shopFields()).Parse(NewReader("f"), &s, []byte(src), nil)
}

func TestRead(t *testing.T) {
	for src, want := range map[string]shop{
		"":         {Name: "none", Note: "http://a"},
		"~":        {Name: "none", Note: "http://a"},
		"name: # ": {Name: "none", Note: "http://a"},
		"x-a: &a {coins: 3, deep: 4}\nname: b\nopen: true\ntill: *a": {Name: "b", Open: true, Till: till{3, pair{4}}, Note: "http://a"},
		"till: {deep: {max: 5}}\nmore: {}\nshelves: 9\nevery: 60m":   {Name: "none", Till: till{0, pair{5}}, Note: "http://a", Shelves: 9, Every: time.Hour},
		"mode: any\ntags: one\nafter: a, b\nways: [push]":            {Name: "none", Tags: []string{"one"}, After: []string{"a", "b"}, Ways: []string{"push"}, Note: "http://a"},
		"mode: slow\nafter: \"\"\ndoors: [{name: 1}]":                {Name: "none", Mode: "slow", Doors: []door{{"1"}}, Note: "http://a"},
	} {
		r, got := NewReader("f"), shop{Name: "none", Note: "http://a"}
		if err := NewTable(shopFields()).Parse(r, &got, []byte(src), nil); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", src, got, err, want)
		}
	}
	for src, want := range map[string]string{
		"nme: a":                  `f:1:1: unknown key "nme" (did you mean "name"?)`,
		"name: A":                 `f:1:7: name "A" is not allowed (small letters)`,
		"name: abcdefghi":         `f:1:7: name "abcdefghi" has 9 characters; at most 8 are allowed`,
		"name: true":              `f:1:7: name must be text, not true (write "true" in quotes if it is meant)`,
		"open: \"true\"":          `f:1:7: open must be true or false, not "true"`,
		"shelves: 10":             `f:1:10: shelves must be from 1 to 9, not 10`,
		"every: 1ms":              `f:1:8: every must be at least 1s, not 1ms`,
		"every: 61m":              `f:1:8: every must be at most 1h, not 61m`,
		"every: 5":                `f:1:8: every must be a duration such as 90s or 1h30m, not 5 (give a unit: 5s, 5m or 5h)`,
		"mode: fats":              `f:1:7: mode cannot be "fats" (did you mean "fast"?)`,
		"tags: [a, {b: c}]":       `f:1:11: tags must be text, not keys and values`,
		"ways: [push, merge]":     `f:1:14: ways cannot be "merge" (one of push, pr)`,
		"till: {coins: x}":        `f:1:15: till.coins must be a whole number, not "x"`,
		"till: {coin: 1}":         `f:1:8: unknown key "coin" in till (did you mean "coins"?)`,
		"till: {deep: {max: -1}}": `f:1:20: till.deep.max must be at least 0, not -1`,
		"till: 3":                 `f:1:7: till must hold keys and values, not 3 (write it as key: value)`,
		"doors: x":                `f:1:8: doors must be a list, not "x" (write it as - key: value)`,
		"doors: [{}]":             `f:1:9: a door has no name`,
		"doors: [{nam: x}]":       `f:1:10: unknown key "nam" in an item of doors (did you mean "name"?)`,
		"more: {note: x}":         `f:1:14: more.note "x" is not a web address (write https://HOST/PATH)`,
		"open: true\nopen: false": `f:2:1: key "open" appears twice (first on line 1)`,
		"- a":                     `f:1:1: the file must hold keys and values, not a list`,
		"name: a\n---\nname: b":   `f:2:1: the file holds more than one document`,
		"open: 1\nshelves: 0":     "f:1:7: open must be true or false, not 1\nf:2:10: shelves must be from 1 to 9, not 0",
		"\xff":                    `f:1:1: byte 0xff is not UTF-8 (save the file as UTF-8)`,
	} {
		_, err := parseShop(src)
		var faults Faults
		if !errors.As(err, &faults) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v; want %s", src, err, want)
		}
	}
}

// A field can be set from a text, as a file would set it.
func TestSet(t *testing.T) {
	table := NewTable(shopFields())
	var s shop
	for name, text := range map[string]string{"open": "true", "shelves": "3", "every": "2m", "name": "abc"} {
		if err := table.Of(name).Set(&s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if want := (shop{Name: "abc", Open: true, Shelves: 3, Every: 2 * time.Minute}); !reflect.DeepEqual(s, want) {
		t.Errorf("%+v; want %+v", s, want)
	}
	if err := table.Of("shelves").Set(&s, "many"); err == nil || s.Shelves != 3 {
		t.Errorf("%v, %d", err, s.Shelves)
	}
}

// What is written is read as the same values.
func TestWrite(t *testing.T) {
	want := shop{Name: "abc", Open: true, Shelves: 3, Every: 90 * time.Second, Mode: "slow", Tags: []string{"a b", "-c"}, After: []string{"x", "y"}, Ways: []string{"pr"}, Till: till{3, pair{4}}}
	var src strings.Builder
	var zero shop
	for _, f := range shopFields() {
		if f.Write != nil && !f.Same(&want, &zero) {
			src.WriteString(f.Name + ": " + f.Write(&want, "  ") + "\n")
		}
	}
	var got shop
	if err := NewTable(shopFields()).Parse(NewReader("f"), &got, []byte(src.String()), nil); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, %v", src.String(), got, err)
	}
}

// Every key, with those below it, is on the page and in the schema.
func TestDescriptions(t *testing.T) {
	var page strings.Builder
	all := Describes(shopFields())
	Reference(&page, "##", all)
	for _, want := range []string{"## `shelves`\n\n\n\n- Type: whole number from 1 to 9.", "- `till.deep.max`: ", "- `doors.name`: ", "- Type: duration, at least 1s, at most 1h."} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in:\n%s", want, page.String())
		}
	}
	schema := string(Document("t", "d", all, nil))
	for _, want := range []string{`"shelves": {`, `"maximum": 9`, `"coins": {`, `"maxLength": 8`} {
		if !strings.Contains(schema, want) {
			t.Errorf("no %s in the schema", want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"idle_after", "name", "port"}
	for word, want := range map[string]string{"idle-after": "idle_after", "NAME": "name", "prot": "port", "zebra": "", "name": ""} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// A file is read, or each fault of it stands on one of its lines.
func FuzzRead(f *testing.F) {
	for _, src := range []string{"name: a\ntill: {deep: 2}\n", "a: &x [*x]\n", "doors: [{name: x}, {}]\nmore: {note: http://x}\n", "x-a: &a {coins: 1}\ntill: {<<: *a}\n"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		_, err := parseShop(src)
		if err == nil {
			return
		}
		lines := strings.Count(src, "\n") + strings.Count(src, "\r") + 2
		if faults := err.(Faults); len(faults) == 0 || slices.ContainsFunc(faults, func(f Fault) bool { return f.Line < 1 || f.Line > lines || f.Message == "" }) {
			t.Errorf("%q: %v", src, err)
		}
	})
}
