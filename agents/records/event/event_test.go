package event

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"cmux/agents/testkit/agenttest/fuzzing"
)

var update = flag.Bool("update", false, "rewrite the table in the docs")

const (
	page  = "../../../docs/events.md"
	begin = "<!-- kinds: made by go test ./agents/records/event -update -->\n"
	end   = "<!-- end of kinds -->\n"
)

// TestDocs checks that the table in the docs matches the code.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %q or %q", page, begin, end)
	}
	want := before + begin + Markdown() + end + after
	switch {
	case want == string(b):
	case *update:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("the table in %s is not what the code says; go test ./agents/records/event -update rewrites it", page)
	}
}

// Every Kind is described.
func TestKinds(t *testing.T) {
	described := map[string]bool{}
	for _, k := range kinds {
		described[string(k.kind)] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := v.Type.(*ast.Ident); ok && name.Name == "Kind" {
			declared++
			if word := strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`); !described[word] {
				t.Errorf("kind %s is not described", word)
			}
		}
		return true
	})
	if declared != len(kinds) {
		t.Errorf("%d kinds are declared, %d described", declared, len(kinds))
	}
}

func open(t *testing.T, path string, attempt int) *Log {
	t.Helper()
	l, err := Open(path, "a", attempt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func replay(t *testing.T, path string, from int64) (all []Event, next int64) {
	t.Helper()
	next, err := Replay(path, from, func(e Event, _ int64) error { all = append(all, e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all, next
}

// Written events are read back, from any offset that was returned.
func TestReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if all, next := replay(t, path, 0); len(all) != 0 || next != 0 {
		t.Errorf("%v, %d", all, next)
	}
	exit := 3
	want := []Event{
		{At: time.Unix(5, 0).UTC(), Kind: ToolUse, Tool: "Bash", ToolID: "t", Input: json.RawMessage(`{"command":"ls"}`), Message: "m"},
		{At: time.Unix(4, 0).UTC(), Kind: Check, Command: "go test", Exit: &exit, Failed: true, Took: 7, Text: "é\n\x00"},
		{At: time.Unix(9, 0).UTC(), Kind: Limit, Until: time.Unix(10, 0).UTC()},
	}
	l := open(t, path, 2)
	for i := range want {
		want[i].Node, want[i].Attempt = "a", 2
		l.Append(want[i])
	}
	all, next := replay(t, path, 0)
	if !reflect.DeepEqual(all, want) {
		t.Errorf("%+v\nwant %+v", all, want)
	}
	var offsets []int64
	if _, err := Replay(path, 0, func(_ Event, next int64) error { offsets = append(offsets, next); return nil }); err != nil {
		t.Fatal(err)
	}
	if rest, _ := replay(t, path, offsets[0]); !reflect.DeepEqual(rest, want[1:]) || offsets[2] != next {
		t.Errorf("from %d: %+v", offsets[0], rest)
	}
	stop := errors.New("enough")
	if at, err := Replay(path, 0, func(Event, int64) error { return stop }); err != stop || at != 0 {
		t.Errorf("%d, %v", at, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l.Append(Event{Kind: Text}) // too late; no crash
	(*Log)(nil).Append(Event{})
	if err := (*Log)(nil).Close(); err != nil {
		t.Error(err)
	}
}

// Damaged lines and events of other versions are skipped.
func TestReplayIsTolerant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	torn := `{"kind":"text","text":"one"}` + "\n" + `{"kind":"te` + "\n" + `7` + "\n" + `{"text":"no kind"}` + "\n" +
		`{"kind":"from_the_future","new":[1],"text":"two"}` + "\n" + `{"kind":"text","exit":"no number"}` + "\n" + `{"kind":"text","text":"cut off by a ki`
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	all, next := replay(t, path, 0)
	if len(all) != 2 || all[0].Text != "one" || all[1].Kind != "from_the_future" || all[1].Text != "two" {
		t.Errorf("%+v", all)
	}
	open(t, path, 2).Append(Event{Kind: Text, Text: "three"})
	if all, _ = replay(t, path, next); len(all) != 1 || all[0].Text != "three" {
		t.Errorf("behind the torn line: %+v", all)
	}
}

func TestWritersShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	l := open(t, path, 1)
	var tasks sync.WaitGroup
	for i := range 8 {
		tasks.Go(func() {
			for range 50 {
				l.Append(Event{Kind: Text, Text: strings.Repeat(fmt.Sprint(i), 5000)})
			}
		})
	}
	tasks.Wait()
	if all, _ := replay(t, path, 0); len(all) != 400 {
		t.Errorf("%d events", len(all))
	}
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan string, 100)
	ended := make(chan error)
	go func() {
		_, err := Follow(ctx, path, 0, func(e Event, _ int64) error { got <- e.Text; return nil })
		ended <- err
	}()
	l := open(t, path, 1)
	for i := range 5 {
		l.Append(Event{Kind: Text, Text: fmt.Sprint(i)})
		if i%2 == 0 {
			if text := <-got; text != fmt.Sprint(i) {
				t.Fatalf("got %s, not %d", text, i)
			}
			continue
		}
		if text := <-got; text != fmt.Sprint(i) {
			t.Fatalf("got %s, not %d", text, i)
		}
	}
	// Events written before the end are read.
	l.Append(Event{Kind: Text, Text: "last"})
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "last" {
		t.Error(text)
	}
}

func TestBounds(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	for _, c := range []struct {
		name string
		e    Event
		most int
	}{
		{"a result", Event{Kind: ToolResult, Text: long}, 9 << 10},
		{"a check", Event{Kind: Check, Text: "b" + long}, 9 << 10},
		{"a text", Event{Kind: Text, Text: long}, 66 << 10},
		{"an input", Event{Kind: ToolUse, Input: marshal(map[string]any{"file_path": "/a", "content": long, "n": 12345678901234567})}, 5 << 10},
		{"an input of many", Event{Kind: ToolUse, Input: marshal(make([]int, 100_000))}, 1 << 10},
		{"no JSON", Event{Kind: ToolUse, Input: json.RawMessage("{")}, 1 << 10},
	} {
		e := c.e.bounded()
		if n := len(e.Text) + len(e.Input); n > c.most || e.Cut == 0 || !utf8.ValidString(e.Text) {
			t.Errorf("%s: %d bytes are left, %d cut", c.name, n, e.Cut)
		}
		if len(e.Input) > 0 && !json.Valid(e.Input) {
			t.Errorf("%s: %.80s", c.name, e.Input)
		}
	}
	e := Event{Kind: ToolUse, Input: marshal(map[string]any{"file_path": "/a", "content": long, "n": 12345678901234567})}.bounded()
	if !strings.Contains(string(e.Input), `"file_path":"/a"`) || !strings.Contains(string(e.Input), "12345678901234567") {
		t.Errorf("%.200s", e.Input)
	}
	for _, e := range []Event{{Kind: ToolResult, Text: "short"}, {Kind: ToolUse, Input: json.RawMessage(`{"a": "b"}`)}} {
		if b := e.bounded(); !reflect.DeepEqual(b, e) {
			t.Errorf("%+v became %+v", e, b)
		}
	}
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Kind: Prompt, Text: " do\nit \n"}, "> do\n  it\n"},
		{Event{Kind: Thought, Text: "hm\nso"}, "~ hm\n~ so\n"},
		{Event{Kind: Text, Text: "a\nb\n"}, "a\nb\n"},
		{Event{Kind: Text, Text: " \n"}, ""},
		{Event{Kind: ToolUse, Tool: "Write", Input: json.RawMessage(`{"content":"x","file_path":"/a"}`)}, "* Write /a\n"},
		{Event{Kind: ToolUse, Tool: "Odd", Input: json.RawMessage(`{"x":1}`)}, "* Odd {\"x\":1}\n"},
		{Event{Kind: ToolUse, Tool: "None", Input: json.RawMessage(`{}`)}, "* None\n"},
		{Event{Kind: ToolResult, Text: "a\x1b[31mb\x07\nc", Failed: true}, "  ! ab\n  | c\n"},
		{Event{Kind: ToolResult, Text: "a\nb"}, "  | a\n  | b\n"},
		{Event{Kind: ToolResult}, ""},
		{Event{Kind: RequestFailed, Text: "529"}, "! 529\n"},
		{Event{Kind: Interrupted}, "! interrupted\n"},
		{Event{Kind: Compacted}, "! the conversation was compacted\n"},
		{Event{Kind: Question, Text: "which?\n1"}, "? which?\n  1\n"},
		{Event{Kind: Answer, Text: "2"}, "> 2\n"},
		{Event{Kind: HandBack, Text: "go on"}, "> go on\n"},
		{Event{Kind: Report, State: Done, Text: "all\nof it"}, "── reported done: all\n   of it\n"},
		{Event{Kind: Note, Text: "n"}, "── n\n"},
		{Event{Kind: Subagent, State: Began, Text: "Explore"}, "── sub-agent Explore began\n"},
		{Event{Kind: Status, State: "working"}, ""},
		{Event{Kind: "novel", Text: "x"}, ""},
	} {
		if got := new(Printer).Lines(c.e); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
	if got := Cut("éééé", 5); got != "éé… (4 bytes more)" {
		t.Errorf("%q", got)
	}
}

// A text that cmux sent is not shown again as a prompt.
func TestLinesShowAPromptOnce(t *testing.T) {
	var p Printer
	var shown string
	for _, e := range []Event{
		{Kind: HandBack, Text: "The check failed.\nFix it"},
		{Kind: Text, Text: "hm"},
		{Kind: Prompt, Text: "<wrapped> The check  failed. Fix it</wrapped>"},
		{Kind: Prompt, Text: "The check failed. Fix it"},
	} {
		shown += p.Lines(e)
	}
	if want := "> The check failed.\n  Fix it\nhm\n> The check failed. Fix it\n"; shown != want {
		t.Errorf("%q, want %q", shown, want)
	}
}

func TestBrief(t *testing.T) {
	exit := 3
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Kind: Text, Text: "a\nb  c"}, "a b c"},
		{Event{Kind: Text, Text: strings.Repeat("x", 300)}, strings.Repeat("x", briefText) + "…"},
		{Event{Kind: ToolUse, Tool: "Bash", Input: json.RawMessage(`{"command":"go test\n./..."}`)}, "* Bash go test ./..."},
		{Event{Kind: Denied, Tool: "Write", Text: "outside"}, "! refused Write: outside"},
		{Event{Kind: Check, Command: "go vet"}, "check passed: go vet"},
		{Event{Kind: Check, Command: "go vet", Failed: true, Exit: &exit}, "check failed (exit 3): go vet"},
		{Event{Kind: Check, Command: "go vet", Failed: true, TimedOut: true, Exit: &exit}, "check timed out: go vet"},
		{Event{Kind: HandBack, Text: "no\nreport"}, "> sent back: no report"},
		{Event{Kind: Report, State: Blocked, Text: "no key"}, "reported blocked: no key"},
		{Event{Kind: End, State: "failed (checks)", Text: "go vet: exit 3"}, "── failed (checks): go vet: exit 3"},
		{Event{Kind: Question, Text: "which?"}, "? which?"}, {Event{Kind: Answer, Text: "that"}, "> answered: that"},
		{Event{Kind: Limit}, "! limit"}, {Event{Kind: Interrupted}, "! interrupted"}, {Event{Kind: Compacted}, "! the conversation was compacted"},
		{Event{Kind: RequestFailed, Text: "529"}, "! the call of the model failed: 529"},
		{Event{Kind: Thought, Text: "hm"}, ""}, {Event{Kind: ToolResult, Text: "x"}, ""}, {Event{Kind: "novel"}, ""},
	} {
		if got := Brief(c.e); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// Every event is written as one line, and what is shown of it contains no terminal control
// sequence.
func FuzzEvent(f *testing.F) {
	f.Add("tool_use", "Bash", "text\x1b[0m", []byte(`{"command":"x"}`))
	f.Add("check", "\x00", strings.Repeat("é", 9000), []byte(`[]`))
	f.Add("tool_use", "", "0", []byte("written\r\non Windows\rover"))
	f.Fuzz(func(t *testing.T, kind, tool, text string, input []byte) {
		e := Event{Kind: Kind(kind), Tool: tool, Text: text, Command: text, Input: input}
		for _, s := range []string{new(Printer).Lines(e), Brief(e)} {
			// A carriage return that ends a line is a line end.
			if strings.ContainsAny(strings.ReplaceAll(s, "\r\n", "\n"), "\x1b\x00\r\x07") {
				t.Errorf("a terminal would obey %q", s)
			}
		}
		if strings.Contains(Brief(e), "\n") {
			t.Errorf("more than a line: %q", Brief(e))
		}
		path := filepath.Join(t.TempDir(), "e")
		l, err := Open(path, "a", 1)
		if err != nil {
			t.Fatal(err)
		}
		l.Append(e)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		n := 0
		if _, err := Replay(path, 0, func(Event, int64) error { n++; return nil }); err != nil || n != 1 && kind != "" {
			t.Errorf("%d events, %v", n, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "e"), "a", 1)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	e := Event{Kind: ToolUse, Tool: "Bash", Input: json.RawMessage(`{"command":"go test ./..."}`)}
	b.ReportAllocs()
	for b.Loop() {
		l.Append(e)
	}
}
