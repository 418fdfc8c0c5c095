package attempt

import (
	"slices"

	"cmux/agents/runs/conversation"
)

// callers are the hooks and calls that wait for an answer, each by its number.
type callers struct {
	refs conversation.Ref // counts them
	held map[conversation.Ref]*Message
	gone map[conversation.Ref]<-chan struct{} // closed when nobody waits any more
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

// waiting is the message of a hook or call that waits; nil: nobody does any more.
func (c *callers) waiting(ref conversation.Ref) *Message { return c.held[ref] }

// leaving is closed when nobody waits for the answer any more; nil: that is not known.
func (c *callers) leaving(ref conversation.Ref) <-chan struct{} { return c.gone[ref] }

// await numbers a hook that is answered at once, and whose end is to be noticed.
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

// lost are the hooks and calls for whose answer nobody waits any more.
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

// refuse answers what was kept waiting, and what comes in too late: the attempt has
// ended.
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
