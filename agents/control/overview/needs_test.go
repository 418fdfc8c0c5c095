package overview

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/question"
)

// Each need is called what a person calls it, here and in the inbox.
func TestNeedLines(t *testing.T) {
	asks := &question.Question{Parts: []question.Part{{Text: "Which?"}}}
	var said []string
	for _, n := range []Need{
		{Kind: NeedNode, Name: "ship", Session: "shop", Label: "needs input", Orders: []string{"approve", "override"}},
		{Kind: NeedNode, Name: "ask", Session: "shop", Label: "needs input", Question: asks},
		{Kind: NeedNode, Name: "api", Session: "shop", Label: "taken over", Orders: []string{"release"}},
		{Kind: NeedNode, Name: "trust", Session: "shop", Label: "needs input", Question: &question.Question{InPane: true}},
		{Kind: NeedAgent, Name: "worker", Label: "needs input", Question: &question.Question{Permission: &question.Permission{Tool: "Bash"}}},
		{Kind: NeedAgent, Name: "worker", Label: "needs input", Question: asks},
		{Kind: NeedAgent, Name: "worker", Label: "down"},
		{Kind: NeedMessage, Name: "m1", Label: "unread", Text: "Which\nroad?"},
		{Kind: NeedTask, Name: "t1", Label: "blocked"},
	} {
		n.Called, n.Title = n.called(), n.title()
		said = append(said, n.Line())
	}
	want := []string{"Gate ship in shop: needs input", "Question ask in shop: needs input", "Agent api in shop: taken over", "Dialog trust in shop: needs input",
		"Permission worker: needs input", "Question worker: needs input", "Agent worker: down", "Message Which road?: unread", "Task t1: blocked"}
	if !slices.Equal(said, want) {
		t.Errorf("%s", strings.Join(said, "\n"))
	}
}

// What keeps work from going on is before what does not, each the longest first.
func TestNeedsInOrder(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC) }
	all := []Need{{ID: "old mail", Kind: NeedMessage, Since: at(1)}, {ID: "work", Kind: NeedReview, Since: at(2)}, {ID: "asks", Kind: NeedNode, Since: at(4)}, {ID: "failed", Kind: NeedFailure, Since: at(3)}}
	slices.SortFunc(all, byRank)
	var ids []string
	for _, n := range all {
		ids = append(ids, n.ID)
	}
	if want := []string{"failed", "asks", "old mail", "work"}; !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
}
