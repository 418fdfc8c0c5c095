package marks

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBadges(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{"Read", `{"file_path":"/p/a.go","limit":3}`, "<tool>Read /p/a.go</tool>"},
		{"Edit", `{"file_path":"a.go","old_string":"x"}`, "<tool>Update a.go</tool>"},
		{"MultiEdit", `{"file_path":"a.go"}`, "<tool>Update a.go</tool>"},
		{"Write", `{"file_path":"a.go","content":"x"}`, "<tool>Write a.go</tool>"},
		{"Bash", `{"command":"go test ./...","description":"tests"}`, "<tool>Run go test ./...</tool>"},
		{"shell", `{"command":["bash","-lc","ls -l"]}`, "<tool>Run bash -lc ls -l</tool>"},
		{"exec_command", `{"cmd":"ls"}`, "<tool>Run ls</tool>"},
		{"run_shell_command", `{"command":"ls"}`, "<tool>Run ls</tool>"},
		{"Grep", `{"pattern":"func main","path":"."}`, "<tool>Search func main</tool>"},
		{"WebFetch", `{"url":"example.org","prompt":"x"}`, "<tool>Fetch example.org</tool>"},
		{"TodoWrite", `{"todos":[]}`, "<tool>Plan</tool>"},
		{"mcp__shop__price", `{"query":"tea"}`, "<tool>mcp__shop__price tea</tool>"},
		{"Task", `{"description":"look","prompt":"long"}`, "<tool>Task look</tool>"},
		{"Bash", `{"command":"a\nb\u001b[2J </tool><tool>Write x"}`, "<tool>Run a b [2J &lt;/tool&gt;&lt;tool&gt;Write x</tool>"},
		{"Bash", `not json`, "<tool>Run</tool>"},
		{"", ``, "<tool></tool>"},
	} {
		if got := Badged(c.tool, json.RawMessage(c.input)).Export(); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.input, got, c.want)
		}
	}
	if b := Badged("Bash", json.RawMessage(`{"command":"`+strings.Repeat("é", 500)+`"}`)); len(b.What) > mostWhat+len("…") {
		t.Errorf("a long command has %d bytes", len(b.What))
	}
}
