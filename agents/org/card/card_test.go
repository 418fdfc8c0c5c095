package card

import (
	"strings"
	"testing"

	"cmux/agents/org/task"
)

// play takes a card through answers, and says where it was: a phase each, with ! where it
// waits for the person and + where it is approved.
func play(c task.Card, answers ...Answer) string {
	var all []string
	note := func() {
		s := string(c.Phase)
		if c.Waits != "" {
			s += "!"
		}
		if c.Approved != "" {
			s += "+"
		}
		all = append(all, s)
	}
	c = Begin(c)
	note()
	for _, a := range answers {
		asked := c.Asked
		if c = Next(c, a); c.Phase.Asks() && c.Waits == "" && c.Approved == "" && c.Asked == asked {
			return "the next question is not asked"
		}
		note()
		if c.Phase == task.Implementing {
			c = Reviews(c)
			note()
		}
	}
	return strings.Join(all, ", ")
}

func TestNext(t *testing.T) {
	all := task.Card{Coordinator: "a", Planner: "b", Implementer: "c", Reviewer: "d"}
	done, text, passed := Answer{Message: 7, Text: "so\n[DONE]"}, Answer{Message: 8, Text: "not [DONE] yet"}, Answer{Why: "b passed"}
	for name, c := range map[string]struct {
		card    task.Card
		answers []Answer
		want    string
	}{
		"straight":           {all, []Answer{done, done, done, done}, "coordinating, planning, plan review, implementing, review, review+"},
		"no coordinator":     {task.Card{Planner: "b", Implementer: "c", Reviewer: "d"}, []Answer{done, done}, "planning, plan review, implementing, review"},
		"nobody plans":       {task.Card{Implementer: "c", Reviewer: "d"}, nil, "implementing"},
		"coordinator alone":  {task.Card{Coordinator: "a", Implementer: "c"}, []Answer{done}, "coordinating, implementing, review"},
		"its own reviewer":   {task.Card{Planner: "b", Implementer: "c", Reviewer: "b"}, []Answer{done}, "planning, implementing, review"},
		"nobody reviews":     {task.Card{Planner: "b", Implementer: "c"}, []Answer{done}, "planning, implementing, review"},
		"unfinished plan":    {task.Card{Planner: "b", Implementer: "c"}, []Answer{text, text, text, text}, "planning, planning, planning, planning, planning!"},
		"plan sent back":     {task.Card{Planner: "b", Implementer: "c", Reviewer: "d"}, []Answer{done, text, done, text, done, text, done, text}, "planning, plan review, planning, plan review, planning, plan review, planning, plan review, plan review!"},
		"a pass is nothing":  {task.Card{Planner: "b", Implementer: "c"}, []Answer{passed}, "planning, planning!"},
		"in code is no mark": {task.Card{Planner: "b", Implementer: "c"}, []Answer{{Text: "```\n[DONE]\n```"}}, "planning, planning"},
	} {
		if got := play(c.card, c.answers...); got != c.want {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
}

// A person is never outvoted: approving goes on from each phase, and sending back with words
// begins to count from 0.
func TestPerson(t *testing.T) {
	c := task.Card{Coordinator: "a", Planner: "b", Implementer: "c", Reviewer: "d", Waits: "b passed", SentBack: 3}
	for from, want := range map[task.Phase]task.Phase{task.Coordinating: task.Planning, task.Planning: task.Implementing, task.PlanReview: task.Implementing} {
		c.Phase = from
		if got := Approve(c); got.Phase != want || got.Waits != "" {
			t.Errorf("approved in %s: %+v", from, got)
		}
	}
	c.Phase = task.WorkReview
	if got := Approve(c); got.Approved != "user" || got.Waits != "" {
		t.Errorf("%+v", got)
	}
	for from, want := range map[task.Phase]task.Phase{task.Planning: task.Planning, task.PlanReview: task.Planning, task.WorkReview: task.Implementing} {
		c.Phase = from
		if got := SendBack(c, 0, "the other way"); got.Phase != want || got.Waits != "" || got.Remark != "the other way" || got.SentBack != 0 {
			t.Errorf("sent back in %s: %+v", from, got)
		}
	}
}

// What a member is asked has the card, what it needs for it, and how it ends its answer.
func TestQuestion(t *testing.T) {
	tk := &task.Task{ID: "t1", Title: "Sessions", Body: "Keep the flag.", Verify: []string{"make test"}, Card: &task.Card{Coordinator: "a", Planner: "b", Implementer: "c", Reviewer: "d"}}
	f := Facts{Brief: "the aim", Plan: "the plan", Back: "a table is missing", Work: "3 commits"}
	for phase, want := range map[task.Phase][]string{
		task.Coordinating: {"Keep the flag.", "make test", "You coordinate"},
		task.Planning:     {"the aim", "the plan", "a table is missing", "You plan this card, and c implements it"},
		task.PlanReview:   {"the plan", "You review this plan", "b is asked again"},
		task.WorkReview:   {"the plan", "3 commits", "You review this work", "c is asked again"},
	} {
		tk.Card.Phase = phase
		got := Question(tk, f)
		for _, part := range append(want, "Card t1: Sessions", "[DONE]") {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is missing:\n%s", phase, part, got)
			}
		}
	}
	if body := tk.Body + Order(tk, f); Body(body) != tk.Body || !strings.Contains(body, "## Plan\n\nthe plan") {
		t.Errorf("%s", body)
	}
}

func TestSaid(t *testing.T) {
	for text, want := range map[string]string{
		"a plan\n[DONE]": "a plan", "[DONE]\na plan": "a plan", "a plan [DONE]": "a plan [DONE]", "```\n[DONE]\n```": "```\n[DONE]\n```", "": "",
	} {
		if got := Said(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Whoever has a phase now is asked, and a phase that has no member is left.
func TestRecast(t *testing.T) {
	all := task.Card{Coordinator: "a", Planner: "b", Implementer: "c", Reviewer: "d", Asked: 3, Feedback: 9}
	for name, c := range map[string]struct {
		phase  task.Phase
		change func(*task.Card)
		want   task.Phase
		asks   bool
	}{
		"another coordinator":  {task.Coordinating, func(c *task.Card) { c.Coordinator = "e" }, task.Coordinating, true},
		"no coordinator":       {task.Coordinating, func(c *task.Card) { c.Coordinator = "" }, task.Planning, true},
		"another planner":      {task.Planning, func(c *task.Card) { c.Planner = "e" }, task.Planning, true},
		"no planner":           {task.Planning, func(c *task.Card) { c.Planner = "" }, task.Implementing, false},
		"another reviewer":     {task.PlanReview, func(c *task.Card) { c.Reviewer = "e" }, task.PlanReview, true},
		"no reviewer":          {task.PlanReview, func(c *task.Card) { c.Reviewer = "" }, task.Implementing, false},
		"the planner reviews":  {task.PlanReview, func(c *task.Card) { c.Reviewer = "b" }, task.Implementing, false},
		"another for the work": {task.WorkReview, func(c *task.Card) { c.Reviewer = "e" }, task.WorkReview, true},
		"nobody for the work":  {task.WorkReview, func(c *task.Card) { c.Reviewer = "" }, task.Implementing, false},
		"a role of later":      {task.Planning, func(c *task.Card) { c.Reviewer = "e" }, task.Planning, false},
		"approved":             {task.WorkReview, func(c *task.Card) { c.Reviewer, c.Approved = "e", "d" }, task.WorkReview, false},
	} {
		was := all
		was.Phase = c.phase
		now := was
		c.change(&now)
		got := Recast(was, now)
		if got.Phase != c.want || (got.Asked != was.Asked) != c.asks {
			t.Errorf("%s: %s, asked %d; want %s, asked again %v", name, got.Phase, got.Asked, c.want, c.asks)
		}
		if got.Phase == task.Implementing && got.Feedback != 0 {
			t.Errorf("%s: work that was never done counts as sent back", name)
		}
		now.Waits = "bob passed"
		if b := Begin(Recast(was, now)); b.Phase.Asks() && b.Approved == "" && Who(&b) == "" {
			t.Errorf("%s: it is started, and nobody is asked", name)
		}
	}
}

// What was not finished is no feedback about work, and each time that work is sent back has a
// name of its own, so that each is taken up.
func TestSentBackOnce(t *testing.T) {
	c := Begin(task.Card{Coordinator: "a", Implementer: "c"})
	c = Next(Next(c, Answer{Message: 3, Text: "half"}), Answer{Message: 4, Text: "all\n[DONE]"})
	if c.Phase != task.Implementing || c.Feedback != 0 {
		t.Errorf("%+v", c)
	}
	for _, reviewer := range []string{"", "d"} {
		c, seen := task.Card{Implementer: "c", Reviewer: reviewer, Phase: task.WorkReview}, map[int]bool{}
		for range 3 {
			c.Phase = task.WorkReview
			if c = SendBack(c, 0, "no"); seen[c.Asked] || c.Phase != task.Implementing {
				t.Errorf("reviewer %q: %+v", reviewer, c)
			}
			seen[c.Asked] = true
			c = Reviews(c)
		}
	}
}
