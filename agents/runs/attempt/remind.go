package attempt

import (
	"strings"

	"cmux/agents/kinds/agent"
	"cmux/agents/records/event"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
)

// slip has the hook that is being answered carry a message.
func (a *attempt) slip(m conversation.Message) {
	c, ok := a.agent.Agent.(agent.Carrier)
	if !ok || a.reply == nil || a.hooking == "" {
		return // it is handed over again, as nothing shows that it was read
	}
	kind, text := a.words(m)
	a.carried = append(a.carried, text)
	a.reply.HookReply = c.Carry(a.hooking, strings.Join(a.carried, "\n\n"))
	a.stage.Show(event.Event{Kind: kind, Text: text})
}

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
