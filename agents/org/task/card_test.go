package task

import "testing"

// TestColumn holds where a card stands, and whether its work may be merged.
func TestColumn(t *testing.T) {
	for name, c := range map[string]struct {
		card     *Card
		state    State
		override bool
		merged   bool
		column   Column
		merge    bool
	}{
		"no card":         {nil, Open, false, false, "", true},
		"in the backlog":  {&Card{Reviewer: "r"}, Open, false, false, InBacklog, false},
		"coordinated":     {&Card{Phase: Coordinating}, Open, false, false, InPlanning, false},
		"planned":         {&Card{Phase: Planning, Reviewer: "r"}, Open, false, false, InPlanning, false},
		"its plan read":   {&Card{Phase: PlanReview, Reviewer: "r"}, Open, false, false, InReview, false},
		"to be begun":     {&Card{Phase: Implementing}, Open, false, false, InImplementing, false},
		"at work":         {&Card{Phase: Implementing}, Working, false, false, InImplementing, false},
		"blocked":         {&Card{Phase: Implementing}, Blocked, false, false, InImplementing, false},
		"failed":          {&Card{Phase: Implementing}, Failed, false, false, InImplementing, false},
		"read":            {&Card{Phase: WorkReview, Reviewer: "r"}, Done, false, false, InReview, false},
		"approved":        {&Card{Phase: WorkReview, Reviewer: "r", Approved: "r"}, Done, false, false, InDone, true},
		"nobody reviews":  {&Card{Phase: Implementing}, Done, false, false, InReview, false},
		"merged":          {&Card{Phase: Implementing, Approved: "user"}, Done, false, true, InDone, true},
		"a person's done": {&Card{Phase: Implementing, Reviewer: "r"}, Done, true, false, InDone, true},
		"cancelled":       {&Card{Phase: Planning}, Cancelled, false, false, "", false},
	} {
		tk := &Task{ID: "t1", State: c.state, Override: c.override, Card: c.card}
		if c.merged {
			tk.Merged = &Merged{Commit: "1234"}
		}
		if got := tk.Column(tk); got != c.column {
			t.Errorf("%s: it stands in %q, want %q", name, got, c.column)
		}
		if got := new(List).Approved(tk); got != c.merge {
			t.Errorf("%s: it may be merged: %v", name, got)
		}
		if c.card != nil && tk.CardLabel(tk) == "" {
			t.Errorf("%s: no label", name)
		}
	}
}
