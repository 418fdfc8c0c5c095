package card

import (
	"slices"
	"strings"
	"testing"

	"cmux/agents/org/task"
	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestNamed(t *testing.T) {
	names := []string{"ann", "bob", "Cee"}
	for text, want := range map[string]string{
		"Planner: @ann, Implementer: @bob, Reviewer: @cee":         "planner ann, implementer bob, reviewer Cee",
		"**Planner:** @ann\n- Implementer : bob\nreviewer: _@CEE_": "planner ann, implementer bob, reviewer Cee",
		"Planner: @ann or @bob":                                    "planner ann bob",
		"Planner: I think ann":                                     "",
		"Planner: @zed":                                            "planner zed",
		"> Planner: @ann":                                          "",
		"```\nPlanner: @ann\n```":                                  "",
		"`Planner: @ann`":                                          "",
		"Coordinator: @ann Planner: @bob Planner: @bob":            "coordinator ann, planner bob",
		"The planner is ann.":                                      "",
		"":                                                         "",
	} {
		r := Named(text, names)
		var got []string
		for _, role := range []string{"coordinator", "planner", "implementer", "reviewer"} {
			if all := *r.of(role); len(all) > 0 {
				got = append(got, role+" "+strings.Join(all, " "))
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q: %s; want %s", text, s, want)
		}
	}
}

func TestDelegated(t *testing.T) {
	names := []string{"ann", "bob", "cee"}
	for _, c := range []struct {
		texts []string
		why   string
	}{
		{[]string{"Planner: @ann, Implementer: @bob, Reviewer: @cee"}, ""},
		{[]string{"Planner: @ann, Implementer: @bob", "", "Reviewer: @cee, Planner: @ANN"}, ""},
		{[]string{"Planner: @ann, Implementer: @bob, Reviewer: @cee", "Planner: @bob, Implementer: @bob, Reviewer: @cee"}, "more than one is named as planner: ann, bob"},
		{[]string{"Planner: @ann, Reviewer: @cee"}, "nobody is named as implementer"},
		{[]string{"Planner: @zed, Implementer: @bob, Reviewer: @cee"}, "1 names zed as planner, and nobody in the room is called so"},
		{[]string{"Planner: @ann, Implementer: @bob, Reviewer: @cee, Coordinator: @ann", "Coordinator: @bob"}, "more than one is named as coordinator: ann, bob"},
		{nil, "nobody is named as planner"},
	} {
		var offers []Offer
		for i, text := range c.texts {
			offers = append(offers, Offer{By: string(rune('1' + i)), Roles: Named(text, names)})
		}
		was := Delegate(task.Card{Room: "r", Reviewer: "bob"})
		got, why := Delegated(was, offers, names)
		if why != c.why || why != "" && got != was || why == "" && (got.Planner != "ann" || got.Implementer != "bob" || got.Reviewer != "cee" || got.Phase != "") {
			t.Errorf("%q: %q, %+v", c.texts, why, got)
		}
	}
}

// Whatever a member answers, a role is taken only if it is that of a member.
func FuzzDelegated(f *testing.F) {
	f.Add("Planner: @ann, Implementer: @bob, Reviewer: @cee", "Coordinator: bob")
	f.Add("planner:@@ann ```", "> Reviewer: @x\nReviewer:\n@y")
	names := []string{"ann", "bob", "cee"}
	f.Fuzz(func(t *testing.T, a, b string) {
		got, why := Delegated(Delegate(task.Card{}), []Offer{{By: "1", Roles: Named(a, names)}, {By: "2", Roles: Named(b, names)}}, names)
		for _, name := range []string{got.Planner, got.Implementer, got.Reviewer} {
			if why == "" && !slices.Contains(names, name) || why != "" && name != "" {
				t.Errorf("%q, %q: %+v, %s", a, b, got, why)
			}
		}
	})
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// A move takes a card to the column that it names, and none is missing a reason.
func TestMoves(t *testing.T) {
	all := task.Card{Planner: "a", Implementer: "b", Reviewer: "c"}
	with := func(p task.Phase, waits string) task.Card {
		c := all
		c.Phase, c.Waits = p, waits
		return c
	}
	alone := task.Card{Implementer: "b"}
	own := alone
	own.Phase = task.Implementing
	for name, c := range map[string]struct {
		card  task.Card
		state task.State
		want  string
	}{
		"new":                  {task.Card{}, task.Open, "done by done (sure)"},
		"with roles":           {all, task.Open, "planning by start, done by done (sure)"},
		"nobody plans":         {alone, task.Open, "implementing by start, done by done (sure)"},
		"asked who":            {with(task.Delegating, ""), task.Open, "done by done (sure)"},
		"who is open":          {with(task.Delegating, "who?"), task.Open, "planning by start, done by done (sure)"},
		"planned":              {with(task.Planning, ""), task.Open, "backlog by backlog, implementing by approve, done by done (sure)"},
		"its plan is reviewed": {with(task.PlanReview, "c passed"), task.Open, "backlog by backlog, planning by send-back (why), implementing by approve, done by done (sure)"},
		"waits for its worker": {own, task.Open, "backlog by backlog, done by done (sure)"},
		"at work":              {own, task.Working, "done by done (sure)"},
		"failed":               {own, task.Failed, "done by done (sure)"},
		"its work is reviewed": {with(task.WorkReview, ""), task.Done, "implementing by send-back (why), done by approve"},
		"nobody reviews":       {own, task.Done, "implementing by send-back (why), done by approve"},
		"cancelled":            {all, task.Cancelled, ""},
	} {
		x := &task.Task{ID: "t1", State: c.state, Card: &c.card}
		var got []string
		moves := Moves(x, x)
		for _, m := range moves {
			s := string(m.To) + " by " + string(m.Do)
			if m.Asks != "" {
				s += " (" + string(m.Asks) + ")"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s; want %s", name, s, c.want)
		}
		for _, to := range task.Columns() {
			if !slices.ContainsFunc(moves, func(m Move) bool { return m.To == to }) && Refused(x, x, to) == "" {
				t.Errorf("%s: nothing says why it does not move to %s", name, to)
			}
		}
		for _, m := range moves { // it does what it says
			next := *x
			switch m.Do {
			case Starts:
				to := Begin(*x.Card)
				next.Card = &to
			case Approves:
				to := Approve(*x.Card)
				next.Card = &to
			case PutsBack:
				to := PutBack(*x.Card)
				next.Card = &to
			case Overrides:
				next.State, next.Override = task.Done, true
			case SendsBack: // the work is that of another task
				to := *x.Card
				if to.Phase == task.Implementing {
					to.Phase = task.WorkReview
				}
				to = SendBack(to, 0, "why")
				next.Card = &to
				if to.Phase == task.Implementing {
					next.State = task.Open
				}
			}
			if at := next.Column(&next); at != m.To {
				t.Errorf("%s: %s takes it to %s, not to %s", name, m.Do, at, m.To)
			}
		}
	}
}
