package letters

import (
	"strings"
	"testing"
	"time"

	"cmux/agents/control/project"
	"cmux/signals/mailbox"
)

// A message for a node that no runner has says why it waits; what is over, or for an
// agent, stays as it is recorded.
func TestExplained(t *testing.T) {
	p := &Letters{Project: &project.Project{Root: t.TempDir(), Caller: project.Caller{Now: time.Now}}}
	for _, c := range []struct {
		to    string
		state mailbox.State
		part  string
	}{
		{"node:api", mailbox.Queued, `no run has a node "api"`}, {"node:api", mailbox.Handed, `no run has a node "api"`},
		{"node:api", mailbox.Confirmed, "recorded"}, {"api", mailbox.Queued, "recorded"}, {"a b", mailbox.Queued, "recorded"},
	} {
		d := MailDelivery{To: c.to, State: c.state, Why: "recorded"}
		if p.explain(&d, map[string]string{}); !strings.Contains(d.Why, c.part) {
			t.Errorf("%s, %s: %q, want %q", c.to, c.state, d.Why, c.part)
		}
	}
}
