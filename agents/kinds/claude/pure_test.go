package claude

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/handover"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
)

var update = flag.Bool("update", false, "rewrite testdata")

func TestSettings(t *testing.T) {
	got, err := composeSettings("/r un/it's/bin/cmux", 20*time.Minute, "/r un/tree", "/r un/a/prompt-1.md", "/r un/journal/")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "settings.json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("%s differs; review with -update and git diff:\n%s", file, got)
	}
}

// Published code may be read without a question, and nothing beside it.
func TestLibraries(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"go/bin", "go/src"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go/bin/go"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	usual := libraries(nil)
	for _, c := range []struct {
		env  []string
		want []string
	}{
		{[]string{"HOME=/h"}, []string{"/h/go/pkg/mod/", "/h/.cargo/registry/src/", "/h/.rustup/toolchains/", "/h/.pyenv/versions/", "/h/.nvm/versions/"}},
		{[]string{"PATH=" + dir + "/go/bin"}, []string{dir + "/go/src/"}},
		{[]string{"GOMODCACHE=/m", "GOPATH=/g"}, []string{"/m/"}},
		{[]string{"GOPATH=/g", "CARGO_HOME=/c"}, []string{"/g/pkg/mod/", "/c/registry/src/"}},
		{[]string{"GOMODCACHE=/", "CARGO_HOME=relative", "NVM_DIR=/a*"}, nil},
		{[]string{"GOMODCACHE=/x/../.."}, nil},
	} {
		if got := libraries(c.env)[len(usual):]; !slices.Equal(got, c.want) {
			t.Errorf("with %q: %q, want %q", c.env, got, c.want)
		}
	}
}

func TestArgs(t *testing.T) {
	for _, c := range []struct {
		s    start
		want string
	}{
		{start{Settings: "/s", Servers: "/m", Session: "ID", Prompt: "-p; do\nit"},
			"--settings /s --mcp-config /m --session-id ID --disallowedTools EnterPlanMode EnterWorktree ExitWorktree -- -p; do\nit"},
		{start{Settings: "/s", Servers: "/m", Session: "ID", Resume: true, Model: "opus", Bypass: true, Review: true, Prompt: "x"},
			"--settings /s --mcp-config /m --resume ID --model opus --dangerously-skip-permissions --disallowedTools EnterPlanMode EnterWorktree ExitWorktree Write Edit MultiEdit NotebookEdit -- x"},
		{start{Settings: "/s", Servers: "/m", Session: "ID", Automatic: true, Prompt: "x"},
			"--settings /s --mcp-config /m --session-id ID --permission-mode auto --disallowedTools EnterPlanMode EnterWorktree ExitWorktree -- x"},
		{start{Settings: "/s", Servers: "/m", Session: "ID", Headless: true, Partial: true},
			"-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --settings /s --mcp-config /m --session-id ID --disallowedTools EnterPlanMode EnterWorktree ExitWorktree AskUserQuestion --"},
		{start{Settings: "/s", Servers: "/m", Session: "ID", Partial: true, Prompt: "in a pane"},
			"--settings /s --mcp-config /m --session-id ID --disallowedTools EnterPlanMode EnterWorktree ExitWorktree -- in a pane"},
		{start{Settings: "/s", Servers: "/m", Session: "ID", Headless: true, Prompt: "by standard input"},
			"-p --input-format stream-json --output-format stream-json --verbose --settings /s --mcp-config /m --session-id ID --disallowedTools EnterPlanMode EnterWorktree ExitWorktree AskUserQuestion --"},
	} {
		if got := strings.Join(c.s.args(), " "); got != c.want {
			t.Errorf("%+v\n got %q\nwant %q", c.s, got, c.want)
		}
	}
}

func TestEnviron(t *testing.T) {
	got := environ([]string{"A=1", "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=x", "CLAUDE_CONFIG_DIR=/c"})
	if want := []string{"A=1", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=1000000",
		"CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS=0", "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT=604800000"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func listening(headless bool) *listener {
	return &listener{
		policy: places.Policy{Role: dag.RoleBuild, Root: "/p", Tree: "/t", Scope: []string{"src/"}, Headless: headless},
		own:    func(p string) bool { return sameText(p, "do the task") },
		now:    func() time.Time { return noon }, subagents: map[string]bool{}, busy: true,
	}
}

const questions = `{"questions":[{"question":"Which?","options":[{"label":"Red"},{"label":"Blue"}]}]}`

// Payloads as the real program sends them.
// Whatever cmux says to an agent is known as its own when it arrives, also as
// a terminal program passes pasted text on; a person's words are not.
func TestOwnPrompts(t *testing.T) {
	spec := &run.Spec{Node: "a", Def: &dag.Node{Name: "a", Role: dag.RoleBuild, Task: "do\n\n\tit  \n"}, Attempt: 1, Place: run.Place{Dir: "/t", Tree: "/t", Branch: "work/a", Commit: strings.Repeat("1", 40)}}
	for name, text := range map[string]string{
		"prompt": prompt.Compose(prompt.Input{Spec: spec}),
		"file":   handover.ByFile("/r/prompt-1.md"), "resumed": prompt.Resumed, "limit": prompt.LimitOver, "failed call": prompt.CallFailed,
		"no report": prompt.NoReport(1, 3), "check": prompt.CheckFailed("make", "exit 2", 1, 3, "a\n\n  b\n"), "commit": prompt.NoCommit("task/t1"),
		"dirt": prompt.Uncommitted("1 file"), "branch": prompt.WrongBranch("branch x", "y"), "scope": prompt.OutOfScope("x", nil, []string{"y"}, "z", 1, 3),
		"answer": "yes",
	} {
		a := &instance{texts: []string{harmless(text)}}
		for how, arrived := range map[string]string{
			"": harmless(text), "pasted": "\n\n<pasted_content id=\"9f42\">\n" + strings.ReplaceAll(harmless(text), "\t", "    ") + "\n</pasted_content id=\"9f42\">\n",
		} {
			if !a.isOwn(arrived) {
				t.Errorf("%s %s: taken for a person's", name, how)
			}
		}
		if a.isOwn("yes, but first explain why") || a.isOwn("") {
			t.Errorf("%s: a person's words are taken for it", name)
		}
	}
}

func TestHear(t *testing.T) {
	for _, c := range []struct {
		name, event, payload string
		headless             bool
		want                 []news.Event
		reply                string // in it
	}{
		{"start", "SessionStart", `{"session_id":"S","source":"startup"}`, false, []news.Event{news.Converses{ID: "S"}}, ""},
		{"compacted", "SessionStart", `{"session_id":"S","source":"compact"}`, false, []news.Event{news.Converses{ID: "S"}, news.Forgot{}}, ""},
		{"cleared", "SessionStart", `{"session_id":"T","source":"clear"}`, false, []news.Event{news.Converses{ID: "T"}, news.Forgot{}}, ""},
		{"resumed conversation", "SessionStart", `{"session_id":"S","source":"resume"}`, false, []news.Event{news.Converses{ID: "S"}}, ""},
		{"own prompt", "UserPromptSubmit", `{"prompt":"do  the\ntask"}`, false, []news.Event{news.Prompted{Text: "do  the\ntask", Own: true}}, ""},
		{"own prompt, pasted", "UserPromptSubmit", `{"prompt":"\n\n<pasted_content id=\"9f42\">\ndo the task\n</pasted_content id=\"9f42\">\n"}`, false,
			[]news.Event{news.Prompted{Text: "\n\n<pasted_content id=\"9f42\">\ndo the task\n</pasted_content id=\"9f42\">\n", Own: true}}, ""},
		{"a person's", "UserPromptSubmit", `{"prompt":"please do the task"}`, false, []news.Event{news.TookOver{Text: "please do the task"}}, ""},
		{"the program's own", "UserPromptSubmit", `{"prompt":"<task-notification>\n<task-id>x"}`, false,
			[]news.Event{news.Prompted{Text: "<task-notification>\n<task-id>x", Own: true}}, ""},
		{"out of scope", "PreToolUse", `{"tool_name":"Write","tool_input":{"file_path":"/t/x"},"cwd":"/t"}`, false, nil, `"permissionDecision":"deny"`},
		{"in scope", "PreToolUse", `{"tool_name":"Write","tool_input":{"file_path":"/t/src/x"},"cwd":"/t"}`, false, nil, `"permissionDecision":"allow"`},
		{"in scope, while a person plans", "PreToolUse", `{"tool_name":"Write","tool_input":{"file_path":"/t/src/x"},"cwd":"/t","permission_mode":"plan"}`, false, nil, ""},
		{"not granted", "PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"touch x"},"cwd":"/t"}`, false, []news.Event{news.ShellBegan{ID: "Bash"}}, ""},
		{"a command", "PreToolUse", `{"tool_name":"Bash","tool_use_id":"7","tool_input":{"command":"make"},"cwd":"/t"}`, false, []news.Event{news.ShellBegan{ID: "7"}}, ""},
		{"a command, refused", "PreToolUse", `{"tool_name":"Bash","tool_use_id":"7","tool_input":{"command":"git stash"},"cwd":"/t"}`, false, nil, `"permissionDecision":"deny"`},
		{"question, headless", "PreToolUse", `{"tool_name":"AskUserQuestion","tool_input":` + questions + `}`, true, nil, "report `blocked`"},
		{"question", "PermissionRequest", `{"tool_name":"AskUserQuestion","tool_input":` + questions + `}`, false,
			[]news.Event{news.Asked{Question: question.New("Which?", "Red", "Blue"), Hold: true, Own: true}}, ""},
		{"permission, headless", "PermissionRequest", `{"tool_name":"Bash","tool_input":{"command":"make"}}`, true, nil, "nobody can allow this"},
		{"permission", "PermissionRequest", `{"tool_name":"Bash","tool_input":{"command":"make"}}`, false,
			[]news.Event{news.Asked{Question: question.Permit("use Bash? make", "", question.Permission{Tool: "Bash", Command: "make"}), Hold: true}}, ""},
		{"worked", "PostToolUse", `{"tool_name":"Edit"}`, false, []news.Event{news.Worked{Carries: true}}, ""},
		{"a sub-agent worked", "PostToolUse", `{"tool_name":"Edit","agent_id":"s"}`, false, []news.Event{news.Worked{}}, ""},
		{"it is compacted", "PreCompact", `{"trigger":"auto"}`, false, []news.Event{news.Compacts{Trigger: "auto"}}, ""},
		{"a command ended", "PostToolUse", `{"tool_name":"Bash","tool_use_id":"7"}`, false, []news.Event{news.ShellEnded{ID: "7"}, news.Worked{Carries: true}}, ""},
		{"a command failed", "PostToolUseFailure", `{"tool_name":"Bash","tool_use_id":"7"}`, false, []news.Event{news.ShellEnded{ID: "7"}, news.Worked{Carries: true}}, ""},
		{"stop", "Stop", `{"background_tasks":[]}`, false, []news.Event{news.TurnEnded{Hold: true}}, ""},
		{"stop with work behind it", "Stop", `{"background_tasks":[{"type":"subagent","status":"running"},{"type":"shell","status":"running"}]}`, false,
			[]news.Event{news.TurnEnded{Hold: true, Background: 1, Shells: 1}}, ""},
		{"limit", "StopFailure", `{"error":"rate_limit","last_assistant_message":"You've hit your 5-hour limit · resets 3pm (UTC)"}`, false,
			[]news.Event{news.LimitMet{Text: "You've hit your 5-hour limit · resets 3pm (UTC)", Until: noon.Add(3 * time.Hour)}}, ""},
		{"overloaded", "StopFailure", `{"error":"server_error","last_assistant_message":"API Error: 529 Overloaded"}`, false,
			[]news.Event{news.Faltered{Text: "API Error: 529 Overloaded"}}, ""},
		{"overloaded for a sub-agent", "StopFailure", `{"agent_id":"s","error":"server_error","last_assistant_message":"API Error: 529 Overloaded"}`, false,
			[]news.Event{news.Delegated{}}, ""},
		{"told by the result, headless", "StopFailure", `{"error":"server_error"}`, true, nil, ""},
		{"idle", "Notification", `{"notification_type":"idle_prompt"}`, false, []news.Event{news.TurnEnded{}}, ""},
		{"of a later version", "Unheard", `{"new":[1]}`, false, nil, ""},
		{"nothing", "Unheard", "", false, nil, ""},
		{"it was compacted", "PostCompact", `{"trigger":"manual","compact_summary":"x"}`, false, []news.Event{news.Compacted{Trigger: "manual"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, reply, err := listening(c.headless).hear(c.event, json.RawMessage(c.payload))
			if err != nil || !reflect.DeepEqual(events, c.want) {
				t.Errorf("%+v, %v; want %+v", events, err, c.want)
			}
			if (reply.Stdout != "") != (c.reply != "") || !strings.Contains(reply.Stdout, c.reply) {
				t.Errorf("reply %q", reply.Stdout)
			}
		})
	}
}

func TestSubagentsAreCounted(t *testing.T) {
	l := listening(false)
	for _, c := range []struct {
		event, payload string
		want           news.Event
	}{
		{"SubagentStart", `{"agent_id":"a"}`, news.Delegated{Subagents: 1}}, {"SubagentStart", `{"agent_id":"b"}`, news.Delegated{Subagents: 2}},
		{"SubagentStop", `{"agent_id":"compaction","agent_type":""}`, news.Delegated{Subagents: 2}}, {"SubagentStop", `{"agent_id":"a"}`, news.Delegated{Subagents: 1}},
		{"SubagentStart", `{"agent_id":"d"}`, news.Delegated{Subagents: 2}}, {"StopFailure", `{"agent_id":"d","error":"server_error"}`, news.Delegated{Subagents: 1}},
		{"Stop", `{"background_tasks":[]}`, news.TurnEnded{Hold: true}}, {"SubagentStart", `{"agent_id":"c"}`, news.Delegated{Subagents: 1}},
	} {
		events, _, err := l.hear(c.event, json.RawMessage(c.payload))
		if err != nil || len(events) != 1 || events[0] != c.want {
			t.Errorf("%s %s: %+v, %v; want %+v", c.event, c.payload, events, err, c.want)
		}
	}
}

// Calls of one tool may be under way at the same time: the end of one ends no question
// about another.
func TestQuestionOfOneCall(t *testing.T) {
	const pre, ask, post = `PreToolUse {"tool_name":"Read","cwd":"/t",`, `PermissionRequest {"tool_name":"Read","cwd":"/t",`, `PostToolUse {"tool_name":"Read",`
	const out, in = `"tool_input":{"file_path":"/etc/x"}`, `"tool_input":{"file_path":"/t/x"}`
	for name, c := range map[string]struct {
		what  []string
		stays bool // the question does
	}{
		"the call itself ends":           {[]string{pre + `"tool_use_id":"1",` + out + `}`, ask + out + `}`, post + `"tool_use_id":"1",` + out + `}`}, false},
		"another ends":                   {[]string{pre + `"tool_use_id":"1",` + out + `}`, pre + `"tool_use_id":"2",` + in + `}`, ask + out + `}`, post + `"tool_use_id":"2",` + in + `}`}, true},
		"another, begun before":          {[]string{pre + `"tool_use_id":"2",` + in + `}`, pre + `"tool_use_id":"1",` + out + `}`, ask + out + `}`, post + `"tool_use_id":"2",` + in + `}`}, true},
		"another, then itself":           {[]string{pre + `"tool_use_id":"1",` + out + `}`, ask + out + `}`, post + `"tool_use_id":"2",` + in + `}`, post + `"tool_use_id":"1",` + out + `}`}, false},
		"a sub-agent's, of the same":     {[]string{pre + `"tool_use_id":"1",` + out + `}`, pre + `"tool_use_id":"2","agent_id":"s",` + out + `}`, ask + `"agent_id":"s",` + out + `}`, post + `"tool_use_id":"1",` + out + `}`}, true},
		"one whose beginning was missed": {[]string{ask + out + `}`, post + `"tool_use_id":"1",` + out + `}`}, false},
	} {
		l := listening(false)
		for _, what := range c.what {
			event, payload, _ := strings.Cut(what, " ")
			if _, _, err := l.hear(event, json.RawMessage(payload)); err != nil {
				t.Fatal(err)
			}
		}
		if (l.asking != "") != c.stays {
			t.Errorf("%s: it asks about %q", name, l.asking)
		}
	}
}

// A turn ends once, however late its result line is read and whatever a
// sub-agent does meanwhile.
func TestResult(t *testing.T) {
	const prompt, call, sub, stop, back, result, failure = `UserPromptSubmit {"prompt":"<task-notification>"}`, `PreToolUse {"tool_name":"Read"}`, `PreToolUse {"tool_name":"Read","agent_id":"s"}`,
		`Stop {"background_tasks":[{"type":"subagent"}]}`, "back", "result", "failure"
	for _, c := range []struct {
		name string
		what []string
		want []bool // of each result
	}{
		{"a turn without its hook", []string{prompt, call, result}, []bool{true}},
		{"a turn with its hook", []string{prompt, call, stop, result}, []bool{false}},
		{"a sub-agent works before the result is read", []string{prompt, stop, sub, result}, []bool{false}},
		{"a sub-agent works after it", []string{prompt, stop, result, sub, result}, []bool{false, false}},
		{"the next turn begins before the result is read", []string{prompt, stop, prompt, call, result, result}, []bool{false, true}},
		{"two turns end before a result is read", []string{prompt, stop, prompt, stop, result, result}, []bool{false, false}},
		{"handed back, and it breaks off", []string{prompt, stop, back, result}, []bool{true}},
		{"blocked by another hook, and it breaks off", []string{prompt, stop, call, result}, []bool{true}},
		{"blocked by another hook, told more, and the model fails", []string{prompt, stop, prompt, call, failure}, []bool{true}},
		{"a failure after the turn has ended", []string{prompt, stop, failure}, []bool{false}},
		{"two turns without their hook", []string{prompt, result, prompt, result}, []bool{true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, got := listening(true), []bool(nil)
			for _, what := range c.what {
				switch event, payload, _ := strings.Cut(what, " "); event {
				case back:
					l.handBack("go on")
				case result, failure:
					got = append(got, l.result(event == failure))
				default:
					if _, _, err := l.hear(event, json.RawMessage(payload)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestIdleBesideASubagent(t *testing.T) {
	l := listening(false)
	for _, what := range []string{`Stop {"background_tasks":[{"type":"subagent"}]}`, `PreToolUse {"tool_name":"Read","agent_id":"s"}`, `Notification {"notification_type":"idle_prompt"}`} {
		event, payload, _ := strings.Cut(what, " ")
		events, _, err := l.hear(event, json.RawMessage(payload))
		if err != nil || event == "Notification" && len(events) > 0 {
			t.Errorf("%s: %+v, %v; its sub-agent works", what, events, err)
		}
	}
}

func TestHandBack(t *testing.T) {
	l := listening(false)
	l.hear("Stop", json.RawMessage(`{}`))
	if got := l.handBack("go <on> & \"on\"").Stdout; got != `{"decision":"block","reason":"go \u003con\u003e \u0026 \"on\""}`+"\n" || !l.busy {
		t.Errorf("%s", got)
	}
	for text, want := range map[string]string{
		"2": `"answers":{"Which?":"Blue"}`, " green ": `"answers":{"Which?":"green"}`, "9": `"answers":{"Which?":"9"}`,
	} {
		l.hear("PermissionRequest", json.RawMessage(`{"tool_name":"AskUserQuestion","tool_input":`+questions+`}`))
		if got := l.handBack(text).Stdout; !strings.Contains(got, want) || !strings.Contains(got, `"behavior":"allow"`) {
			t.Errorf("%q: %s", text, got)
		}
	}
	for text, want := range map[string]string{"Yes.": `"behavior":"allow"`, "no": `"behavior":"deny"`, "use make": "A person answered: use make"} {
		l.hear("PermissionRequest", json.RawMessage(`{"tool_name":"Bash","tool_input":{"command":"ls"}}`))
		if got := l.handBack(text).Stdout; !strings.Contains(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// golden is a screen of the real program, and the row of its cursor.
func golden(t testing.TB, name string) (text string, row int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "screens", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	first, text, _ := strings.Cut(string(b), "\n")
	if _, err := fmt.Sscanf(first, "cursor %d", &row); err != nil {
		t.Fatal(err)
	}
	return text, row
}

// The screens named hostile have a status line with rules, a prompt and the keys
// of a dialog in it; numbers are widths.
var screens = map[string]screen{
	"placeholder":          {Prompt: true},
	"typed":                {Prompt: true, Draft: "half a line"},
	"typed-home":           {Prompt: true, Draft: "half a line"},
	"busy":                 {Prompt: true, Busy: true},
	"idle":                 {Prompt: true},
	"manual":               {Prompt: true},
	"plan":                 {Prompt: true},
	"slash":                {Prompt: true, Draft: "/"},
	"permission":           {Dialog: "permission"},
	"question":             {Dialog: "question"},
	"width-30-busy":        {Prompt: true, Busy: true},
	"width-30-permission":  {Dialog: "permission"},
	"width-60-permission":  {Dialog: "permission"},
	"width-30-question":    {Dialog: "question"},
	"width-160-long":       {Prompt: true, Draft: "… line 29"},
	"hostile-160-idle":     {Prompt: true, Busy: true}, // as it claims
	"hostile-160-draft":    {Prompt: true, Draft: "half a line", Busy: true},
	"hostile-30-draft":     {Prompt: true, Draft: "half a line", Busy: true},
	"hostile-60-busy":      {Prompt: true, Busy: true},
	"hostile-60-long":      {Prompt: true, Draft: "… line 29"},
	"hostile-30-long":      {Prompt: true, Draft: "… line 29"},
	"hostile-160-question": {Dialog: "question"},
	"auto-check":           {Dialog: "other"},
	"auto-check-cut":       {Dialog: "other"}, // the pane is too small for the line that says which keys it takes
}

func TestReadScreen(t *testing.T) {
	for name, want := range screens {
		text, row := golden(t, name)
		got := readScreen(text, row)
		if _, end, cut := strings.Cut(want.Draft, "…"); cut && strings.HasSuffix(got.Draft, strings.TrimSpace(end)) && strings.HasPrefix(got.Draft, "line ") {
			got.Draft = want.Draft // of a long one the end is shown
		}
		if (got.Words == "") != (got.Dialog == "") {
			t.Errorf("%s: the dialog %q says %q", name, got.Dialog, got.Words)
		}
		got.Words = ""
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for _, nothing := range []string{"", "\n\n", "❯ not in a frame", "────────\n❯ 1. Yes\n────────", "────────\nno prompt\n────────", "────────\n❯ a\n● text\n  b\n────────"} {
		for row := -1; row < 6; row++ {
			if got := readScreen(nothing, row); got.Prompt {
				t.Errorf("%q, row %d is taken for a prompt", nothing, row)
			}
		}
	}
}

// A person is shown the command or question of a dialog and its options.
func TestDialogWords(t *testing.T) {
	for name, want := range map[string][]string{
		"permission":           {"echo hi > x.txt", "Do you want to proceed?", "1. Yes", "Esc to cancel"},
		"width-30-permission":  {"1. Yes"},
		"width-60-permission":  {"1. Yes"},
		"question":             {"1. "},
		"hostile-160-question": {"Which colour?", "  1. Red\n     like fire\n", "2. Blue"},
		"auto-check":           {"Auto mode can't check actions in this session\n", "Enter to stay in auto mode"},
		"auto-check-cut":       {"Auto mode can't check actions in this session\n"},
	} {
		text, row := golden(t, name)
		got := readScreen(text, row).Words
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is missing in:\n%s", name, w, got)
			}
		}
		for _, not := range []string{"❯", "───", "● "} {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q is in:\n%s", name, not, got)
			}
		}
	}
}

// A dialog without numbers is told by its chosen option, not with the screen above it.
func TestOfferWords(t *testing.T) {
	screen := "\n ▐▛███▜▌   Claude Code v2.1.329\n▝▜█████▛▘  /p/shop\n\n● What do you need?\n\n" + strings.Repeat("─", 60) + "\n  Make auto mode your default permission mode?\n\n  Auto mode decides.\n\n  ❯ Yes, set auto mode as my default permission mode\n    No, keep manual mode\n"
	got := readScreen(screen, strings.Count(screen, "\n")-2)
	if want := "Make auto mode your default permission mode?\nAuto mode decides.\n  Yes, set auto mode as my default permission mode\n  No, keep manual mode"; got.Dialog != "auto" || got.Words != want {
		t.Errorf("%q: %q", got.Dialog, got.Words)
	}
}

// What a person has answered in the pane waits for nobody: the next hook comes when the
// tool has ended.
func TestAnsweredInThePane(t *testing.T) {
	works, dialog, rests := screen{Prompt: true, Busy: true}, screen{Dialog: "permission"}, screen{Prompt: true}
	for name, c := range map[string]struct {
		screens []screen
		want    bool
	}{
		"answered":             {[]screen{works, dialog, dialog, works}, true},
		"not drawn yet":        {[]screen{works, works}, false},
		"open":                 {[]screen{dialog, dialog}, false},
		"broken off":           {[]screen{dialog, rests}, false},
		"a screen between":     {[]screen{dialog, {}, works}, true},
		"nothing but a screen": {[]screen{{}, works}, false},
		"before it was seen":   {[]screen{works, works, works}, true},
		"drawn late":           {[]screen{works, works, dialog, dialog}, false},
	} {
		var w awaited
		got := false
		now := time.Now()
		for i, s := range c.screens {
			got = w.answered(s, now.Add(time.Duration(i)*slowLook))
		}
		if got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got && w.answered(works, now.Add(time.Duration(len(c.screens))*slowLook)) {
			t.Errorf("%s: it is answered twice", name)
		}
	}
}

// A dialog that a hook tells of while the screen is looked at is not taken for the one
// that is gone.
func TestNextDialogIsNotTheLast(t *testing.T) {
	a := &instance{}
	tell := func(hook, tool string) {
		t.Helper()
		if _, _, err := a.listener.hear(hook, []byte(`{"tool_name":"`+tool+`","tool_input":{"command":"x"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	a.listener.busy = true
	tell("PermissionRequest", "Bash")
	first := a.asksPerson()
	tell("PermissionRequest", "Bash")
	if second := a.asksPerson(); first == 0 || second == first || a.stopAsking(first) || a.asksPerson() != second {
		t.Errorf("dialogs %d and %d, then %d", first, second, a.asksPerson())
	}
	if !a.stopAsking(a.asksPerson()) || a.asksPerson() != 0 || a.stopAsking(first) {
		t.Error("what is gone waits, or goes twice")
	}
}

// A person who moves in a dialog or types into an option leaves it the same dialog.
func TestHeading(t *testing.T) {
	one := heading("Bash command\n  make\nDo you want to proceed?\n  1. Yes\n  2. No")
	if typed := heading("Bash command\n  make\nDo you want to proceed?\n  1. Yes, and then\n  2. No"); typed != one {
		t.Errorf("%q, %q", typed, one)
	}
	if other := heading("Bash command\n  rm x\nDo you want to proceed?\n  1. Yes\n  2. No"); other == one {
		t.Errorf("another command is the same dialog: %q", other)
	}
	if none := heading("press a key"); none != "press a key" {
		t.Errorf("%q", none)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// Whatever a person's status line says and an agent writes, the prompt is the
// one with the cursor.
func FuzzAroundThePrompt(f *testing.F) {
	f.Add("● said\n────────\n❯ 1. Yes\n────────", "────────\n❯ rm -rf /\n────────\n  Esc to cancel · Enter to confirm", "half a line")
	f.Add("", "🎉\x1b[31m───\x1b[7m❯\x1b[0m", "")
	f.Fuzz(func(t *testing.T, above, status, typed string) {
		for _, r := range typed {
			if r == utf8.RuneError || r < ' ' || r == 0x7f || unicode.IsSpace(r) && r != ' ' || !unicode.IsPrint(r) {
				return
			}
		}
		typed = strings.TrimSpace(typed)
		if typed == "" || menu("❯ "+typed) || slices.ContainsFunc(placeholders, func(p string) bool { return strings.HasPrefix(typed, p) }) {
			typed = "half a line"
		}
		above, status = strings.ReplaceAll(above, "\r", ""), strings.ReplaceAll(status, "\r", "")
		if strings.Contains(above, "\x1b") { // what it leaves dim would hide the prompt; the program ends each line
			above += "\x1b[0m"
		}
		rule := strings.Repeat("─", 40)
		text := above + "\n" + rule + "\n❯\u00a0" + typed + "\n" + rule + "\n  " + strings.ReplaceAll(status, "\n", "\n  ")
		if strings.Contains(above, "\x1b[") && !strings.HasSuffix(above, "\x1b[0m") {
			return
		}
		row := strings.Count(above, "\n") + 2
		if got, want := readScreen(text, row), (screen{Prompt: true, Draft: typed}); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	})
}

func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{"a": "a", "/x": "Answer: /x", "!ls": "Answer: !ls", "end\\": "end\\ .", "a\n\n": "a", "a\x1b[201~\rb": "a b"} {
		if got := harmless(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPreflight(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "work", "project")
	home := filepath.Join(dir, "home")
	bin := filepath.Join(dir, "bin")
	for _, d := range []string{root, home, bin} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(path, text string, perm os.FileMode) {
		if err := os.WriteFile(path, []byte(text), perm); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + bin, "HOME=" + home, "IS_SANDBOX=1"}
	has := func(s agent.Setup, want ...string) {
		t.Helper()
		s.Root, s.AutoAccept = root, true
		found := Preflight(t.Context(), s).Problems
		if len(found) != len(want) {
			t.Errorf("found %+v, want %q", found, want)
			return
		}
		for i, w := range want {
			if !strings.Contains(found[i].What, w) || found[i].Try == "" {
				t.Errorf("found %+v, want %q", found[i], w)
			}
		}
	}
	has(agent.Setup{Env: env}, "not installed")
	put(filepath.Join(bin, "claude"), "#!/bin/sh\necho '2.1.100 (Claude Code)'\n", 0o755)
	has(agent.Setup{Env: env}, "older", "not logged in", "not been set up", "does not trust")
	put(filepath.Join(bin, "claude"), "#!/bin/sh\necho '2.2.0 (Claude Code)'\n", 0o755)
	has(agent.Setup{Env: env, Headless: true, Asks: true}, "nobody answers", "not logged in")
	keyed := append(slices.Clone(env), "ANTHROPIC_API_KEY=abcdefghijklmnopqrstuvwxyz")
	put(filepath.Join(home, ".claude.json"), `{"hasCompletedOnboarding":true,"projects":{"`+filepath.Join(dir, "work")+`":{"hasTrustDialogAccepted":true}}}`, 0o600)
	has(agent.Setup{Env: keyed}, "API key")
	put(filepath.Join(home, ".claude.json"), `{"hasCompletedOnboarding":true,"customApiKeyResponses":{"approved":["ghijklmnopqrstuvwxyz"]},"projects":{"`+filepath.Join(dir, "work")+`":{"hasTrustDialogAccepted":true}}}`, 0o600)
	has(agent.Setup{Env: keyed})
	put(filepath.Join(home, ".claude.json"), `{"hasCompletedOnboarding":`, 0o600)
	has(agent.Setup{Env: keyed}, "not been set up", "API key", "does not trust")
}

func TestTranscriptPath(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "a [b]*")
	if err := os.MkdirAll(filepath.Join(config, "projects", "-x"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(config, "projects", "-x", "ID.jsonl")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"CLAUDE_CONFIG_DIR=" + config}
	for id, want := range map[string]string{"ID": file, "other": "", "": "", "../x": "", "*": ""} {
		if got := Transcript(env, id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func FuzzHear(f *testing.F) {
	f.Add("Stop", []byte(`{"background_tasks":[{"type":"subagent"}]}`), "yes")
	f.Add("PermissionRequest", []byte(`{"tool_name":"AskUserQuestion","tool_input":`+questions+`}`), "2")
	f.Add("PreToolUse", []byte(`{"tool_name":"Write","tool_input":{"file_path":"/x"}}`), "")
	f.Fuzz(func(t *testing.T, event string, payload []byte, text string) {
		l := listening(false)
		events, reply, err := l.hear(event, payload)
		if err == nil && len(payload) > 0 && !json.Valid(payload) {
			t.Error("what is no JSON was understood")
		}
		held := slices.ContainsFunc(events, news.Held)
		for _, out := range []string{reply.Stdout, l.handBack(text).Stdout} {
			if out != "" && !json.Valid([]byte(out)) {
				t.Errorf("answered %q", out)
			}
		}
		if held && reply.Stdout != "" {
			t.Error("a hook that is held was answered")
		}
	})
}

func FuzzReadScreen(f *testing.F) {
	f.Add("────────\n❯\u00a0\x1b[7mR\x1b[0;2mest\x1b[0m\n────────\n", 1)
	for name := range screens {
		text, row := golden(f, name)
		f.Add(text, row)
	}
	f.Fuzz(func(t *testing.T, text string, row int) {
		if s := readScreen(text, row); s.Prompt && s.Dialog != "" || s.Draft != "" && !s.Prompt {
			t.Errorf("%+v", s)
		}
	})
}

func BenchmarkHear(b *testing.B) {
	l := listening(false)
	l.policy.Resolve = places.Follow
	payload := json.RawMessage(`{"session_id":"S","tool_name":"Write","tool_input":{"file_path":"/t/src/x","content":"` + strings.Repeat("x", 10_000) + `"},"cwd":"/t"}`)
	b.ReportAllocs()
	for b.Loop() {
		l.hear("PreToolUse", payload)
	}
}

func TestOurs(t *testing.T) {
	const text = "The limit is over. Go on where you left off: https://example.org/a-long-path\nNow 🎉."
	for draft, want := range map[string]bool{
		"The limit is over. Go on where you left off: https://exam\nple.org/a-long-path\nNow .": true, // broken within a word
		"over. Go on where you left off: https://example.org/a-long-path\nNow 🎉.":               true, // scrolled
		"[Pasted text #1 +40 lines]": true, "[Pasted text #12]": true,
		"half a li[Pasted text #1 +40 lines]": false, "[Pasted text #1 +40 lines] and mine": false, "[Pasted text": false,
		"half a liThe limit is over. Go on where you left off: https://example.org/a-long-path Now.": false,
		"The limit is over. Go on where you left off: https://example.org/a-long-path Now. mine":     false,
		"The limit is over. Go on": false, // not all of it yet
		"The":                      false, "wait, the limit is over": false, "": false, "🎉": false,
	} {
		if got := ours(draft, text); got != want {
			t.Errorf("%q: %v", draft, got)
		}
	}
	if !ours("yes", "yes") || ours("yes", "no") || ours("s", "yes") || !ours("🎉", "🎉") || ours("", "🎉") {
		t.Error("short texts")
	}
}

func TestPlaceholderWithoutColors(t *testing.T) {
	rule := strings.Repeat("─", 40)
	for typed, want := range map[string]string{"Resend your message to try again": "", `Try "fix lint errors"`: "", "resend it": "resend it"} {
		s := readScreen(rule+"\n❯\u00a0"+typed+"\n"+rule+"\n  ? for shortcuts\n", 1)
		if !s.Prompt || s.Draft != want {
			t.Errorf("%q: %+v", typed, s)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		answered, asked string
		env             []string
		want            int64
	}{
		{"claude-opus-4-5-20251101", "", nil, 200_000},
		{"claude-opus-4-7", "", nil, 1_000_000},
		{"claude-haiku-4-5", "haiku", nil, 200_000},
		{"claude-sonnet-5-5", "", nil, 1_000_000},
		{"claude-sonnet-4-5", "sonnet[1m]", nil, 1_000_000},
		{"claude-sonnet-4-5", "", []string{"ANTHROPIC_MODEL=claude-sonnet-4-5[1M]"}, 1_000_000},
		{"gateway/other", "", nil, 0},
		{"gateway/other", "", []string{"CLAUDE_CODE_MAX_CONTEXT_TOKENS=64000"}, 64_000},
		{"claude-opus-5", "", []string{"CLAUDE_CODE_AUTO_COMPACT_WINDOW=200000"}, 200_000},
		{"claude-opus-4-5", "", []string{"CLAUDE_CODE_AUTO_COMPACT_WINDOW=no"}, 200_000},
		{"", "", nil, 0},
	} {
		if got := window(c.answered, c.asked, c.env); got != c.want {
			t.Errorf("%q asked as %q, %v: %d, want %d", c.answered, c.asked, c.env, got, c.want)
		}
	}
}
