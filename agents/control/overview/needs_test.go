package overview

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/rooms"
	"cmux/agents/kinds/question"
	"cmux/agents/room"
	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
	"cmux/dag"
	"cmux/signals"
)

// What a member asks stands with its agent, and once; what keeps nothing from going on is no
// need.
func TestRoomNeeds(t *testing.T) {
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	member := func(name string, state string) rooms.Member {
		return rooms.Member{Name: name, Agent: "design." + name, State: state}
	}
	wait := func(who string, way rooms.Way, do ...room.Do) rooms.Wait {
		return rooms.Wait{What: "w", Try: "cmux rooms x", Who: who, Way: way, Do: do, Holds: true, Since: at}
	}
	idle := wait("", rooms.WayOrder, room.DoResume)
	idle.Holds = false
	all := []rooms.View{
		{Room: rooms.About{Name: "design", Label: "talking (ann)"}, Members: []rooms.Member{member("ann", "needs input"), member("ben", "taken over"), member("carl", "down"), member("dora", "needs input")},
			Waits: []rooms.Wait{wait("ann", rooms.WayAnswer), wait("ben", rooms.WayTerminal), wait("carl", rooms.WayOrder, room.DoWake), wait("dora", rooms.WayTerminal)}},
		{Room: rooms.About{Name: "idle", Label: "paused"}, Waits: []rooms.Wait{idle}},
		{Room: rooms.About{Name: "full", Label: "capped: turns are used up"}, Waits: []rooms.Wait{wait("", rooms.WayOrder, room.DoContinue)}},
		{Room: rooms.About{Name: "spent", Label: "capped: " + room.OutOfTokens}, Waits: []rooms.Wait{wait("", rooms.WayCommand)}},
		{Room: rooms.About{Name: "foreign"}, Err: errors.New("no line counts")},
	}
	known := []Need{{Kind: NeedAgent, Name: "worker"}, {Kind: NeedAgent, Name: "design.ann"}}
	var got []string
	ids := make(map[string]bool)
	for _, n := range roomNeeds(all, known) {
		got = append(got, fmt.Sprint(n.Room, " ", n.title(), " ", n.Agent, " ", n.Label, " ", n.Orders))
		ids[n.ID] = true
	}
	want := []string{"design ben in design design.ben taken over [release terminal]", "design carl in design design.carl down [wake]", "full full  capped: turns are used up [continue]",
		"spent spent  capped: " + room.OutOfTokens + " []", "foreign foreign  cannot be read []"}
	if !slices.Equal(got, want) || len(ids) != len(want) {
		t.Errorf("%q\nwant\n%q\n%v", got, want, ids)
	}
	if known[0].Room != "" || known[1].Room != "design" {
		t.Errorf("%+v", known)
	}
}

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
		{Kind: NeedAgent, Name: "worker", Label: "needs input", Question: &question.Question{Silent: true}},
		{Kind: NeedAgent, Name: "worker", Label: "down"},
		{Kind: NeedMessage, Name: "m1", Label: "unread", Text: "Which\nroad?"},
		{Kind: NeedTask, Name: "t1", Label: "blocked"},
		{Kind: NeedRoom, Name: "design", Label: "paused"},
		{Kind: NeedRoom, Name: "design", Member: "ann", Label: "down"},
	} {
		n.Called, n.Title = n.called(), n.title()
		said = append(said, n.Line())
	}
	want := []string{"Gate ship in shop: needs input", "Question ask in shop: needs input", "Agent api in shop: taken over", "Dialog trust in shop: needs input",
		"Permission worker: needs input", "Question worker: needs input", "No report worker: needs input", "Agent worker: down", "Message Which road?: unread", "Task t1: blocked",
		"Room design: paused", "Room ann in design: down"}
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

// A limit names the nodes that it holds up. A conflict is over when one of its nodes is
// dropped, and offers to drop those that are done.
func TestNeedsOfALimitAndAConflict(t *testing.T) {
	records := []run.Record{
		{Type: run.RunnerUp, At: runtest.At(-10)},
		{Type: run.Started, Node: "api", Attempt: 1, At: runtest.At(-10)},
		{Type: run.Started, Node: "left", Attempt: 1, At: runtest.At(-10)},
		{Type: run.Started, Node: "right", Attempt: 1, At: runtest.At(-10)},
		{Type: run.AttemptEnd, Node: "left", Attempt: 1, At: runtest.At(-8), Tip: "1111", End: &run.End{Outcome: dag.Done, Commits: 1}},
		{Type: run.Collided, At: runtest.At(-7), Collision: &run.Collision{A: "left", B: "right", Files: []string{"a", "b"}, Conflicts: []string{"a"}}},
		{Type: run.Limited, Node: "api", Attempt: 1, Account: "one", Until: runtest.At(60), Detail: "resets later", At: runtest.At(-6)},
		{Type: run.Active, Node: "api", Attempt: 1, Activity: dag.AtLimit, Until: runtest.At(60), At: runtest.At(-6)},
	}
	view := func(more ...run.Record) []Need {
		v := runtest.View(t, `
session: shop
agents:
  - {name: api, account: one, task: x}
  - {name: web, account: two, task: x}
  - {name: left, task: x}
  - {name: right, task: x}
`, append(slices.Clone(records), more...)...)
		v.Holder = &signals.Holder{PID: 42}
		v.Limits = []run.AccountLimit{{Account: "one", Limit: run.Limit{Since: runtest.At(-6), Until: runtest.At(60)}}}
		return ViewNeeds(v)
	}
	var said []string
	for _, n := range view() {
		said = append(said, fmt.Sprint(n.Kind, " ", n.Name, " ", n.Nodes, " ", n.Files, " ", n.Orders))
	}
	if want := []string{"limit one [api] [] [release]", "conflict left, right [left] [a] []"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	for _, n := range view(run.Record{Type: run.Reviewed, Node: "left", How: string(run.VerdictDropped), At: runtest.At(-5)}) {
		if n.Kind == NeedConflict {
			t.Errorf("%+v: left is dropped", n)
		}
	}
}
