package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/stdio"
	"cmux/agents/records/event"
	"cmux/agents/records/unfinished"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
	"cmux/signals"
)

// lines are what the real program printed, shortened.
var lines = []string{
	`{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U","items":[],"status":"inProgress","error":null}}}`,
	`{"method":"item/started","params":{"item":{"type":"commandExecution","id":"c1","command":"/bin/bash -c 'touch b && echo B'","cwd":"/w","status":"inProgress","aggregatedOutput":null,"exitCode":null},"threadId":"T","turnId":"U"}}`,
	`{"method":"item/completed","params":{"item":{"type":"commandExecution","id":"c1","command":"/bin/bash -c \"exit 3\"","status":"failed","aggregatedOutput":"oh\n","exitCode":3},"threadId":"T","turnId":"U"}}`,
	`{"method":"item/completed","params":{"item":{"type":"userMessage","id":"m","content":[{"type":"text","text":"hello","text_elements":[]}]},"threadId":"T"}}`,
	`{"method":"item/completed","params":{"item":{"type":"reasoning","id":"r","summary":["first","then"],"content":[]},"threadId":"T"}}`,
	`{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m","text":"ok","phase":null},"threadId":"T"}}`,
	`{"method":"item/completed","params":{"item":{"type":"fileChange","id":"p","changes":[{"path":"/w/p.txt","kind":{"type":"add"},"diff":"hi\n"}],"status":"declined"},"threadId":"T"}}`,
	`{"method":"item/completed","params":{"item":{"type":"unheardOf","id":5},"threadId":"T"}}`,
	`{"method":"thread/tokenUsage/updated","params":{"threadId":"T","tokenUsage":{"total":{"totalTokens":30,"inputTokens":20,"cachedInputTokens":15,"outputTokens":10},"last":{"totalTokens":15}}}}`,
	`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"resetsAt":1795230520},"secondary":null}}}`,
	`{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"failed","error":{"message":"m","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":500}}}}}}`,
	`{"method":"item/commandExecution/requestApproval","id":0,"params":{"itemId":"c1","command":"/bin/bash -c 'x'","cwd":"/w","reason":"why"}}`,
}

func shown(t *testing.T, line string) string {
	t.Helper()
	m, err := stdio.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	n := parse(m)
	for _, e := range n.Item.events(m.Method == "item/completed") {
		b.WriteString(new(event.Printer).Lines(e))
	}
	return b.String()
}

func TestItems(t *testing.T) {
	for i, want := range []string{"", "* shell touch b && echo B\n", "  ! oh\n  | exit 3\n", "> hello\n", "~ first\n~ then\n", "ok\n", "  ! refused\n", ""} {
		if got := shown(t, lines[i]); got != want {
			t.Errorf("%s\nis shown as %q, want %q", lines[i], got, want)
		}
	}
}

// A field of another type leaves the others as they are.
func TestParseIsLenient(t *testing.T) {
	n := parse(stdio.Message{Params: json.RawMessage(`{"threadId":"T","turn":"what?","item":{"id":5},"cwd":"/w"}`)})
	if n.Thread != "T" || n.Dir != "/w" || n.Turn.ID != "" {
		t.Errorf("%+v", n)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzParse(f *testing.F) {
	for _, l := range lines {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := stdio.Parse(line)
		if err != nil {
			return
		}
		n := parse(m)
		for _, complete := range []bool{false, true} {
			for _, e := range n.Item.events(complete) {
				if s := new(event.Printer).Lines(e); strings.ContainsAny(s, "\x1b\x00\r") {
					t.Errorf("a terminal would obey %q", s)
				}
			}
		}
		if u := n.Usage.Total.usage(); u != u.AtLeast(dag.Usage{}) {
			t.Errorf("fewer than no tokens: %+v", u)
		}
		failure(n.Turn.Error, n.Limits.lifted(), time.Unix(1_800_000_000, 0))
	})
}

func TestFailure(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	hour := now.Add(time.Hour)
	for _, c := range []struct {
		err    string
		lifted time.Time
		kind   string
		until  time.Time
	}{
		{`{"message":"You've hit your usage limit. Try again in 1 hour.","codexErrorInfo":"usageLimitExceeded"}`, time.Time{}, "news.LimitMet", hour},
		{`{"message":"You've hit your usage limit.","codexErrorInfo":"usageLimitExceeded"}`, hour, "news.LimitMet", hour},
		{`{"message":"too much","codexErrorInfo":"usageLimitExceeded"}`, now.Add(-time.Hour), "news.LimitMet", time.Time{}},
		{`{"message":"exceeded retry limit, last status: 429 Too Many Requests","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}`, time.Time{}, "news.LimitMet", time.Time{}},
		{`{"message":"high demand","codexErrorInfo":"serverOverloaded"}`, time.Time{}, "news.Faltered", time.Time{}},
		{`{"message":"no","codexErrorInfo":"unauthorized"}`, time.Time{}, "news.Asked", time.Time{}},
		{`{"message":"unexpected status 401 Unauthorized","codexErrorInfo":"other"}`, time.Time{}, "news.Asked", time.Time{}},
		{`{"message":"what is this"}`, time.Time{}, "news.Faltered", time.Time{}},
		{`null`, time.Time{}, "news.Faltered", time.Time{}},
	} {
		var e *turnError
		if err := json.Unmarshal([]byte(c.err), &e); err != nil {
			t.Fatal(err)
		}
		got := failure(e, c.lifted, now)
		limit, _ := got.(news.LimitMet)
		said := "does not say why"
		if e != nil {
			said = e.text()
		}
		if kind := fmt.Sprintf("%T", got); kind != c.kind || !limit.Until.Equal(c.until) || !strings.Contains(fmt.Sprint(got), said) {
			t.Errorf("%s: %s %+v, want %s", c.err, kind, got, c.kind)
		}
	}
}

func TestAnswers(t *testing.T) {
	var asked []requestedAnswer
	if err := json.Unmarshal([]byte(`[{"id":"a","question":"?","options":[{"label":"left"},{"label":"right"}]},{"id":"b","question":"?","options":null}]`), &asked); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(answers(asked, []string{"right", "as you like"})); got != "map[a:map[answers:[right]] b:map[answers:[as you like]]]" {
		t.Error(got)
	}
}

// Hooks and configuration of the repository are not among what may be written.
func TestCommitting(t *testing.T) {
	base := t.TempDir()
	tree, common := filepath.Join(base, "tree"), filepath.Join(base, "repo", ".git")
	own := filepath.Join(common, "worktrees", "tree")
	for _, d := range []string{tree, own, filepath.Join(common, "objects"), filepath.Join(common, "refs"), filepath.Join(common, "hooks")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := committing(tree); len(got) != 0 {
		t.Errorf("without a repository: %q", got)
	}
	for name, content := range map[string]string{filepath.Join(tree, ".git"): "gitdir: ../repo/.git/worktrees/tree\n", filepath.Join(own, "commondir"): "../..\n"} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := committing(tree); !reflect.DeepEqual(got, []string{own, filepath.Join(common, "objects"), filepath.Join(common, "refs")}) {
		t.Errorf("%q", got)
	}
}

// What the agent itself is writing is shown until it is complete, and nothing of its
// sub-agents'.
func TestTextInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		if err := errors.Join(signals.Init(root), signals.MkdirAll(unfinished.Dir(root), 0o700)); err != nil {
			t.Fatal(err)
		}
		stage := &agent.Stage{Unfinished: unfinished.New(root, "design.ada"), Out: io.Discard, Lines: new(event.Printer), Tell: func(context.Context, ...news.Event) error { return nil }}
		defer stage.Unfinished.Close()
		a := &instance{thread: "T", tools: map[string]bool{}, commands: map[string]bool{}}
		a.Agent = stdio.NewAgent(stage, a, "", stdio.Options{})
		for _, step := range []struct{ line, want string }{
			{`{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"m","delta":"o"}}`, "o"},
			{`{"method":"item/agentMessage/delta","params":{"threadId":"another","turnId":"U","itemId":"x","delta":"x"}}`, "o"},
			{`{"method":"item/reasoning/summaryTextDelta","params":{"threadId":"T","turnId":"U","itemId":"r","delta":"y"}}`, "o"},
			{`{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"m","delta":"k"}}`, "ok"},
			{`{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"m","delta":7}}`, "ok"},
			{lines[5], ""},
		} {
			m, err := stdio.Parse([]byte(step.line))
			if err != nil {
				t.Fatal(err)
			}
			a.Handle(m)
			time.Sleep(unfinished.Every) // of the bubble's clock
			synctest.Wait()
			if p, err := unfinished.Read(filepath.Join(unfinished.Dir(root), "design.ada")); err != nil || p.Text != step.want {
				t.Errorf("%s: %q (%v), want %q", step.line, p.Text, err, step.want)
			}
		}
	})
}

// Where a resumed conversation stood is told beside the answer that it is
// resumed, and may be heard before it.
func TestUseOfAResumedConversation(t *testing.T) {
	use := func(input int64) breakdown { return breakdown{Input: input} }
	for _, entered := range []bool{false, true} {
		a := &instance{total: map[string]dag.Usage{}, before: map[string]dag.Usage{}}
		a.Agent = stdio.NewAgent(&agent.Stage{Conversation: "T", Counted: dag.Usage{Input: 700}}, a, "", stdio.Options{})
		if entered {
			a.thread = "T"
		}
		a.usage(notice{Thread: "T", Usage: tokenUsage{Total: use(1000), Last: use(900)}})
		a.thread, a.turn = "T", "U"
		a.usage(notice{Thread: "T", Usage: tokenUsage{Total: use(1050), Last: use(50)}})
		if want := (dag.Usage{Input: 350}); a.Used() != want {
			t.Errorf("entered %v: %+v, want %+v", entered, a.Used(), want)
		}
	}
}
