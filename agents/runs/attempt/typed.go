package attempt

import (
	"context"

	"cmux/agents/kinds/agent"
)

// typed is what a person has sent and the agent has not read.
func (a *attempt) typed() []string {
	if t, ok := a.agent.(agent.Typed); ok {
		return t.Unread()
	}
	return nil
}

// draft is what a person has typed and not sent.
func (a *attempt) draft() string {
	if t, ok := a.agent.(agent.Typed); ok {
		return t.Draft(a.ctx)
	}
	return ""
}

// keepTyped records what a person typed that ends with the program.
func (a *attempt) keepTyped() {
	t, ok := a.agent.(agent.Typed)
	if !ok {
		return
	}
	for _, line := range t.Unread() {
		a.note("typed and not read: %s", line)
	}
	if draft := t.Draft(context.WithoutCancel(a.ctx)); draft != "" {
		a.note("typed and not sent: %s", draft)
	}
}
