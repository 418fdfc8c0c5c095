package task

import (
	"cmp"
	"strings"
)

// Card makes a task a card of a room: who does what there, and where it stands. Names are
// those of members of the room.
type Card struct {
	Room        string `json:"room"`
	Coordinator string `json:"coordinator,omitempty"`
	Planner     string `json:"planner,omitempty"`
	Implementer string `json:"implementer,omitempty"`
	Reviewer    string `json:"reviewer,omitempty"`

	Phase    Phase  `json:"phase,omitempty"`
	Asked    int    `json:"asked,omitempty"`     // how often a member was asked about it: the number of the newest question
	Brief    int64  `json:"brief,omitempty"`     // the message in which the coordinator says what matters
	Plan     int64  `json:"plan,omitempty"`      // the message with the plan
	Feedback int64  `json:"feedback,omitempty"`  // the message for which it was sent back; 0: it was not
	Remark   string `json:"remark,omitempty"`    // what the person said when they sent it back
	SentBack int    `json:"sent_back,omitempty"` // how often, in this phase
	Waits    string `json:"waits,omitempty"`     // why it waits for the person; empty: it does not

	Hold     bool   `json:"hold,omitempty"`     // its plan is made, and nobody begins with the work by itself
	Node     string `json:"node,omitempty"`     // RUN/NODE that does the work; empty: no run does
	Stands   string `json:"stands,omitempty"`   // how that node stands, or the one that reviews it
	Stuck    string `json:"stuck,omitempty"`    // the node of them that goes on only when a person does something
	Way      string `json:"way,omitempty"`      // the command for that; empty: Stands names it, or none is needed
	Work     string `json:"work,omitempty"`     // the task with its newest work; empty: its own
	Approved string `json:"approved,omitempty"` // who has approved the work: the reviewer, or user
}

// Phase is what is done about a card now.
type Phase string

// The phases. Without one nobody has begun.
const (
	Delegating   Phase = "delegating" // members say who does what
	Coordinating Phase = "coordinating"
	Planning     Phase = "planning"
	PlanReview   Phase = "plan review"
	Implementing Phase = "implementing" // the task says how far
	WorkReview   Phase = "review"
)

// Phases are all of them.
func Phases() []Phase {
	return []Phase{Delegating, Coordinating, Planning, PlanReview, Implementing, WorkReview}
}

// Asks reports whether in this phase a member of the room is asked.
func (p Phase) Asks() bool {
	return p == Coordinating || p == Planning || p == PlanReview || p == WorkReview
}

// Column is where a card stands on the board.
type Column string

// The columns, in their order.
const (
	InBacklog      Column = "backlog"
	InPlanning     Column = "planning"
	InReview       Column = "reviewing"
	InImplementing Column = "implementing"
	InDone         Column = "done"
)

// Columns are all of them, from left to right.
func Columns() []Column {
	return []Column{InBacklog, InPlanning, InReview, InImplementing, InDone}
}

// Work is the task with the newest work of a card, which may be the card itself.
func (l *List) Work(t *Task) *Task {
	if w := l.tasks[t.Card.Work]; w != nil {
		return w
	}
	return t
}

// Earlier is the newest work of a card that is done, where what was to take it up was cancelled:
// that work is still there. Nil: its newest work is what counts.
func (l *List) Earlier(t *Task) *Task {
	w := l.Work(t)
	if w == t || t.State != Done {
		return nil
	}
	cancelled := w.State == Cancelled
	for w != t && w.State == Cancelled {
		before := t
		if len(w.After) > 0 && l.tasks[w.After[0]] != nil {
			before = l.tasks[w.After[0]]
		}
		w = before
	}
	if !cancelled || w.State != Done {
		return nil
	}
	return w
}

// Column computes where a card stands; work is the task with its newest work. Empty: it is on no board, as it is no card or was cancelled.
func (t *Task) Column(work *Task) Column {
	c := t.Card
	switch {
	case c == nil, t.State == Cancelled, work.State == Cancelled:
		return ""
	case work.Override:
		return InDone
	case c.Phase == Delegating:
		return InBacklog
	case c.Phase == PlanReview:
		return InReview
	case c.Phase == Coordinating, c.Phase == Planning:
		return InPlanning
	case work.State == Done && c.Approved != "":
		return InDone
	case work.State == Done:
		return InReview
	case work.State == Open && (c.Phase == "" || c.Hold):
		return InBacklog
	}
	return InImplementing
}

// CardLabel is how a card stands, in a few words.
func (t *Task) CardLabel(work *Task) string {
	c := t.Card
	switch {
	case c == nil, t.State == Cancelled:
		return t.Label()
	case work.State == Cancelled, work.Override:
		return work.Label()
	case c.Waits != "":
		return "needs you: " + c.Waits
	case c.Phase == Delegating:
		return cmp.Or(c.Coordinator, "each member") + " says who does what"
	case c.Phase == Coordinating:
		return c.Coordinator + " says what matters"
	case c.Phase == Planning:
		return c.Planner + " plans"
	case c.Phase == PlanReview:
		return c.Reviewer + " reviews the plan"
	case c.Phase == WorkReview && c.Approved == "" && work.State == Done && c.Stands == "":
		return c.Reviewer + " reviews the work"
	case work.State == Done && c.Approved != "":
		return work.Label() + ", approved by " + c.Approved
	case work.State == Done && c.Stands == "":
		return work.Label() + ", waits for your approval"
	case work.State == Open && c.Phase == Implementing && c.Hold:
		return "planned, not begun"
	case c.Node != "" && c.Stands != "" && (work.State != Done || c.Approved == "" && !work.Override):
		return c.standing()
	case work.State == Open && c.Phase == Implementing:
		return "waits for its worker"
	}
	return work.Label()
}

// NeedsPerson is why a card goes on only when the person does something; empty: it goes on by
// itself, or it is over. What an agent at work needs, its task says.
func (t *Task) NeedsPerson(work *Task) string {
	switch c := t.Card; {
	case c == nil, t.State == Cancelled, work.State == Cancelled, work.Override, c.Approved != "":
		return ""
	case c.Waits != "":
		return c.Waits
	case c.Stuck != "":
		return c.standing()
	case c.Phase == Implementing && work.State == Done && c.Reviewer == "":
		return "its work waits for your approval"
	}
	return ""
}

// Approved reports whether the work of a task may be merged, as far as a card is about it: the
// task is the card, or takes up work of one that was sent back.
func (l *List) Approved(t *Task) bool {
	if p := l.tasks[t.Parent]; t.Card == nil && p != nil && p.Card != nil && strings.HasPrefix(t.Key, "card-"+p.ID+"-") {
		return t.Override || p.approved()
	}
	return t.approved()
}

// AtNode reports whether a node of a run has the task, and no agent of the organization.
func (t *Task) AtNode() bool { return strings.Contains(t.Agent, "/") }

// approved reports whether its reviewer or the person has approved a card.
func (t *Task) approved() bool { return t.Card == nil || t.Override || t.Card.Approved != "" }

// standing is how the node stands, with the way out.
func (c *Card) standing() string {
	if c.Way == "" {
		return c.Stands
	}
	return c.Stands + " (" + c.Way + ")"
}

// MostSentBack is how often a phase is sent back before the person is asked.
const MostSentBack = 3

// Planned reports whether the plan of the card is made, and nobody begins with the work by itself.
func (c *Card) Planned() bool { return c.Hold && c.Phase == Implementing }

// Rejected reports whether the card waits for the person as its plan or its work is not
// approved.
func (c *Card) Rejected() bool {
	return c.Waits != "" && (c.SentBack > MostSentBack || c.Phase == WorkReview && c.Node != "")
}

// did says what a change of a card has made of it.
func (c *Card) did() string {
	switch {
	case c.Waits != "":
		return "card: needs you: " + c.Waits
	case c.Approved != "":
		return "card: approved by " + c.Approved
	case c.Phase != "":
		return "card: " + string(c.Phase)
	}
	return "card: changed"
}
