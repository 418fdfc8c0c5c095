package transcript_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/transcript"
	"cmux/agents/records/event"
	"cmux/dag"
)

// brief is an event in one line.
func brief(events []event.Event) []string {
	out := []string{}
	for _, e := range events {
		s := string(e.Kind)
		for _, f := range []string{e.Message, e.Tool, e.ToolID, e.Text, string(e.Input)} {
			if f != "" {
				s += " " + f
			}
		}
		if e.Failed {
			s += " !"
		}
		out = append(out, s)
	}
	return out
}

func TestParseLine(t *testing.T) {
	const usage = `"usage":{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":7,"cache_creation_input_tokens":3}`
	used := dag.Usage{Input: 100, Output: 20, CacheRead: 7, CacheCreate: 3}
	for _, c := range []struct {
		line, message string
		usage         dag.Usage
		events        []string
	}{
		{`{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"need bash"}],` + usage + `}}`, "m", used, []string{"thought m need bash"}},
		{`{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"","signature":"x"}],` + usage + `}}`, "m", used, nil},
		{`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],` + usage + `}}`, "m", used, []string{`tool_use m Bash t1 {"command":"ls"}`}},
		{`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"hi"},7,{"type":"new"}]}}`, "m", dag.Usage{}, []string{"text m hi"}},
		{`{"type":"assistant","isSidechain":true,"message":{"id":"s","content":[{"type":"text","text":"hi"}],` + usage + `}}`, "s", used, nil},
		{`{"type":"assistant","isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 x"}],"usage":{"input_tokens":0}}}`, "", dag.Usage{}, []string{"request_failed API Error: 529 x"}},
		{`{"type":"assistant","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}}`, "", dag.Usage{}, nil},
		{`{"type":"user","message":{"role":"user","content":"do it"}}`, "", dag.Usage{}, []string{"prompt do it"}},
		{`{"type":"user","isMeta":true,"message":{"content":"caveat"}}`, "", dag.Usage{}, nil},
		{`{"type":"user","isCompactSummary":true,"message":{"content":"summary"}}`, "", dag.Usage{}, nil},
		{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}]}}`, "", dag.Usage{}, []string{"tool_result t1 a\nb !"}},
		{`{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}`, "", dag.Usage{}, []string{"interrupted"}},
		{`{"type":"system","subtype":"compact_boundary"}`, "", dag.Usage{}, []string{"compacted"}},
		{`{"type":"queue-operation","operation":"enqueue","message":[1]}`, "", dag.Usage{}, nil},
		{`{"type":"assistant","timestamp":7,"message":"odd"}`, "", dag.Usage{}, nil},
		{`{}`, "", dag.Usage{}, nil},
	} {
		got, err := transcript.ParseLine([]byte(c.line))
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
		if c.events == nil {
			c.events = []string{}
		}
		if got.Message != c.message || got.Usage != c.usage || !reflect.DeepEqual(brief(got.Events), c.events) {
			t.Errorf("%s:\n got %q %+v %q\nwant %q %+v %q", c.line, got.Message, got.Usage, brief(got.Events), c.message, c.usage, c.events)
		}
	}
	got, err := transcript.ParseLine([]byte(`{"type":"user","timestamp":"2026-01-02T03:04:05.6Z","message":{"content":"x"}}`))
	if err != nil || !got.Events[0].At.Equal(time.Date(2026, 1, 2, 3, 4, 5, 6e8, time.UTC)) {
		t.Errorf("time: %+v, %v", got, err)
	}
	for _, bad := range []string{"", "x", "[1]", `{"type":`} {
		if _, err := transcript.ParseLine([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func said(id, text string, out int) string {
	b, err := json.Marshal(map[string]any{"type": "assistant", "message": map[string]any{
		"id": id, "content": []any{map[string]string{"type": "text", "text": text}},
		"usage": map[string]int{"input_tokens": 10, "output_tokens": out, "cache_read_input_tokens": 1000}}})
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, f *transcript.Follower, want ...string) {
	t.Helper()
	events, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	if want == nil {
		want = []string{}
	}
	if got := brief(events); !reflect.DeepEqual(got, want) {
		t.Errorf("got %.200q, want %.200q", got, want)
	}
}

func TestFollower(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s1.jsonl")
	f := transcript.NewFollower(path, 0)
	read(t, f) // nothing there yet
	long := strings.Repeat("x", 300_000)
	appendTo(t, path, said("m1", "one", 5)+said("m1", "two", 5)+"no json\n\n"+said("m2", long, 7))
	read(t, f, "text m1 one", "text m1 two", "text m2 "+long)
	if want := (dag.Usage{Input: 20, Output: 12, CacheRead: 2000}); f.Usage() != want {
		t.Errorf("usage %+v, want %+v", f.Usage(), want)
	}

	// A line comes in pieces.
	line := said("m3", "three", 1)
	appendTo(t, path, line[:10])
	read(t, f)
	appendTo(t, path, line[10:len(line)-1])
	read(t, f)
	appendTo(t, path, "\n"+said("m3", "four", 9))
	read(t, f, "text m3 three", "text m3 four")
	if got := f.Usage().Output; got != 21 {
		t.Errorf("output %d, want 21: the last count of a message stands", got)
	}

	// Sub-agents count and keep quiet.
	appendTo(t, filepath.Join(filepath.Dir(path), "s1", "subagents", "agent-1.jsonl"), said("a1", "sub", 100))
	appendTo(t, filepath.Join(filepath.Dir(path), "s1", "subagents", "notes.txt"), said("a2", "sub", 1e6))
	read(t, f)
	if want := (dag.Usage{Input: 40, Output: 121, CacheRead: 4000}); f.Usage() != want {
		t.Errorf("usage %+v, want %+v", f.Usage(), want)
	}

	// The agent goes on in another conversation, which begins with what it keeps.
	other := filepath.Join(t.TempDir(), "s2.jsonl")
	appendTo(t, other, said("m3", "four", 9)+said("n1", "six", 2))
	switched := transcript.NewFollower(path, f.Offset())
	read(t, switched)
	switched.Switch(other)
	read(t, switched, "text m3 four", "text n1 six")
	if want := f.Usage().Plus(dag.Usage{Input: 10, Output: 2, CacheRead: 1000}); switched.Usage() != want {
		t.Errorf("usage %+v, want %+v", switched.Usage(), want)
	}

	// After a crash the same is counted and nothing is said twice.
	appendTo(t, path, said("m4", "five", 0))
	again := transcript.NewFollower(path, f.Offset())
	read(t, again, "text m4 five")
	read(t, f, "text m4 five")
	if again.Usage() != f.Usage() || again.Offset() != f.Offset() {
		t.Errorf("rebuilt %+v at %d, want %+v at %d", again.Usage(), again.Offset(), f.Usage(), f.Offset())
	}

	// A new file in its place is read from its start.
	if err := os.WriteFile(path, []byte(said("n1", "new", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	read(t, f, "text n1 new")
}

// However a transcript is cut into reads, the same comes out.
func TestFollowerInPieces(t *testing.T) {
	var all strings.Builder
	var want []string
	for i := range 20 {
		text := strings.Repeat("é", i*i)
		all.WriteString(said(fmt.Sprint("m", i), text+".", i))
		want = append(want, fmt.Sprintf("text m%d %s.", i, text))
	}
	for _, size := range []int{1, 7, 100, 4096} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		f := transcript.NewFollower(path, 0)
		var got []string
		for rest := all.String(); rest != ""; {
			n := min(size, len(rest))
			appendTo(t, path, rest[:n])
			rest = rest[n:]
			events, err := f.Read()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, brief(events)...)
		}
		if !reflect.DeepEqual(got, want) || f.Usage().Output != 190 || f.Offset() != int64(all.Len()) {
			t.Errorf("size %d: %d events, usage %+v, offset %d of %d", size, len(got), f.Usage(), f.Offset(), all.Len())
		}
	}
}

func TestParseStream(t *testing.T) {
	parse := func(line string) transcript.Stream {
		t.Helper()
		s, err := transcript.ParseStream([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return s
	}
	if s := parse(`{"type":"system","subtype":"init","session_id":"s1","model":"opus","permissionMode":"bypassPermissions","tools":["Bash"],"cwd":"/w","new":1}`); s.Session != "s1" || s.Init == nil ||
		!reflect.DeepEqual(*s.Init, transcript.Init{Model: "opus", PermissionMode: "bypassPermissions", Dir: "/w", Tools: []string{"Bash"}}) {
		t.Errorf("init: %+v", s)
	}
	if s := parse(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}],"usage":{"output_tokens":1}},"parent_tool_use_id":"p","error":null}`); s.Parent != "p" || !reflect.DeepEqual(brief(s.Events), []string{"tool_use m Bash t {}"}) {
		t.Errorf("assistant: %+v", s)
	}
	if s := parse(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"hi","is_error":false}]},"tool_use_result":{"x":1}}`); !reflect.DeepEqual(brief(s.Events), []string{"tool_result t hi"}) {
		t.Errorf("user: %+v", s)
	}
	if s := parse(`{"type":"user","message":{"content":"hi"},"isReplay":true}`); !s.Replay || !reflect.DeepEqual(brief(s.Events), []string{"prompt hi"}) {
		t.Errorf("replay: %+v", s)
	}
	if s := parse(`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":525.5,"error_status":529,"error":"overloaded"}`); s.Retry == nil || *s.Retry != (transcript.Retry{Attempt: 1, MaxRetries: 10, DelayMS: 525.5, Status: 529, Error: "overloaded"}) {
		t.Errorf("retry: %+v", s.Retry)
	}
	if s := parse(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1700000000}}`); s.Limit == nil || s.Limit.Lifted().Unix() != 1700000000 {
		t.Errorf("limit: %+v", s.Limit)
	}
	for _, l := range []string{`{"status":"allowed_warning","resetsAt":1700000000}`, `{"status":"rejected"}`, `{"resetsAt":"soon"}`, `1`} {
		if s := parse(`{"type":"rate_limit_event","rate_limit_info":` + l + `}`); s.Limit == nil || !s.Limit.Lifted().IsZero() {
			t.Errorf("limit %s: %+v", l, s.Limit)
		}
	}
	if s := parse(`{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 x"}]},"error":"server_error"}`); s.Failure != "server_error" || !reflect.DeepEqual(brief(s.Events), []string{"request_failed API Error: 529 x"}) {
		t.Errorf("API error: %+v", s)
	}
	for line, completed := range map[string]bool{
		`{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed"}`:       true,
		`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error"}`:        false,
		`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"completed"}`:        false,
		`{"type":"result","subtype":"error_max_turns","is_error":false}`:                             false,
		`{"type":"result","subtype":"error_during_execution","terminal_reason":"aborted_streaming"}`: false,
		`{"type":"result","subtype":"success","is_error":false,"terminal_reason":"hook_stopped"}`:    false,
	} {
		if s := parse(line); s.Result == nil || s.Result.Completed() != completed {
			t.Errorf("%s: %+v", line, s.Result)
		}
	}
	s := parse(`{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529","num_turns":2,"terminal_reason":"api_error","total_cost_usd":0.5,"usage":{"input_tokens":200,"output_tokens":40,"cache_read_input_tokens":9},"modelUsage":{},"permission_denials":[{"tool_name":"Write"}],"api_error_status":529}`)
	if r := s.Result; r.Text != "API Error: 529" || r.Turns != 2 || r.APIStatus != 529 || r.CostUSD != 0.5 || r.Usage != (dag.Usage{Input: 200, Output: 40, CacheRead: 9}) || len(r.Denied) != 1 || r.Denied[0].Tool != "Write" {
		t.Errorf("result: %+v", r)
	}
	if s := parse(`{"type":"control_request","request_id":"U","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t"}}`); s.Request == nil || s.Request.ID != "U" || s.Request.Subtype != "can_use_tool" || s.Request.Tool != "Bash" || s.Request.ToolID != "t" || string(s.Request.Input) != `{"command":"ls"}` {
		t.Errorf("control request: %+v", s.Request)
	}
	if s := parse(`{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"still_queued":[]}}}`); s.Response == nil || s.Response.ID != "r1" || s.Response.Subtype != "success" || string(s.Response.Response) != `{"still_queued":[]}` {
		t.Errorf("control response: %+v", s.Response)
	}
	for _, skipped := range []string{`{"type":"stream_event","event":{"type":"x"}}`, `{"type":"system","subtype":"novel"}`, `{"type":"later","message":7,"usage":"x"}`, `{}`} {
		if s := parse(skipped); len(s.Events) > 0 || s.Init != nil || s.Retry != nil || s.Result != nil || s.Request != nil || s.Response != nil {
			t.Errorf("%s: %+v", skipped, s)
		}
	}
	if _, err := transcript.ParseStream([]byte("Warning: x")); err == nil {
		t.Error("no error for a line that is no JSON")
	}
}

// No line makes the parser panic, gives a negative count, or is returned twice by a new
// Follower.
func FuzzParseLine(f *testing.F) {
	f.Add([]byte(said("m", "x", 1)))
	f.Add([]byte(`{"type":"assistant","message":{"id":"m","content":{"type":"text"},"usage":{"input_tokens":-5}}}`))
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"content":[{"text":"x"}]}]}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := transcript.ParseLine(b)
		u := l.Usage
		if u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheCreate < 0 {
			t.Errorf("negative: %+v", u)
		}
		if err != nil && (len(l.Events) > 0 || u != (dag.Usage{})) {
			t.Errorf("an error with %+v", l)
		}
	})
}

// However a transcript arrives, it means the same: read in two parts, by one
// Follower or by another that goes on where the first stopped, it gives each
// event once and counts the same.
func FuzzFollower(f *testing.F) {
	whole := said("m", "a", 1) + said("m", "b", 5) + "no JSON\n" + said("", "c", 2)
	f.Add([]byte(whole), 10)
	f.Add([]byte(whole), len(said("m", "a", 1)))
	f.Add([]byte(whole+`{"type":"assistant"`), len(whole)+3)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		if cut < 0 || cut > len(b) || len(b) > 1<<16 {
			return
		}
		dir := t.TempDir()
		once, parts := filepath.Join(dir, "once.jsonl"), filepath.Join(dir, "parts.jsonl")
		put := func(path string, b []byte) {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		read := func(f *transcript.Follower) int {
			events, err := f.Read()
			if err != nil {
				t.Fatal(err)
			}
			return len(events)
		}
		put(once, b)
		put(parts, b[:cut])
		want := transcript.NewFollower(once, 0)
		n := read(want)
		first := transcript.NewFollower(parts, 0)
		early := read(first)
		second := transcript.NewFollower(parts, first.Offset())
		put(parts, b)
		if got := early + read(first); got != n {
			t.Errorf("%d events in two parts, want %d", got, n)
		}
		if got := early + read(second); got != n {
			t.Errorf("%d events with a new Follower, want %d", got, n)
		}
		for _, f := range []*transcript.Follower{first, second} {
			if f.Usage() != want.Usage() || f.Offset() != want.Offset() {
				t.Errorf("%+v up to %d, want %+v up to %d", f.Usage(), f.Offset(), want.Usage(), want.Offset())
			}
		}
	})
}

func FuzzParseStream(f *testing.F) {
	for _, s := range []string{
		`{"type":"result","subtype":"success","is_error":false,"usage":{"input_tokens":1}}`,
		`{"type":"control_request","request_id":1,"request":{"subtype":[]}}`,
		`{"type":"system","subtype":"init","tools":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := transcript.ParseStream(b)
		if err == nil && s.Result != nil && s.Result.Completed() && s.Result.IsError {
			t.Errorf("completed with an error: %+v", s.Result)
		}
	})
}

func BenchmarkFollower(b *testing.B) {
	path := filepath.Join(b.TempDir(), "s.jsonl")
	var text strings.Builder
	for i := range 2000 {
		text.WriteString(said(fmt.Sprint("m", i), strings.Repeat("x", 1000), i))
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	b.Run("read=all", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if _, err := transcript.NewFollower(path, 0).Read(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read=nothing-new", func(b *testing.B) {
		f := transcript.NewFollower(path, 0)
		for b.Loop() {
			if _, err := f.Read(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What fills the context window is what the last answer of the agent itself took in
// and gave; after a summary, what that left.
func TestContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	f := transcript.NewFollower(path, 0)
	const usage = `"usage":{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":7000,"cache_creation_input_tokens":300}}}`
	for _, c := range []struct {
		line string
		want transcript.Context
	}{
		{`{"type":"user","message":{"content":"x"}}`, transcript.Context{}},
		{`{"type":"assistant","message":{"id":"m1","model":"claude-a",` + usage, transcript.Context{Tokens: 7420, Model: "claude-a"}},
		{`{"type":"assistant","isSidechain":true,"message":{"id":"m2","model":"claude-b","usage":{"input_tokens":9}}}`, transcript.Context{Tokens: 7420, Model: "claude-a"}},
		{`{"type":"assistant","isApiErrorMessage":true,"message":{"id":"m3","model":"<synthetic>","usage":{"input_tokens":0}}}`, transcript.Context{Tokens: 7420, Model: "claude-a"}},
		{`{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"manual","preTokens":7420,"postTokens":900}}`, transcript.Context{Tokens: 900, Model: "claude-a"}},
		{`{"type":"system","subtype":"compact_boundary","compactMetadata":7}`, transcript.Context{Model: "claude-a"}},
	} {
		appendTo(t, path, c.line+"\n")
		if _, err := f.Read(); err != nil || f.Context() != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.line, f.Context(), err, c.want)
		}
	}
	if f.Switch(path + "2"); f.Context().Tokens != 0 {
		t.Error("another conversation is as full as the one before")
	}
}
