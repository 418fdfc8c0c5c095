package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func user(texts ...string) Message {
	m := Message{Role: "user"}
	for _, t := range texts {
		m.Blocks = append(m.Blocks, Block{Type: "text", Text: t})
	}
	return m
}

func said(text string) Message {
	return Message{Role: "assistant", Blocks: []Block{{Type: "text", Text: text}}}
}

func TestChoose(t *testing.T) {
	result := Message{Role: "user", Blocks: []Block{{Type: "tool_result", Text: "#script:b"}}}
	after := "Summary: #script:a@3:" + digest(said("kept"))
	for _, c := range []struct {
		name   string
		msgs   []Message
		script string
		turn   int
	}{
		{"none", []Message{user("hello")}, "", 0},
		{"begun", []Message{user("do #script:a")}, "a", 0},
		{"by text", []Message{user("implement JWT now")}, "b", 0},
		{"going on", []Message{user("#script:a"), said("x"), result, said("y"), user("checks failed")}, "a", 2},
		{"newest text", []Message{user("#script:a"), said("x"), user("now JWT"), said("y")}, "b", 1},
		{"newest block", []Message{user("#script:a", "now JWT")}, "b", 0},
		{"listed first", []Message{user("#script:b JWT #script:a")}, "a", 0},
		{"a longer name", []Message{user("#script:a"), said("x"), user("#script:a-b #script:ab")}, "a", 1},
		{"both names", []Message{user("#script:a-b, then #script:a.")}, "a", 0},
		{"unanswered and merged", []Message{user("#script:a", "go on")}, "a", 0},
		{"reminder", []Message{user("#script:a"), said("x"), user("<system-reminder>JWT\n</system-reminder>go on")}, "a", 1},
		{"other roles", []Message{{Role: "system", Blocks: user("JWT").Blocks}, user("#script:a")}, "a", 0},
		{"compacted", []Message{user(after), user("go on")}, "a", 3},
		{"compacted and on", []Message{user(after), user("go on"), said("new"), user("more")}, "a", 4},
		{"newest kept", []Message{user(after), said("older"), result, said("kept"), user("go on"), said("new")}, "a", 4},
	} {
		s, turn := choose([]Script{{Name: "a"}, {Name: "b", Match: "JWT"}}, Request{Messages: c.msgs})
		name := ""
		if s != nil {
			name = s.Name
		}
		if name != c.script || turn != c.turn {
			t.Errorf("%s: script %q turn %d, want %q turn %d", c.name, name, turn, c.script, c.turn)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := Parse("s.yaml", []byte(`
scripts:
  - name: auth
    match: JWT
    turns:
      - - thinking: a file is missing
        - tool: {name: Write, input: {file_path: a.txt, lines: [1, two]}}
      - - shell: git commit -m auth
        - report: it's done
        - blocked: no key
      - - fault: {status: 429, retry_after: 90s, limit: five_hour, reset: 2h, times: 2, header: {X-A: b}}
        - usage: {input: 1000, output: 50, cache_read: 900, cache_creation: 1}
        - hold: gate
        - text: "finished"
        - stop: max_tokens
    compact:
      - fault: {status: 500}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Script{{Name: "auth", Match: "JWT", Turns: []Turn{
		{Thinking("a file is missing"), ToolUse{"Write", map[string]any{"file_path": "a.txt", "lines": []any{1, "two"}}}},
		{Shell("git commit -m auth"), Shell(`cmux done -- 'it'\''s done'`), Shell("cmux blocked -- 'no key'")},
		{Fault{Status: 429, RetryAfter: 90 * time.Second, Limit: "five_hour", Reset: 2 * time.Hour, Times: 2, Header: map[string]string{"X-A": "b"}},
			Usage{1000, 50, 900, 1}, Hold("gate"), Text("finished"), StopReason("max_tokens")},
	}, Compact: Turn{ServerError}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	asJSON, err := Parse("s.json", []byte(`{"scripts":[{"name":"a","turns":[[{"text":"hello"}]]}]}`))
	if err != nil || !reflect.DeepEqual(asJSON, []Script{{Name: "a", Turns: []Turn{{Text("hello")}}}}) {
		t.Errorf("%+v, %v", asJSON, err)
	}
	for src, part := range map[string]string{
		"scripts: []":                                             "no scripts",
		"scripts: [{turns: []}]":                                  "script 1 has no name",
		"scripts: [{name: a, turn: []}]":                          "turn not found",
		"scripts: [{name: a, turns: [[{say: hello}]]}]":           `line 1: no step is written "say"`,
		"scripts: [{name: a, turns: [[{text: [a]}]]}]":            `no step is written "text"`,
		"scripts: [{name: a, turns: [[{text: a, shell: b}]]}]":    "one key",
		"scripts: [{name: a, turns: [[{fault: {state: 4}}]]}]":    "state not found",
		"scripts: [{name: a, turns: [[{usage: {input: many}}]]}]": "cannot unmarshal",
	} {
		if _, err := Parse("s.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), part) || !strings.HasPrefix(err.Error(), "s.yaml: ") {
			t.Errorf("%s: %v, want %q", src, err, part)
		}
	}
}

func TestResponsesTurns(t *testing.T) {
	call := func(id string) string {
		return `{"type":"function_call","call_id":"` + id + `","name":"exec_command","arguments":"{}"}`
	}
	output := func(id string) string { return `{"type":"function_call_output","call_id":"` + id + `","output":"ran"}` }
	const message = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`
	const prompt = `{"type":"message","role":"user","content":[{"type":"input_text","text":"do"}]}`
	for _, c := range []struct {
		name  string
		items []string
		turns int
	}{
		{"two texts", []string{prompt, message, prompt, message}, 2},
		{"text and call", []string{prompt, `{"type":"reasoning","summary":[]}`, message, call("call_A_1"), output("call_A_1")}, 1},
		{"calls, then results", []string{prompt, call("call_A_0"), call("call_A_1"), output("call_A_0"), output("call_A_1"), message}, 2},
		{"each with its result", []string{prompt, call("call_A_0"), output("call_A_0"), call("call_A_1"), output("call_A_1")}, 1},
		{"two answers", []string{prompt, call("call_A_0"), output("call_A_0"), call("call_B_0"), output("call_B_0")}, 2},
		{"text before the second", []string{prompt, call("call_A_0"), output("call_A_0"), message, call("call_B_1"), output("call_B_1")}, 2},
	} {
		r, err := parseResponses([]byte(`{"input":[`+strings.Join(c.items, ",")+`]}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := assistantTurns(r.Messages, ""); n != c.turns {
			t.Errorf("%s: %d turns, want %d: %+v", c.name, n, c.turns, r.Messages)
		}
	}
}

// ask sends a prompt as Claude Code does.
func ask(ctx context.Context, s *Server, stream bool, text string) (*http.Response, error) {
	body, err := json.Marshal(object{"model": "m", "stream": stream, "messages": []object{{"role": "user", "content": text}}})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/messages?beta=true", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

func answer(t *testing.T, s *Server, stream bool, text string) (*http.Response, string, error) {
	t.Helper()
	res, err := ask(t.Context(), s, stream, text)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res, string(b), err
}

func TestAnswersOverHTTP(t *testing.T) {
	s := New(t,
		Script{Name: "cut", Turns: []Turn{{Text("partial"), Cut}}},
		Script{Name: "late", Turns: []Turn{{Text("partial"), Overloaded}}},
		Script{Name: "limited", Turns: []Turn{{Fault{Status: 429, RetryAfter: 1500 * time.Millisecond, Header: map[string]string{"X-Own": "1"}}}}},
		Script{Name: "whole", Turns: []Turn{{Thinking("hm"), Text("said"), ToolUse{"Read", object{"file_path": "a"}}}}},
		Script{Name: "func", Turns: []Turn{{Func(func(r Request) Turn { return Turn{Text("asked: " + r.UserTexts()[0])} })}}},
	)
	if _, body, err := answer(t, s, true, "#script:cut"); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(body, "content_block_stop") || strings.Contains(body, "message_stop") {
		t.Errorf("cut: %v, %s", err, body)
	}
	if res, body, err := answer(t, s, true, "#script:late"); err != nil || res.StatusCode != 200 || !strings.Contains(body, "event: error\ndata: ") || !strings.Contains(body, "overloaded_error") {
		t.Errorf("late: %v, %s", err, body)
	}
	if res, body, _ := answer(t, s, true, "#script:limited"); res.StatusCode != 429 || res.Header.Get("Retry-After") != "2" || res.Header.Get("X-Own") != "1" || !strings.Contains(body, "rate_limit_error") {
		t.Errorf("limited: %v, %s", res.Header, body)
	}
	_, body, _ := answer(t, s, false, "#script:whole")
	var m struct {
		Content    []map[string]any
		StopReason string `json:"stop_reason"`
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || len(m.Content) != 3 || m.Content[1]["text"] != "said" || m.StopReason != "tool_use" {
		t.Errorf("whole: %v, %s", err, body)
	}
	if _, body, _ := answer(t, s, false, "#script:func"); !strings.Contains(body, "asked: #script:func") {
		t.Errorf("func: %s", body)
	}
	if res, body, _ := answer(t, s, true, "nothing"); res.StatusCode != 400 || !strings.Contains(body, "no script is marked") {
		t.Errorf("unmarked: %s", body)
	}
	if res, err := http.Get(s.URL + "/v1/models"); err != nil || res.StatusCode != 404 || strings.Join(s.Strays(), "") != "GET /v1/models" {
		t.Errorf("%v, strays %q", err, s.Strays())
	}
	if _, err := Serve("0.0.0.0:0"); err == nil {
		t.Error("serves beyond loopback")
	}
}

func TestHold(t *testing.T) {
	s := New(t, Script{Name: "h", Turns: []Turn{{Hold("g"), Text("released")}}})
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := ask(gone, s, true, "#script:h")
		left <- err
	}()
	s.WaitHeld(t, "g", 1)
	bodies := make(chan string, 2)
	for range 2 {
		go func() {
			var body []byte
			res, err := ask(t.Context(), s, true, "#script:h")
			if err == nil {
				body, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			bodies <- fmt.Sprint(string(body), err)
		}()
	}
	s.WaitHeld(t, "g", 3)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.wait(t, "the leaving", func() bool { return s.held["g"] == 2 })
	s.Release("g")
	s.Release("g")
	for range 2 {
		if b := <-bodies; !strings.HasSuffix(b, "<nil>") || !strings.Contains(b, "message_stop") {
			t.Error(b)
		}
	}
	if r := s.WaitFor(t, func(r Request) bool { return r.Seq == 3 }); r.Script != "h" {
		t.Errorf("%+v", r)
	}
}

func TestHalved(t *testing.T) {
	s := New(t, Script{Name: "h", Turns: []Turn{{Halved{"first and last", "g"}}}})
	res, err := ask(t.Context(), s, true, "#script:h")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var seen string
	buf := make([]byte, 1<<10)
	for !strings.Contains(seen, "first a") {
		n, err := res.Body.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen += string(buf[:n])
	}
	s.WaitHeld(t, "g", 1)
	if strings.Contains(seen, "nd last") || strings.Contains(seen, "content_block_stop") {
		t.Errorf("it goes on: %s", seen)
	}
	open, err := http.Post(s.URL+"/gates/g", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	open.Body.Close()
	rest, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(rest), "nd last") || strings.Count(string(rest), "content_block_stop") != 2 || len(s.Strays()) > 0 {
		t.Errorf("%v: %s", err, rest)
	}
}

func TestModeld(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "modeld")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./modeld").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	scripts, addr, env := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "addr"), filepath.Join(dir, "env")
	if err := os.WriteFile(scripts, []byte(`{"scripts": [{"name": "a", "turns": [[{"text": "hello"}]]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-scripts", scripts, "-addr-file", addr, "-home", filepath.Join(dir, "home"), "-env-file", env, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	at := make([]byte, 64)
	n, err := out.Read(at)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + strings.TrimSpace(string(at[:n]))
	if read(t, dir, "addr") != string(at[:n]) || !strings.Contains(read(t, dir, "env"), "export ANTHROPIC_BASE_URL='"+url+"'\n") {
		t.Errorf("printed %q, files %q and %q", at[:n], read(t, dir, "addr"), read(t, dir, "env"))
	}
	if _, body, _ := answer(t, &Server{URL: url}, true, "#script:a"); !strings.Contains(body, "message_stop") {
		t.Error(body)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
