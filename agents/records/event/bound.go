package event

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

const (
	maxText   = 64 << 10 // of a text, bytes
	maxResult = 8 << 10  // of the output of a tool or a check
	maxString = 4 << 10  // of a string in a tool's input
	maxInput  = 64 << 10 // of a tool's input after its strings are cut
)

// bounded returns e with its long parts cut.
func (e Event) bounded() Event {
	most := maxText
	if e.Kind == ToolResult || e.Kind == Check {
		most = maxResult
	}
	var text, input int
	e.Text, text = middle(e.Text, most)
	e.Input, input = short(e.Input)
	e.Cut += text + input
	return e
}

// middle cuts the middle out of a text and keeps about most bytes of its beginning and end,
// in whole characters.
func middle(s string, most int) (kept string, cut int) {
	if len(s) <= most {
		return s, 0
	}
	head, tail := most/2, len(s)-most/2
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "\n…\n" + s[tail:], tail - head
}

// short cuts the long strings of a tool's input. It drops an input that stays too long, or
// that is not JSON.
func short(input json.RawMessage) (kept json.RawMessage, cut int) {
	if len(input) == 0 {
		return nil, 0
	}
	if !json.Valid(input) {
		return nil, len(input)
	}
	if len(input) <= maxString {
		return input, 0
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil, len(input)
	}
	value = shorten(value, &cut)
	kept, err := json.Marshal(value)
	if err != nil || len(kept) > maxInput {
		return nil, len(input)
	}
	return kept, cut
}

func shorten(value any, cut *int) any {
	switch v := value.(type) {
	case string:
		kept, n := beginning(v, maxString)
		*cut += n
		return kept
	case []any:
		for i := range v {
			v[i] = shorten(v[i], cut)
		}
	case map[string]any:
		for k := range v {
			v[k] = shorten(v[k], cut)
		}
	}
	return value
}

// beginning returns the first n bytes of a text at most, in whole characters, and how many
// bytes follow.
func beginning(s string, n int) (kept string, cut int) {
	if len(s) <= n {
		return s, 0
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…", len(s) - n
}
