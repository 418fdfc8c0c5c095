package modeltest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestChatTurns(t *testing.T) {
	const (
		system = `{"role":"system","content":"be good"}`
		prompt = `{"role":"user","content":[{"type":"text","text":"do #script:a"}]}`
		call   = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}`
		result = `{"role":"tool","tool_call_id":"c1","content":"ran"},{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"ran too"}]}`
		answer = `{"role":"assistant","content":"so be it"}`
		tools  = `[{"type":"function","function":{"name":"bash"}}]`
	)
	for _, c := range []struct {
		messages []string
		tools    string
		turns    int
		results  int
		aside    bool
	}{
		{[]string{system, prompt}, tools, 0, 0, false},
		{[]string{system, prompt, call, result}, tools, 1, 2, false},
		{[]string{system, prompt, call, result, answer, prompt, call, result}, tools, 3, 4, false},
		{[]string{system, prompt}, "[]", 0, 0, true},
	} {
		r, err := parseChat([]byte(`{"model":"m","stream":true,"tools":`+c.tools+`,"messages":[`+strings.Join(c.messages, ",")+`]}`), http.Header{"X-Session-Id": {"s"}})
		if err != nil {
			t.Fatal(err)
		}
		if n := assistantTurns(r.Messages, ""); n != c.turns || len(r.ToolResults()) != c.results || r.Aside != c.aside || r.System != "be good" || r.Session != "s" || r.UserTexts()[0] != "do #script:a" {
			t.Errorf("%q: %d turns, %+v", c.messages, n, r)
		}
	}
}

func TestChatAnswers(t *testing.T) {
	s := New(t, Script{Name: "a", Turns: []Turn{{Thinking("hm"), Text("hello there"), Shell("true"), Usage{Input: 7, Output: 11, CacheRead: 300}}}},
		Script{Name: "b", Turns: []Turn{{RateLimited}}}, Script{Name: "c", Turns: []Turn{{Text("half"), ServerError}}})
	ask := func(body string) (int, string) {
		res, err := http.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	about := func(script, more string) string {
		return `{"model":"m","messages":[{"role":"user","content":"#script:` + script + `"}]` + more + `}`
	}
	const tools = `,"tools":[{"function":{"name":"run_shell_command"}}]`
	_, streamed := ask(about("a", tools+`,"stream":true`))
	var text, thought, command string
	var used struct{ Prompt, Completion int }
	for l := bufio.NewScanner(strings.NewReader(streamed)); l.Scan(); {
		data, ok := strings.CutPrefix(l.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c struct {
			Choices []struct {
				Delta struct {
					Content   string
					Reasoning string `json:"reasoning_content"`
					Calls     []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
			Usage struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err)
		}
		for _, o := range c.Choices {
			text, thought = text+o.Delta.Content, thought+o.Delta.Reasoning
			for _, call := range o.Delta.Calls {
				command += call.Function.Name + call.Function.Arguments
			}
		}
		used.Prompt, used.Completion = used.Prompt+c.Usage.Prompt, used.Completion+c.Usage.Completion
	}
	if text != "hello there" || thought != "hm" || !strings.HasPrefix(command, `run_shell_command{"command":"true"`) || used.Prompt != 307 || used.Completion != 11 || !strings.HasSuffix(streamed, "data: [DONE]\n\n") {
		t.Errorf("%q, %q, %q, %+v:\n%s", text, thought, command, used, streamed)
	}
	if code, whole := ask(about("a", tools)); code != 200 || !strings.Contains(whole, `"content":"hello there"`) || !strings.Contains(whole, "run_shell_command") {
		t.Errorf("%d: %s", code, whole)
	}
	if code, limited := ask(about("b", tools+`,"stream":true`)); code != 429 || !strings.Contains(limited, "rate_limit_exceeded") {
		t.Errorf("%d: %s", code, limited)
	}
	if code, cut := ask(about("c", tools+`,"stream":true`)); code != 200 || !strings.Contains(cut, `data: {"error":`) {
		t.Errorf("%d: %s", code, cut)
	}
	// What has no tools is asked beside a conversation, and no turn of it.
	if _, title := ask(about("b", "")); !strings.Contains(title, "a conversation") {
		t.Error(title)
	}
}
