package attempt

import (
	"context"

	"cmux/agents/agent"
)

// typed is what a person has sent and the agent has not read.
func (a *attempt) typed() []string {
	if t, ok := a.agent.(agent.Typed); ok {
		return t.Unread()
	}
	return nil
}

// interposed reports whether a person has said something while the report was
// examined. What was said comes first: the agent goes on, and reports again; if
// it has done so already, that report is the one to be examined.
func (a *attempt) interposed(examined *report) bool {
	if a.hasEnded() || !a.taken {
		return false
	}
	switch {
	case a.spoke:
		a.note("a person has told it something while its work was examined: that comes first, and it is to report again")
		a.done = nil
		a.hangUp("a person has told you something while your report was examined. It comes to you next; take it in, then report again")
	case a.done == examined:
		return false
	}
	a.judging = false
	return true
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
