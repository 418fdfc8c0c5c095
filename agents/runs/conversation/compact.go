package conversation

import (
	"fmt"
	"slices"

	"cmux/dag"
)

// An agent that stays can be told to compact its conversation. A compaction is no
// message. It runs between turns, and only if nothing else is to be sent. Whoever
// orders it learns the result and decides whether to order it again.

// compact takes in the order.
func (m *move) compact(id string) {
	switch {
	case !m.Compacts:
		m.do(Deny{m.Name + " cannot be told to compact its conversation"})
	case slices.Contains(m.Read, id), m.onTheWay(id):
		// said again, by one that did not hear the answer
	case m.busy, m.inTurn:
		m.do(Deny{m.Name + " is not at rest: its turn has not ended"})
	case m.Phase != Resting || m.Taken || m.Ended || m.Work != "" || m.Awaits != "" || m.Subagents > 0 ||
		m.inQuestion() || len(m.Pending)+len(m.Unproven) > 0 || m.awaited() || m.Said != nil:
		m.do(Deny{fmt.Sprintf("%s is not at rest: it is %s", m.Name, m.Activity)})
	default:
		m.Pending = []Message{{Why: Compaction, ID: id}}
	}
}

// compacts has the program compact, unless something came in between.
func (m *move) compacts(h Message) {
	if m.Taken || m.Ended || m.Question != nil || m.Overridden || m.busy || m.inTurn {
		m.compacted("something else came first")
		return
	}
	m.letGo()
	m.Spoke = false
	m.hand(ByProgram, Deliver{Message: h})
	m.become(Become{Activity: dag.Working, Detail: "its conversation is compacted"})
}

// compacted applies the result of a compaction. It does not try again by itself.
func (m *move) compacted(failure string) {
	m.remember(m.Handed.ID)
	if failure != "" {
		m.do(Note{"its conversation is not known to be compacted: " + failure})
	}
	if !m.busy && !m.inTurn {
		m.TurnEnded = true
	}
	if m.Activity == dag.Working && !m.Taken {
		m.become(Become{Activity: dag.Working})
	}
	m.back()
}
