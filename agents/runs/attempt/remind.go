package attempt

import (
	"cmux/agents/kinds/agent"
	"cmux/agents/runs/prompt"
)

// remind has the hook that is being answered tell the agent what counts now: its
// conversation was replaced by a summary, or is new.
func (a *attempt) remind() error {
	c, ok := a.agent.Agent.(agent.Carrier)
	if !ok || a.reply == nil || a.hooking == "" {
		return nil
	}
	m, err := a.memory(a.ctx, a.Got, a.back)
	if err != nil { // the program goes on, and is told what is known
		a.note("what the agent is reminded of is not complete: %v", err)
	}
	a.reply.HookReply = c.Carry(a.hooking, prompt.Reminded(m))
	return nil
}
