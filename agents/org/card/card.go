// Package card moves cards. A card is a task with a room, roles and a phase: planning and
// reviewing are turns of one member of the room, implementing is the work of an agent at the
// task. Next says what follows from an answer, Question what a member is asked. Nothing here
// acts.
package card

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/org/task"
	"cmux/agents/room/marks"
)

// MostSentBack is how often a phase is sent back before the person is asked.
const MostSentBack = task.MostSentBack

// Answer is what has become of a question about a card.
type Answer struct {
	Message int64  // in which it stands
	Text    string // all of it
	Why     string // there is none, and why; empty: there is one
}

// Key names the newest question about a card in its room.
func Key(id string, c *task.Card) string { return fmt.Sprintf("card-%s-%d", id, c.Asked) }

// Who is the member that is asked in the card's phase; empty: nobody is.
func Who(c *task.Card) string {
	switch c.Phase {
	case task.Coordinating:
		return c.Coordinator
	case task.Planning:
		return c.Planner
	case task.PlanReview, task.WorkReview:
		return c.Reviewer
	}
	return ""
}

// Begin is the card when somebody starts it, or starts it again: from where it waits.
func Begin(c task.Card) task.Card {
	c.Waits = ""
	if c.Phase == task.Delegating { // the person has decided
		c.Phase = ""
	}
	switch {
	case nobody(&c):
		return Settled(c)
	case c.Phase != "" && c.Phase != task.Implementing:
		c.SentBack = 0
		return asks(c)
	case c.Phase == task.Implementing:
		c.Hold = false
		return c
	case c.Coordinator != "":
		return enters(c, task.Coordinating)
	case c.Planner != "":
		return enters(c, task.Planning)
	}
	return enters(c, task.Implementing)
}

// Next is the card after an answer to its newest question.
func Next(c task.Card, a Answer) task.Card {
	done := a.Why == "" && marks.Read(a.Text, nil, false).Finishes()
	switch {
	case a.Why != "":
		c.Waits = a.Why
		return c
	case c.Phase == task.Coordinating && done:
		c.Brief, c.Feedback, c.Remark = a.Message, 0, "" // an answer that was not finished is nobody's feedback
		return enters(c, task.Planning)
	case c.Phase == task.Planning && done:
		c.Plan, c.Feedback, c.Remark = a.Message, 0, ""
		if c.Reviewer == "" || c.Reviewer == c.Planner { // nobody reviews a plan of their own
			return enters(c, task.Implementing)
		}
		back := c.SentBack
		c = enters(c, task.PlanReview)
		c.SentBack = back
		return c
	case c.Phase == task.PlanReview && done:
		return enters(c, task.Implementing)
	case c.Phase == task.WorkReview && done:
		c.Approved = c.Reviewer
		return c
	}
	return SendBack(c, a.Message, "")
}

// SendBack is the card when what was made in its phase is not good enough: a message says why,
// or the person's remark. Too often, it waits for the person.
func SendBack(c task.Card, message int64, remark string) task.Card {
	c.Feedback, c.Remark, c.Approved = message, remark, ""
	c.Node, c.Stands, c.Stuck, c.Way = "", "", "", "" // a run goes its way once; a worker takes it up
	if remark != "" {                                 // a person may, as often as they like
		c.SentBack, c.Waits = 0, ""
	} else if c.SentBack++; c.SentBack > MostSentBack {
		c.Waits = fmt.Sprintf("%s has sent it back %d times", Who(&c), MostSentBack)
		if c.Phase == task.Planning || c.Phase == task.Coordinating {
			c.Waits = fmt.Sprintf("%s has answered %d times without [DONE]", Who(&c), c.SentBack)
		}
		return c
	}
	back := c.SentBack
	switch c.Phase {
	case task.PlanReview:
		c = enters(c, task.Planning)
	case task.WorkReview:
		c = enters(c, task.Implementing)
		c.Asked++ // names the task that takes the work up, also where no member is asked
	default:
		c = asks(c)
	}
	c.SentBack = back
	return c
}

// Approve is the card when the person is content with what was made in its phase.
func Approve(c task.Card) task.Card {
	c.Waits, c.Feedback, c.Remark = "", 0, ""
	switch c.Phase {
	case task.Coordinating:
		return enters(c, task.Planning)
	case task.Planning, task.PlanReview:
		return enters(c, task.Implementing)
	}
	c.Approved, c.Stands, c.Stuck, c.Way = "user", "", "", ""
	return c
}

// Reviews is the card when its work is done and its reviewer looks at it.
func Reviews(c task.Card) task.Card {
	back := c.SentBack
	if c = enters(c, task.WorkReview); c.Feedback != 0 || c.Remark != "" {
		c.SentBack = back // of the same work
	}
	return c
}

func enters(c task.Card, p task.Phase) task.Card {
	c.Phase, c.Waits, c.SentBack = p, "", 0
	if p == task.Planning && c.Planner == "" {
		c.Phase = task.Implementing
	}
	return asks(c)
}

// asks has the member of the phase asked again.
func asks(c task.Card) task.Card {
	if Who(&c) != "" {
		c.Asked++
	}
	return c
}

// Recast is the card when somebody has changed who does what. Whoever has its phase now is asked:
// what the one before says does not count any more. A card that waits for the person goes on
// waiting, unless nobody is left to be asked.
func Recast(was, now task.Card) task.Card {
	switch {
	case nobody(&now):
		return Settled(now)
	case now.Approved != "" || now.Waits != "" || Who(&was) == Who(&now):
		return now
	}
	now.SentBack = 0
	return asks(now)
}

// nobody reports whether a card is in a phase in which a member is asked, and nobody is to be:
// also nobody reviews a plan of their own.
func nobody(c *task.Card) bool {
	return c.Phase.Asks() && c.Approved == "" && c.Node == "" && (Who(c) == "" || c.Phase == task.PlanReview && c.Reviewer == c.Planner)
}

// Settled is the card past a phase in which nobody is to be asked. Work that nobody reviews waits
// for the person.
func Settled(c task.Card) task.Card {
	switch {
	case !nobody(&c):
		return c
	case c.Phase == task.Coordinating:
		c = enters(c, task.Planning)
	default:
		c = enters(c, task.Implementing)
	}
	c.Feedback, c.Remark = 0, ""
	return c
}

// With are the members who have a role in a card, each once.
func With(c *task.Card) (all []string) {
	for _, name := range []string{c.Coordinator, c.Planner, c.Implementer, c.Reviewer} {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Moved says in one line where a card stands now. It says the same while an agent works at it,
// however its work goes on.
func Moved(t, work *task.Task) string {
	at := t.Column(work)
	s := fmt.Sprintf("%s %s: %s", t.ID, t.Title, cmp.Or(string(at), "cancelled"))
	switch {
	case t.Card.Waits != "":
		s += ", waits for the person"
	case at == task.InReview && t.Card.Node != "" && t.Card.Phase == task.WorkReview:
		s += ", a node reviews the work"
	case at == task.InPlanning, at == task.InReview:
		s += ", " + t.CardLabel(work)
	case at == task.InDone && work.Override:
		s += ", by the person"
	case at == task.InDone:
		s += ", approved by " + t.Card.Approved
	}
	return s
}

// Missing are the roles that a card needs and has not, as the options that name them.
func Missing(c *task.Card) (all []string) {
	if c.Implementer == "" {
		all = append(all, "--implementer")
	}
	return all
}

// Said is an answer about a card without the line that ends its phase.
func Said(text string) string {
	var b strings.Builder
	for _, p := range marks.Pieces(text, nil) {
		if p.Kind != marks.Status || p.Mark != marks.Done || !p.Alone {
			b.WriteString(p.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// Facts are what a question says about a card.
type Facts struct {
	Room  string
	Brief string // what the coordinator said
	Plan  string
	Back  string // why it was sent back
	Work  string // of a review: commits, changes and checks
}

// Question is what the member of the card's phase is asked.
func Question(t *task.Task, f Facts) string {
	c := t.Card
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Card %s: %s", t.ID, t.Title)
	part := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			line("\n%s:\n\n%s", title, text)
		}
	}
	part("What it asks for", Body(t.Body))
	if len(t.Verify) > 0 {
		part("Its checks", strings.Join(t.Verify, "\n"))
	}
	part("What matters, says "+c.Coordinator, f.Brief)
	const end = "Put [DONE] on a line of its own at the end. An answer without it counts as not finished, and you are asked again."
	const verdict = "If it is good as it is, end with [DONE] on a line of its own. Otherwise say what must change, without [DONE]: %s is asked again, with your words."
	switch c.Phase {
	case task.Coordinating:
		line("\nYou coordinate this card. Say for %s what matters: the aim, what must not change, what to look at first. Write no plan. %s", cmp.Or(c.Planner, "whoever implements it"), end)
	case task.Planning:
		part("The plan so far", f.Plan)
		part("It was sent back", f.Back)
		line("\nYou plan this card, and %s implements it. Read what you need. Write the whole plan: files and functions, steps in their order, how it is checked, what could go wrong. %s", cmp.Or(c.Implementer, "another agent"), end)
	case task.PlanReview:
		part("The plan of "+c.Planner, f.Plan)
		line("\nYou review this plan. Look for what is wrong, missing or not needed, in the code itself where that matters. "+verdict, c.Planner)
	case task.WorkReview:
		part("The plan", f.Plan)
		part("The work", f.Work)
		part("It was sent back before", f.Back)
		line("\nYou review this work: does it do what the card asks for, and nothing else? Read the changes, and the code around them. "+verdict, c.Implementer)
	}
	return b.String()
}

// Order is what the implementer is told besides the card's own text.
func Order(t *task.Task, f Facts) string {
	var b strings.Builder
	part := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(&b, "\n\n## %s\n\n%s", title, text)
		}
	}
	part(marker, "It is a card of the room "+f.Room+".")
	part("What matters", f.Brief)
	part("Plan", f.Plan)
	return b.String()
}

// marker is the title under which the room's words begin in a task's text.
const marker = "From the room"

// Body is the card's own text, without what Order has added.
func Body(body string) string {
	own, _, _ := strings.Cut(body, "\n\n## "+marker+"\n")
	return own
}
