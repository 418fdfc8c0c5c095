package card

import (
	"fmt"

	"cmux/agents/org/task"
)

// Do is what a move of a card does.
type Do string

// The doings.
const (
	Starts    Do = "start"
	Approves  Do = "approve"
	SendsBack Do = "send-back"
	PutsBack  Do = "backlog"
	Overrides Do = "done"
)

// Dos are all of them.
func Dos() []Do { return []Do{Starts, Approves, SendsBack, PutsBack, Overrides} }

// Asked is what a move asks of the person first.
type Asked string

// What is asked; nothing with the empty one.
const (
	AsksWhy  Asked = "why"  // a text
	AsksSure Asked = "sure" // whether they are
)

// Move is a column to which a person may move a card now, and what that does.
type Move struct {
	To   task.Column `json:"to"`
	Do   Do          `json:"do"`
	Asks Asked       `json:"asks,omitempty" doc:"A text (why), or whether you are sure"`
}

// Moves are the moves that a card allows. work is the task with its newest work.
func Moves(t, work *task.Task) []Move {
	c := t.Card
	over := Move{To: task.InDone, Do: Overrides, Asks: AsksSure}
	backlog := Move{To: task.InBacklog, Do: PutsBack}
	none := []Move{}
	switch t.Column(work) {
	case task.InBacklog:
		if c.Phase == task.Delegating && c.Waits == "" || len(Missing(c)) > 0 {
			return []Move{over}
		}
		to := task.InPlanning
		if Begin(*c).Phase == task.Implementing {
			to = task.InImplementing
		}
		return []Move{{To: to, Do: Starts}, over}
	case task.InPlanning:
		return []Move{backlog, {To: task.InImplementing, Do: Approves}, over}
	case task.InReview:
		if c.Phase == task.PlanReview {
			return []Move{backlog, {To: task.InPlanning, Do: SendsBack, Asks: AsksWhy}, {To: task.InImplementing, Do: Approves}, over}
		}
		return []Move{{To: task.InImplementing, Do: SendsBack, Asks: AsksWhy}, {To: task.InDone, Do: Approves}}
	case task.InImplementing:
		if work == t && work.State == task.Open && c.Node == "" {
			return []Move{backlog, over}
		}
		return []Move{over}
	case task.InDone:
		if !work.Override && !work.Merged.In() {
			return []Move{{To: task.InImplementing, Do: SendsBack, Asks: AsksWhy}}
		}
	}
	return none
}

// Refused says why a card may not be moved to a column.
func Refused(t, work *task.Task, to task.Column) string {
	at := t.Column(work)
	switch {
	case at == to:
		return "it is there"
	case at == "":
		return "it was cancelled"
	case at == task.InDone && work.Merged.In():
		return "its work is merged: add another card"
	case at == task.InDone:
		return "it is done"
	case at == task.InBacklog && len(Missing(t.Card)) > 0:
		return "nobody implements it yet"
	case at == task.InBacklog && t.Card.Phase == task.Delegating && t.Card.Waits == "":
		return "members are asked who does what"
	case to == task.InReview:
		return "a plan brings it there, or work that is done"
	case to == task.InPlanning && at == task.InBacklog:
		return "it has no planner"
	case to == task.InPlanning:
		return "its work has begun"
	case to == task.InImplementing && at == task.InBacklog:
		return "it is planned first"
	case to == task.InBacklog && at == task.InImplementing:
		return fmt.Sprintf("%s works on it", work.Worker())
	}
	return fmt.Sprintf("it is %s", at)
}
