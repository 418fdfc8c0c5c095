package codex

import (
	"testing"

	"cmux/agents/kinds/agent"
)

func TestSandbox(t *testing.T) {
	for _, c := range []struct {
		s        agent.Stage
		approval string
		mode     string
	}{
		{agent.Stage{}, "on-request", "workspace-write"},
		{agent.Stage{Automatic: true}, "never", "workspace-write"},
		{agent.Stage{AutoAccept: true}, "untrusted", "danger-full-access"},
		{agent.Stage{Review: true}, "on-request", "read-only"},
		{agent.Stage{Review: true, Automatic: true}, "never", "read-only"},
		{agent.Stage{Review: true, AutoAccept: true}, "never", "read-only"},
	} {
		c.s.Dir = t.TempDir()
		if got := sandboxOf(&c.s); got.approval != c.approval || got.mode != c.mode {
			t.Errorf("review %v, automatic %v, auto_accept %v: %s, %s", c.s.Review, c.s.Automatic, c.s.AutoAccept, got.approval, got.mode)
		}
	}
}
