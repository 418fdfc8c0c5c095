package acp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/stdio"
	"cmux/dag"
)

func TestUsage(t *testing.T) {
	for said, want := range map[string]dag.Usage{
		// Qwen Code counts what it read from a cache as input, OpenCode does not.
		`{"inputTokens":120,"outputTokens":20,"totalTokens":140,"thoughtTokens":0,"cachedReadTokens":30}`: {Input: 90, Output: 20, CacheRead: 30},
		`{"inputTokens":90,"outputTokens":20,"totalTokens":140,"cachedReadTokens":30}`:                    {Input: 90, Output: 20, CacheRead: 30},
		`{"inputTokens":90,"outputTokens":20,"totalTokens":110}`:                                          {Input: 90, Output: 20},
		// Thoughts beside the output, within it, and beside it with a cache in the input.
		`{"inputTokens":90,"outputTokens":20,"totalTokens":180,"thoughtTokens":40,"cachedReadTokens":30}`:  {Input: 90, Output: 60, CacheRead: 30},
		`{"inputTokens":90,"outputTokens":60,"totalTokens":180,"thoughtTokens":40,"cachedReadTokens":30}`:  {Input: 90, Output: 60, CacheRead: 30},
		`{"inputTokens":120,"outputTokens":20,"totalTokens":180,"thoughtTokens":40,"cachedReadTokens":30}`: {Input: 90, Output: 60, CacheRead: 30},
		`{"inputTokens":120,"outputTokens":60,"totalTokens":180,"thoughtTokens":40,"cachedReadTokens":30}`: {Input: 90, Output: 60, CacheRead: 30},
		`{"inputTokens":90,"outputTokens":20,"totalTokens":150,"thoughtTokens":40}`:                        {Input: 90, Output: 60},
		`{"inputTokens":90,"outputTokens":60,"totalTokens":150,"thoughtTokens":40}`:                        {Input: 90, Output: 60},
		`{"inputTokens":-9,"outputTokens":-2,"totalTokens":0}`:                                             {},
	} {
		var u sdk.Usage
		if err := json.Unmarshal([]byte(said), &u); err != nil {
			t.Fatal(err)
		}
		if got := usage(u); got != want {
			t.Errorf("%s: %+v, want %+v", said, got, want)
		}
	}
}

// TestFailure: what Gemini CLI hands on of the API's answers is read as what the
// others say of them.
func TestFailure(t *testing.T) {
	for said, want := range map[string]news.Event{
		`{"code":400,"message":"{\"error\":{\"code\":400,\"message\":\"no such thing\"}}"}`: news.Faltered{Text: "API error 400: no such thing", Lasting: true},
		`{"code":-32603,"message":"Internal error","data":{"details":"400 no such thing"}}`: news.Faltered{Text: "Internal error: 400 no such thing", Lasting: true},
	} {
		var e stdio.Error
		if err := json.Unmarshal([]byte(said), &e); err != nil {
			t.Fatal(err)
		}
		if got := failure(&e, time.Now()); got != want {
			t.Errorf("%s: %+v, want %+v", said, got, want)
		}
	}
}

// TestPlace: where a command is to run, and whether that is known.
func TestPlace(t *testing.T) {
	for input, want := range map[string]struct {
		dir   string
		known bool
	}{
		``: {"/d", false}, `{}`: {"/d", false}, `"x"`: {"/d", false}, `{"command":"x"}`: {"/d", true}, `{"command":"x","description":"y","timeout":5,"is_background":true}`: {"/d", true},
		`{"command":"x","workdir":"/e"}`: {"/e", true}, `{"command":"x","dir_path":"sub"}`: {"/d/sub", true}, `{"command":"x","cwd":"../e"}`: {"/e", true}, `{"command":"x","directory":null,"cwd":""}`: {"/d", true},
		`{"command":"x","cwd":"/e","workdir":"/f"}`: {"", false}, `{"command":"x","cwd":5}`: {"/d", false}, `{"command":"x","folder":"/e"}`: {"/d", false}, `{"command":"x","env":{"A":"1"}}`: {"/d", false},
		`{"command":"x","cwd":"~/e"}`: {"/d", false}, `{"command":"x","cwd":"$HOME"}`: {"/d", false}, `{"command":"x","sandbox":false}`: {"/d", true},
	} {
		c := call{kind: sdk.ToolKindExecute, input: json.RawMessage(input), whole: true}
		if dir, known := c.place("/d"); known != want.known || want.dir != "" && dir != want.dir {
			t.Errorf("%s: %s, %v", input, dir, known)
		}
		if asked := c.asked("/d"); want.dir != "" && strings.HasPrefix(asked, "run: ") != (want.dir == "/d") {
			t.Errorf("%s: a person is asked: %s", input, asked)
		}
		if c.whole = false; !c.judged("/d").Unplaced {
			t.Errorf("%s: believed of a program that does not tell all", input)
		}
	}
	// Gemini CLI, in requests for leave.
	for content, want := range map[string]bool{
		`[{"type":"content","content":{"type":"text","text":"[current working directory /d] (look)"}}]`:        true,
		`[{"type":"content","content":{"type":"text","text":"[in /d/src] ([current working directory /d])"}}]`: false,
		`[{"type":"content","content":{"type":"text","text":"[in [current working directory /d]"}}]`:           false,
		`[]`: false, `"[current working directory /d]"`: false,
		`[{"content":{"text":"[current working directory /d]"}},{"content":{"text":"[in /e]"}}]`: false,
	} {
		u := update{Content: json.RawMessage(content)}
		c := call{kind: sdk.ToolKindExecute, title: "git status", here: u.here()}
		if c.judged("/d").Unplaced == want {
			t.Errorf("%s: known is %v", content, !want)
		}
		if c.input = json.RawMessage(`{"dir_path":"/e"}`); !c.judged("/d").Unplaced {
			t.Errorf("%s: believed beside an input", content)
		}
	}
}

// TestJudged: what a call is judged as, from the updates of the real programs.
func TestJudged(t *testing.T) {
	for _, c := range []struct {
		updates     []string
		tool, input string
		dir         string
	}{
		{[]string{`{"toolCallId":"1","title":"Shell","kind":"execute","rawInput":{},"_meta":{"toolName":"run_shell_command"}}`,
			`{"toolCallId":"1","title":"git stash (run)","kind":"execute","rawInput":{"command":"git stash","is_background":false}}`},
			"shell", `{"command":"git stash"}`, "/d"},
		{[]string{`{"toolCallId":"1","title":"bash","kind":"execute","rawInput":{"command":"bash -c 'git stash'","cwd":"/e"}}`},
			// As it is: programs take a shell around it off in ways of their own.
			"shell", `{"command":"bash -c 'git stash'"}`, "/e"},
		{[]string{`{"toolCallId":"1","title":"git stash","kind":"execute"}`}, "shell", `{"command":"git stash"}`, "/d"},
		{[]string{`{"toolCallId":"1","title":"write","kind":"edit","content":[{"type":"diff","path":"/d/a","oldText":null,"newText":"x"}]}`},
			"edit", `{"changes":[{"path":"/d/a"}]}`, "/d"},
		{[]string{`{"toolCallId":"1","title":"edit","kind":"edit","rawInput":{"filePath":"b"},"locations":[{"path":"/d/b"}]}`},
			"edit", `{"changes":[{"path":"/d/b"},{"path":"b"}]}`, "/d"},
		{[]string{`{"toolCallId":"1","title":"read","kind":"read","rawInput":{"absolute_path":"/x"}}`}, "read", `{"file_path":"/x"}`, "/d"},
		{[]string{`{"toolCallId":"1","title":"something","kind":"other","rawInput":{"a":1}}`}, "other", `{"a":1}`, "/d"},
		{[]string{`{"toolCallId":"1","title":5,"kind":["execute"],"rawInput":"x"}`}, "", `"x"`, "/d"},
	} {
		var got call
		for _, said := range c.updates {
			var u update
			if err := json.Unmarshal([]byte(said), &u); err != nil {
				t.Fatal(err)
			}
			got.take(u)
		}
		if g := got.judged("/d"); g.Tool != c.tool || string(g.Input) != c.input || g.Dir != c.dir {
			t.Errorf("%s: judged as %s %s in %s", c.updates, g.Tool, g.Input, g.Dir)
		}
	}
}
