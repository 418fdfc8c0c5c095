package guard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/dag"
)

// cmux's own tmux server is what CMUX_TMUX_SOCKET names.
func TestNamedTmuxServer(t *testing.T) {
	p := places.Policy{Role: dag.RoleBuild, Root: "/p", Tree: "/t", Machine: places.Here("/t", []string{"CMUX_TMUX_SOCKET=shop"})}
	for command, refused := range map[string]bool{
		"tmux -L shop run-shell x": true, "tmux -S /tmp/tmux-0/shop new-window": true, "tmux -Lshop kill-server": true,
		"tmux -L cmux send-keys x": true, "tmux -L mine new-window": false, "tmux -S /tmp/mine kill-server": false,
	} {
		in, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		d := guard.Decide(p, guard.Call{Tool: "Bash", Input: in})
		if got := d.Verdict == guard.Deny && strings.Contains(d.Reason, "cmux's own server"); got != refused {
			t.Errorf("%s: %v %q", command, d.Verdict, d.Reason)
		}
	}
}
