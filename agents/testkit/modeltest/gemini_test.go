package modeltest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestGeminiTurns(t *testing.T) {
	const (
		prompt = `{"role":"user","parts":[{"text":"do #script:a"}]}`
		call   = `{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"id":"c1","name":"run_shell_command","args":{"command":"true"}}},{"functionCall":{"id":"c2","name":"glob","args":{}}}]}`
		result = `{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"output":"ran"}}},{"functionResponse":{"id":"c2","name":"glob","response":{"error":"no"}}}]}`
		answer = `{"role":"model","parts":[{"text":"so be it"}]}`
		tools  = `[{"functionDeclarations":[{"name":"run_shell_command"},{"name":"glob"}]}]`
	)
	for _, c := range []struct {
		contents []string
		tools    string
		turns    int
		results  int
		failed   int
	}{
		{[]string{prompt}, tools, 0, 0, 0},
		{[]string{prompt, call, result}, tools, 1, 2, 1},
		{[]string{prompt, call, result, answer, prompt, call, result}, tools, 3, 4, 2},
		{[]string{prompt}, "[]", 0, 0, 0},
	} {
		body := `{"systemInstruction":{"parts":[{"text":"be good"}]},"tools":` + c.tools + `,"contents":[` + strings.Join(c.contents, ",") + `]}`
		r, err := parseGemini([]byte(body), "m", true)
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for _, b := range r.ToolResults() {
			if b.IsError {
				failed++
			}
		}
		if n := assistantTurns(r.Messages, ""); n != c.turns || len(r.ToolResults()) != c.results || failed != c.failed || r.Aside != (c.tools == "[]") || r.System != "be good" || r.Model != "m" || r.UserTexts()[0] != "do #script:a" {
			t.Errorf("%q: %d turns, %+v", c.contents, n, r)
		}
	}
}

func TestGeminiAnswers(t *testing.T) {
	s := New(t, Script{Name: "a", Turns: []Turn{{Thinking("hm"), Text("hello there"), Shell("true"), Usage{Input: 7, Output: 11, CacheRead: 300}}}},
		Script{Name: "b", Turns: []Turn{{UsageLimit(0)}}}, Script{Name: "c", Turns: []Turn{{Text("half"), ServerError}}})
	ask := func(method, script, tools string) (int, string) {
		body := `{"contents":[{"role":"user","parts":[{"text":"#script:` + script + `"}]}]` + tools + `}`
		res, err := http.Post(s.URL+"/v1beta/models/m:"+method, "application/json", strings.NewReader(body))
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
	const tools, streamed = `,"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}]`, "streamGenerateContent?alt=sse"
	type answer struct {
		Candidates []struct {
			Finish  string `json:"finishReason"`
			Content struct{ Parts []geminiPart }
		}
		Usage struct {
			Prompt     int `json:"promptTokenCount"`
			Candidates int `json:"candidatesTokenCount"`
		} `json:"usageMetadata"`
	}
	check := func(how string, pieces ...string) {
		var text, thought, command, finish string
		in, out := 0, 0
		for _, piece := range pieces {
			var a answer
			if err := json.Unmarshal([]byte(piece), &a); err != nil {
				t.Fatalf("%s: %v: %s", how, err, piece)
			}
			for _, c := range a.Candidates {
				finish += c.Finish
				for _, p := range c.Content.Parts {
					switch b := p.block(); b.Type {
					case "tool_use":
						command += b.Name + b.Input
					case "thinking":
						thought += b.Text
					default:
						text += b.Text
					}
				}
			}
			in, out = in+a.Usage.Prompt, out+a.Usage.Candidates
		}
		if text != "hello there" || thought != "hm" || !strings.HasPrefix(command, `run_shell_command{"command":"true"`) || in != 307 || out != 11 || finish != "STOP" {
			t.Errorf("%s: %q, %q, %q, %d in, %d out, %s", how, text, thought, command, in, out, finish)
		}
	}
	_, all := ask(streamed, "a", tools)
	var pieces []string
	for l := bufio.NewScanner(strings.NewReader(all)); l.Scan(); {
		if data, ok := strings.CutPrefix(l.Text(), "data: "); ok {
			pieces = append(pieces, data)
		}
	}
	check("streamed", pieces...)
	_, whole := ask("generateContent", "a", tools)
	check("whole", whole)
	if code, limited := ask(streamed, "b", tools); code != 429 || !strings.Contains(limited, "RESOURCE_EXHAUSTED") || !strings.Contains(limited, "PerDay") {
		t.Errorf("%d: %s", code, limited)
	}
	if code, cut := ask(streamed, "c", tools); code != 200 || !strings.Contains(cut, `data: {"error":`) {
		t.Errorf("%d: %s", code, cut)
	}
	if _, title := ask("generateContent", "b", ""); !strings.Contains(title, "a conversation") {
		t.Error(title)
	}
	if code, count := ask("countTokens", "a", ""); code != 200 || !strings.Contains(count, `"totalTokens":`) {
		t.Errorf("%d: %s", code, count)
	}
	if code, _ := ask("embedContent", "a", ""); code != 404 || len(s.Strays()) != 1 {
		t.Errorf("%d, %q", code, s.Strays())
	}
}
