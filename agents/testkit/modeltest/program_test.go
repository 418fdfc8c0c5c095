package modeltest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program runs one of the agent programs to its end.
func program(t *testing.T, h *Home, dir, name string, args ...string) (stdout string, code int) {
	t.Helper()
	cmd := command(t, h, dir, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s %q: exit %d\n%s\n%s", filepath.Base(name), args, cmd.ProcessState.ExitCode(), out.String(), errs.String())
		}
	})
	return out.String(), cmd.ProcessState.ExitCode()
}

func command(t *testing.T, h *Home, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, h.Env
	// Killed at once, Claude Code would leave its shells behind, and Codex, a
	// child of node, itself.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// line is what the tests read of a line of stream-json or of codex exec --json.
type line struct {
	Type           string         `json:"type"`
	Subtype        string         `json:"subtype"`
	IsError        bool           `json:"is_error"`
	Result         string         `json:"result"`
	TerminalReason string         `json:"terminal_reason"`
	Status         int            `json:"api_error_status"`
	SessionID      string         `json:"session_id"`
	ThreadID       string         `json:"thread_id"`
	Usage          map[string]any `json:"usage"`
	RateLimit      struct {
		Status   string
		ResetsAt int64
	} `json:"rate_limit_info"`
	Message struct {
		Content json.RawMessage
	} `json:"message"`
	Item struct {
		Type     string
		Text     string
		Output   string `json:"aggregated_output"`
		ExitCode int    `json:"exit_code"`
	} `json:"item"`
	Error struct {
		Message string
	} `json:"error"`
}

func lines(t *testing.T, out string) []line {
	t.Helper()
	var all []line
	for l := range strings.Lines(out) {
		all = append(all, decode(t, l))
	}
	return all
}

func decode(t *testing.T, s string) line {
	t.Helper()
	// The shapes of message and error vary with the type of the line.
	var head struct {
		Type string `json:"type"`
	}
	var l line
	if err := json.Unmarshal([]byte(s), &head); err != nil {
		t.Fatalf("%v: %q", err, s)
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal([]byte(s), &l); err != nil && !errors.As(err, &wrong) {
		t.Fatalf("%v: %q", err, s)
	}
	return l
}

// last is the last line of the type.
func last(t *testing.T, all []line, kind string) line {
	t.Helper()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Type == kind {
			return all[i]
		}
	}
	t.Fatalf("no line of type %s", kind)
	return line{}
}

// streamJSON are the flags of a Claude Code that prints what it does.
var streamJSON = []string{"-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"}

func claude(t *testing.T, h *Home, dir string, args ...string) ([]line, int) {
	t.Helper()
	out, code := program(t, h, dir, Claude(t), append(append([]string(nil), streamJSON...), args...)...)
	return lines(t, out), code
}

func codex(t *testing.T, h *Home, dir string, args ...string) ([]line, int) {
	t.Helper()
	out, code := program(t, h, dir, Codex(t), append([]string{"exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox"}, args...)...)
	return lines(t, out), code
}

func succeeded(t *testing.T, all []line, code int, result string) line {
	t.Helper()
	r := last(t, all, "result")
	if code != 0 || r.Subtype != "success" || r.IsError || r.TerminalReason != "completed" || r.Result != result {
		t.Fatalf("exit %d, %+v; want a success with %q", code, r, result)
	}
	return r
}

func TestClaudeAnswers(t *testing.T) {
	t.Parallel()
	s := New(t, Script{Name: "hello", Turns: []Turn{{Thinking("a greeting is due"), Text("hello there"),
		Usage{Input: 7, Output: 11, CacheRead: 300, CacheCreation: 40}}}})
	dir := t.TempDir()
	all, code := claude(t, Env(t, s, dir), dir, "do #script:hello")
	r := succeeded(t, all, code, "hello there")
	for name, want := range map[string]float64{"input_tokens": 7, "output_tokens": 11, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 40} {
		if r.Usage[name] != want {
			t.Errorf("%s %v, want %v", name, r.Usage[name], want)
		}
	}
	thought := false
	for _, l := range all {
		thought = thought || l.Type == "assistant" && strings.Contains(string(l.Message.Content), `"thinking":"a greeting is due"`)
	}
	if !thought {
		t.Error("the thinking was not shown")
	}
	if n := len(s.Requests()); n != 1 {
		t.Fatalf("%d requests, want 1", n)
	}
	q := s.Requests()[0]
	if q.Script != "hello" || q.Turn != 0 || q.Protocol != Messages || q.Session != r.SessionID || q.Model == "" ||
		!strings.Contains(q.System, "Claude") || !strings.Contains(strings.Join(q.Tools, " "), "Bash") || q.UserTexts()[0] != "do #script:hello" {
		t.Errorf("recorded %q turn %d, session %q, model %q, tools %v, texts %q", q.Script, q.Turn, q.Session, q.Model, q.Tools, q.UserTexts())
	}
	if strays := s.Strays(); len(strays) > 0 {
		t.Logf("also asked for: %q", strays)
	}
}

func TestClaudeRunsTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := New(t, Script{Name: "work", Turns: []Turn{
		{Text("first the file"), ToolUse{"Write", map[string]string{"file_path": filepath.Join(dir, "a.txt"), "content": "written\n"}}},
		{Shell("cat a.txt; echo more >b.txt")},
		{Text("finished")},
	}})
	all, code := claude(t, Env(t, s, dir), dir, "do #script:work")
	succeeded(t, all, code, "finished")
	if a, b := read(t, dir, "a.txt"), read(t, dir, "b.txt"); a != "written\n" || b != "more\n" {
		t.Errorf("a.txt %q, b.txt %q", a, b)
	}
	rs := s.Requests()
	if len(rs) != 3 || rs[2].Turn != 2 {
		t.Fatalf("%d requests, want 3", len(rs))
	}
	if results := rs[2].ToolResults(); len(results) != 2 || strings.TrimSpace(results[1].Text) != "written" {
		t.Errorf("the shell's result arrived as %+v", results)
	}
}

// In its auto mode the program asks the server what a tool call may do, and runs no
// command of which it learns nothing.
func TestClaudeAutoMode(t *testing.T) {
	t.Parallel()
	for _, judges := range []bool{true, false} {
		dir := t.TempDir()
		s := New(t, Script{Name: "work", Judges: judges, Turns: []Turn{{Shell("python3 -c 'open(\"made\", \"w\")'")}, {Text("finished")}}})
		out, code := program(t, Env(t, s, dir), dir, Claude(t), "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "auto", "do #script:work")
		succeeded(t, lines(t, out), code, "finished")
		if _, err := os.Stat(filepath.Join(dir, "made")); (err == nil) != judges {
			t.Errorf("judges %t: %v", judges, err)
		}
		if rs := s.Requests(); len(rs) != 2 {
			t.Errorf("judges %t: %d requests, want 2", judges, len(rs))
		}
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func TestClaudeMeetsFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		fault    Fault
		requests int
		status   int
		reason   string
		says     string
	}{
		{"429", RateLimited, 2, 429, "api_error", "Request rejected (429)"},
		{"500", ServerError, 2, 500, "api_error", "API Error: 500 Internal server error"},
		{"529", Overloaded, 2, 529, "api_error", "API Error: 529 Overloaded"},
		{"401", Unauthorized, 2, 401, "api_error", "Invalid API key"},
		{"long", PromptTooLong, 1, 400, "prompt_too_long", "Prompt is too long"},
		{"cut", Cut, 2, 0, "api_error", "Connection dropped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := New(t, Script{Name: "f", Turns: []Turn{{c.fault, Text("no fault")}}})
			dir := t.TempDir()
			all, code := claude(t, Env(t, s, dir), dir, "do #script:f")
			r := last(t, all, "result")
			if code != 1 || r.Subtype != "success" || !r.IsError || r.Status != c.status || r.TerminalReason != c.reason || !strings.Contains(r.Result, c.says) {
				t.Errorf("exit %d, %+v; want status %d, %s, %q", code, r, c.status, c.reason, c.says)
			}
			if n := len(s.Requests()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

func TestClaudeRecovers(t *testing.T) {
	t.Parallel()
	s := New(t, Script{Name: "f", Turns: []Turn{
		{Fault{Status: 429, RetryAfter: time.Second, Times: 1}, Shell("true")},
		{Fault{Times: 1}, Text("recovered")},
	}})
	dir := t.TempDir()
	all, code := claude(t, Env(t, s, dir), dir, "do #script:f")
	succeeded(t, all, code, "recovered")
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests, want each of 2 turns twice", n)
	}
}

func TestClaudeUsageLimit(t *testing.T) {
	t.Parallel()
	s := New(t, Script{Name: "stated", Turns: []Turn{{UsageLimit(2 * time.Hour)}}}, Script{Name: "open", Turns: []Turn{{UsageLimit(0)}}})
	dir := t.TempDir()
	h := Env(t, s, dir)
	h.Subscribe()
	for _, name := range []string{"stated", "open"} {
		before := time.Now()
		all, code := claude(t, h, dir, "do #script:"+name)
		r, limit := last(t, all, "result"), last(t, all, "rate_limit_event").RateLimit
		if code != 1 || !r.IsError || r.Status != 429 || !strings.HasPrefix(r.Result, "You've hit your 5-hour limit") || limit.Status != "rejected" {
			t.Errorf("%s: exit %d, %+v, %+v", name, code, r, limit)
		}
		at := time.Unix(limit.ResetsAt, 0)
		if stated := limit.ResetsAt != 0; stated != (name == "stated") || stated && (at.Before(before.Add(2*time.Hour)) || at.After(time.Now().Add(2*time.Hour+time.Second))) {
			t.Errorf("%s: lifted at %v, asked at %v", name, at, before)
		}
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests: a usage limit was tried again", n)
	}
}

// conversation is a Claude Code that takes its prompts from standard input.
type conversation struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func converse(t *testing.T, h *Home, dir string, args ...string) *conversation {
	t.Helper()
	cmd := command(t, h, dir, Claude(t), append(append([]string{"--input-format", "stream-json"}, streamJSON...), args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, out)
		cmd.Wait()
	})
	return &conversation{t, in, bufio.NewReader(out), cmd}
}

func (c *conversation) send(v any) {
	c.t.Helper()
	if err := json.NewEncoder(c.in).Encode(v); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) prompt(text string) {
	c.t.Helper()
	c.send(object{"type": "user", "message": object{"role": "user", "content": text}})
}

// until reads to the first line that contains all of the parts.
func (c *conversation) until(parts ...string) line {
	c.t.Helper()
	for {
		s, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatalf("%v before a line with %q", err, parts)
		}
		found := true
		for _, p := range parts {
			found = found && strings.Contains(s, p)
		}
		if found {
			return decode(c.t, s)
		}
	}
}

func TestClaudeConversation(t *testing.T) {
	t.Parallel()
	s := New(t,
		Script{Name: "first", Turns: []Turn{{Text("one")}, {Text("two")}}},
		Script{Name: "slow", Turns: []Turn{{Text("begun"), Hold("never"), Text("unheard")}}},
		Script{Name: "broken", Turns: []Turn{{Text("said before"), Hold("cut"), Cut}, {Text("said after")}}},
	)
	dir := t.TempDir()
	c := converse(t, Env(t, s, dir), dir, "--include-partial-messages")
	c.prompt("do #script:first")
	if r := c.until(`"type":"result"`); r.Result != "one" {
		t.Errorf("%+v", r)
	}
	c.prompt("and further")
	if r := c.until(`"type":"result"`); r.Result != "two" {
		t.Errorf("%+v", r)
	}

	c.prompt("do #script:slow")
	s.WaitHeld(t, "never", 1)
	c.send(object{"type": "control_request", "request_id": "r1", "request": object{"subtype": "interrupt"}})
	if r := c.until(`"type":"result"`); r.Subtype != "error_during_execution" || r.TerminalReason != "aborted_streaming" {
		t.Errorf("%+v", r)
	}
	s.wait(t, "the end of the interrupted answer", func() bool { return s.held["never"] == 0 })

	// What was said before a cut is kept, when the program has read it, and the model is asked to go on.
	c.prompt("do #script:broken")
	c.until("content_block_stop")
	s.Release("cut")
	if r := c.until(`"type":"result"`); r.Result != "said after" {
		t.Errorf("%+v", r)
	}
	if q := s.Requests()[len(s.Requests())-1]; q.Turn != 1 || !strings.Contains(q.UserTexts()[0], "cut off mid-stream") {
		t.Errorf("after the cut turn %d, %q", q.Turn, q.UserTexts())
	}
	c.in.Close()
	io.Copy(io.Discard, c.out)
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestClaudeResumesAndCompacts(t *testing.T) {
	t.Parallel()
	s := New(t, Script{Name: "long", Turns: []Turn{{Text("zero")}, {Text("one")}, {Text("two")}, {Text("three")}}})
	dir := t.TempDir()
	h := Env(t, s, dir)
	const id = "11111111-2222-4333-8444-555555555555"
	all, code := claude(t, h, dir, "--session-id", id, "do #script:long")
	succeeded(t, all, code, "zero")
	all, code = claude(t, h, dir, "--resume", id, "go on")
	succeeded(t, all, code, "one")
	if _, code = claude(t, h, dir, "--resume", id, "/compact"); code != 0 {
		t.Fatalf("compaction: exit %d", code)
	}
	all, code = claude(t, h, dir, "--resume", id, "go on")
	succeeded(t, all, code, "two")
	rs := s.Requests()
	if len(rs) != 4 || !rs[2].Compaction() || rs[3].Compaction() {
		t.Fatalf("%d requests, want 4 with the third a compaction", len(rs))
	}
	for _, r := range rs {
		if r.Session != id {
			t.Errorf("request %d is of session %q", r.Seq, r.Session)
		}
		if r.Seq == 4 && strings.Contains(string(r.Body), `"zero"`) {
			t.Error("the conversation was not compacted")
		}
	}
}
