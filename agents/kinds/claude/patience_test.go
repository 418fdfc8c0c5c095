package claude

import (
	"encoding/json"
	"testing"
	"time"

	"cmux/agents/kinds/guard/places"
)

// The screen is looked at soon for a dialog without a hook: after a call that cmux left
// to the program, and when the program says that it waits.
func TestPatienceAfterHooks(t *testing.T) {
	l := listener{policy: places.Policy{Root: "/p", Tree: "/p-a"}, own: func(string) bool { return false }, now: time.Now, subagents: map[string]bool{}}
	for _, c := range []struct {
		hook, tool string
		input      any
		want       time.Duration
	}{
		{"PreToolUse", "Bash", map[string]string{"command": "npm run build"}, slowLook},
		{"PreToolUse", "Bash", map[string]string{"command": "git stash"}, longQuiet}, // refused
		{"PostToolUse", "Bash", nil, longQuiet},
		{"PreToolUse", "Write", map[string]string{"file_path": "/p-a/a.go"}, longQuiet}, // granted
		{"PreToolUse", "WebFetch", nil, slowLook},
		{"Notification", "", nil, 0},
		{"UserPromptSubmit", "", nil, longQuiet},
	} {
		raw, err := json.Marshal(map[string]any{"tool_name": c.tool, "tool_input": c.input, "cwd": "/p-a", "notification_type": "agent_needs_input"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.hear(c.hook, raw); err != nil {
			t.Fatal(err)
		}
		if got := patienceAfter(c.hook, l.unjudged); got != c.want {
			t.Errorf("%s %s %v: %s, want %s", c.hook, c.tool, c.input, got, c.want)
		}
	}
}
