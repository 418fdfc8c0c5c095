package attempt

import (
	"slices"

	"cmux/agents/runs/conversation"
)

// callers are the hooks and calls that wait for an answer, each by its number.
type callers struct {
	refs conversation.Ref // counts them
	held map[conversation.Ref]*Message
	gone map[conversation.Ref]<-chan struct{} // closed when the caller no longer waits
}

func newCallers() callers {
	return callers{held: map[conversation.Ref]*Message{}, gone: map[conversation.Ref]<-chan struct{}{}}
}

// hold keeps m's answer for later.
func (c *callers) hold(m *Message) conversation.Ref {
	c.refs++
	held := m.detach()
	c.held[c.refs] = &held
	if m.gone != nil {
		c.gone[c.refs] = m.gone
	}
	return c.refs
}

// waiting returns the message of a hook or call that still waits; nil: none.
func (c *callers) waiting(ref conversation.Ref) *Message { return c.held[ref] }

// leaving is closed when the caller no longer waits for the answer; nil: unknown.
func (c *callers) leaving(ref conversation.Ref) <-chan struct{} { return c.gone[ref] }

// await numbers a hook that is answered at once but whose end matters.
func (c *callers) await(gone <-chan struct{}) conversation.Ref {
	c.refs++
	c.gone[c.refs] = gone
	return c.refs
}

// settle answers a hook or a call that waits.
func (c *callers) settle(ref conversation.Ref, r Reply) (taken bool) {
	m := c.held[ref]
	delete(c.held, ref)
	delete(c.gone, ref)
	return m != nil && m.answer(r) == nil
}

// lost returns the hooks and calls whose callers no longer wait.
func (c *callers) lost() (refs []conversation.Ref) {
	for ref, gone := range c.gone {
		select {
		case <-gone:
			refs = append(refs, ref)
			delete(c.gone, ref)
			delete(c.held, ref)
		default:
		}
	}
	slices.Sort(refs)
	return refs
}

// refuse answers waiting callers, and those that come too late: the attempt has ended.
func (c *callers) refuse(inbox <-chan Message) {
	const ended = "the attempt has ended"
	for ref, m := range c.held {
		delete(c.held, ref)
		if m.Op == OpHook {
			m.answer(Reply{})
		} else {
			m.answer(Reply{Error: ended})
		}
	}
	for {
		select {
		case m := <-inbox:
			m.answer(Reply{Error: ended})
		default:
			return
		}
	}
}
