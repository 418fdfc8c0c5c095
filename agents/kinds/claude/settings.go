package claude

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// hookTimeout bounds hooks that the attempt answers at once.
	hookTimeout = 30 * time.Second
	// answerTimeout bounds the wait for a person's answer, in the program's
	// hook alone: the dialog in the pane stays.
	answerTimeout = 7 * 24 * time.Hour
	// stopMargin is for what is looked at beside the checks.
	stopMargin = time.Minute
)

// toolPrefix stands before the names of the tools of `cmux mcp`.
const toolPrefix = "mcp__cmux__"

// callTimeout bounds a call of such a tool, which waits for checks or a person.
const callTimeout = answerTimeout

// composeServers is the file of MCP servers that the program starts, as JSON.
// The server has the environment of the program, by which it finds the attempt.
func composeServers(binary string) ([]byte, error) {
	return json.MarshalIndent(object{"mcpServers": object{"cmux": object{
		"type": "stdio", "command": binary, "args": []string{"mcp"}, "timeout": callTimeout.Milliseconds(),
		"alwaysLoad": true, // else the model sees the names alone and has to search for the tools
	}}}, "", "  ")
}

type settings struct {
	Hooks        map[string][]hookGroup `json:"hooks"`
	SkipBypass   bool                   `json:"skipDangerousModePermissionPrompt"`
	DisableHooks bool                   `json:"disableAllHooks"` // false is said: it stands above what the person's and the project's settings say
	Permissions  permissions            `json:"permissions"`
	Renderer     string                 `json:"tui"` // whose screen cmux reads; said, the program does not offer the other one
}

type permissions struct {
	Allow []string `json:"allow"`
	Also  []string `json:"additionalDirectories,omitempty"` // that it works in as in its own
}

type hookGroup struct {
	Hooks []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Type      string `json:"type"`
	Command   string `json:"command"`
	Timeout   int64  `json:"timeout"` // seconds
	OnFailure string `json:"onFailure,omitempty"`
}

// hookEvents are the hooks that are set, besides PreToolUse, PermissionRequest
// and Stop. SessionEnd is none of them: the end of the program is seen, and
// while the attempt ends it nobody would answer.
var hookEvents = []string{
	"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure",
	"StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Notification",
}

// composeSettings are the settings of one attempt, as JSON. binary is the
// absolute path of the cmux that hooks call; also is a folder around its directory
// that it works in, if there is one; readable are files outside of its directory that
// the agent is told to read; a name that ends in a slash is a folder.
func composeSettings(binary string, verdict time.Duration, also string, readable ...string) ([]byte, error) {
	s := settings{Hooks: map[string][]hookGroup{}, SkipBypass: true, Renderer: "default", Permissions: permissions{
		// Reporting never waits for a permission.
		Allow: []string{toolPrefix + "done", toolPrefix + "blocked", toolPrefix + "ask", toolPrefix + "output"},
	}}
	if also != "" {
		s.Permissions.Also = []string{also}
	}
	for _, path := range readable {
		if strings.HasSuffix(path, "/") {
			path += "**"
		}
		s.Permissions.Allow = append(s.Permissions.Allow, "Read(/"+path+")")
	}
	set := func(event string, timeout time.Duration, onFailure string) {
		s.Hooks[event] = []hookGroup{{[]hookCommand{{
			Type: "command", Command: quote(binary) + " hook " + event,
			Timeout: int64(timeout / time.Second), OnFailure: onFailure,
		}}}}
	}
	for _, event := range hookEvents {
		set(event, hookTimeout, "")
	}
	set("PreToolUse", hookTimeout, "block")
	set("PermissionRequest", answerTimeout, "")
	set("Stop", verdict+stopMargin, "")
	return json.MarshalIndent(s, "", "  ")
}

// quote makes one word of the shell's of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// start is how the program is started.
type start struct {
	Settings string // path
	Servers  string // path
	Session  string // id of the conversation
	Resume   bool   // it exists already
	Model    string
	Bypass   bool // no permission is asked for
	Headless bool
	Review   bool
	Partial  bool // headless: it prints answers in pieces

	Automatic bool   // a model decides what is safe
	Prompt    string // in a pane, where it names a file; headless it is written to the program
}

// args are the program's arguments.
func (s start) args() []string {
	var args []string
	if s.Headless {
		args = append(args, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	}
	if s.Headless && s.Partial {
		args = append(args, "--include-partial-messages")
	}
	args = append(args, "--settings", s.Settings, "--mcp-config", s.Servers)
	if s.Resume {
		args = append(args, "--resume", s.Session)
	} else {
		args = append(args, "--session-id", s.Session)
	}
	if s.Model != "" {
		args = append(args, "--model", s.Model)
	}
	switch {
	case s.Bypass:
		args = append(args, "--dangerously-skip-permissions")
	case s.Automatic:
		args = append(args, "--permission-mode", "auto")
	}
	// The option takes any number of names: the -- ends it.
	args = append(args, "--disallowedTools", "EnterPlanMode", "EnterWorktree", "ExitWorktree")
	if s.Headless {
		args = append(args, "AskUserQuestion")
	}
	if s.Review {
		args = append(args, "Write", "Edit", "MultiEdit", "NotebookEdit")
	}
	args = append(args, "--")
	if !s.Headless && s.Prompt != "" {
		args = append(args, s.Prompt)
	}
	return args
}

// ofOuter are variables of a Claude Code that cmux may have been called from.
var ofOuter = []string{
	"CLAUDECODE", "CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SSE_PORT",
}

// IsOfOuter reports whether a variable is of a Claude Code around this process.
func IsOfOuter(name string) bool { return slices.Contains(ofOuter, name) }

// environ is the program's environment.
func environ(env []string) []string {
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); !IsOfOuter(name) {
			out = append(out, e)
		}
	}
	// The attempt counts hand-backs itself; the program lets a turn end after 8.
	return append(out, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=1000000",
		// A report waits for its verdict; in a pane the program would put it into
		// the background after two minutes, and give it up after half an hour.
		"CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS=0",
		"CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT="+strconv.FormatInt(callTimeout.Milliseconds(), 10))
}
