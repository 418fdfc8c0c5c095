package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/records/event"
	"cmux/agents/testkit/agenttest"
)

// late plays a program that asks leave, tells no more of the call, and ends the turn.
const late = `#!/bin/sh
while read -r line; do
	printf '%s\n' "$line" >>"$0.log"
	id=${line#*'"id":'} id=${id%%[,\}]*}
	case $line in
	*'"method":"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentCapabilities":{}}}' ;;
	*'"method":"session/new"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"s"}}' ;;
	*'"method":"session/prompt"'*)
		if test -e "$0.asked"; then
			cmux done 'nothing was needed: a test' </dev/null >/dev/null 2>&1
		else
			: >"$0.asked"
			echo '{"jsonrpc":"2.0","id":100,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"execute","title":"bash","rawInput":{"command":"touch x"}},"options":[{"optionId":"y","name":"y","kind":"allow_once"},{"optionId":"n","name":"n","kind":"reject_once"}]}}'
		fi
		echo '{"jsonrpc":"2.0","id":'$id',"result":{"stopReason":"end_turn"}}' ;;
	esac
done
`

// A request for leave does not outlive its turn: nobody is asked for it any more.
func TestLateRequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "opencode")
	if err := os.WriteFile(program, []byte(late), 0o755); err != nil {
		t.Fatal(err)
	}
	f := agenttest.New(t, t.TempDir(), agenttest.Node("opencode", "Do it.", nil), []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir,
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=a", "GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=a@b"})
	_, wait := f.Start()
	if code := wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
	said, err := os.ReadFile(program + ".log")
	if err != nil {
		t.Fatal(err)
	}
	prompts, answers := 0, []string{}
	for line := range strings.Lines(string(said)) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.Method == "session/prompt":
			prompts++
		case string(m.ID) == "100":
			answers = append(answers, line)
		}
	}
	if prompts != 2 || len(answers) != 1 || !strings.Contains(answers[0], `"cancelled"`) {
		t.Errorf("%d prompts, answers %q", prompts, answers)
	}
	if denied := f.Events(event.Denied); len(denied) != 0 {
		t.Errorf("%+v", denied)
	}
}
