package card

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cmux/agents/org/task"
	"cmux/dag"
)

// listOf folds changes into a list without asking whether they are legal, as a file is read.
func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:8])
}

func listOf(t testing.TB, changes ...task.Change) *task.List {
	t.Helper()
	l := new(task.List)
	for _, c := range changes {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Take(b); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
	}
	return l
}

// added is the change that adds a card.
func added(id, title string, c task.Card, after ...string) task.Change {
	backlog := true
	c.Room = "design"
	return task.Change{Task: id, Op: task.OpAdd, By: "user", Fields: task.Fields{Title: &title, Card: &c, Backlog: &backlog, After: &after}}
}

// deciding is a room with ada, bob and eve, who has left.
func deciding(l *task.List) Deciding {
	return Deciding{
		Room: "design", List: l, Verify: []string{"true"},
		Maker: func(name string) (Maker, bool) {
			return Maker{Kind: "claude", Model: map[string]string{"bob": "haiku"}[name], Role: "I am " + name}, slices.Contains([]string{"ada", "bob", "eve"}, name)
		},
		Facts:  func(t *task.Task) Facts { return Facts{Plan: map[int64]string{7: "first: that"}[t.Card.Plan]} },
		Agreed: func(*task.Task) []string { return []string{"D1: SQLite"} },
	}
}

func parsed(t testing.TB, p Plan) (*dag.Graph, error) {
	t.Helper()
	g, _, err := dag.Parse("plan.yml", []byte(p.Text("../schema.json", sum)), dag.ParseOptions{})
	return g, err
}

// A card becomes a node, its reviewer another, and what comes after it waits for both.
func TestMake(t *testing.T) {
	l := listOf(t,
		added("t1", "Sessions: in \"SQLite\"", task.Card{Implementer: "ada", Reviewer: "bob"}),
		added("t2", "The API", task.Card{Implementer: "eve"}, "t1"),
		added("t3", "日本語", task.Card{Implementer: "ada", Planner: "bob", Phase: task.Implementing, Hold: true, Plan: 7}, "t1", "t2"),
		added("t4", "Later", task.Card{Implementer: "ada", Planner: "bob"}),
		added("t5", "Whose?", task.Card{}),
		added("t6", "On the way", task.Card{Implementer: "ada", Planner: "bob", Phase: task.Planning}))
	p := Make(deciding(l))
	if len(p.Faults) > 0 {
		t.Fatal(p.Faults)
	}
	g, err := parsed(t, p)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Text("x", sum))
	}
	if got, want := g.Names(), []string{"t1-sessions-in-sqlite", "t1-sessions-in-sqlite-review", "t2-the-api", "t3"}; !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
	first, review, api, third := g.Nodes[0], g.Nodes[1], g.Nodes[2], g.Nodes[3]
	if first.Branch != "task/t1-sessions-in-sqlite" || !slices.Equal(first.Verify, []string{"true"}) || !strings.Contains(first.Task, "D1: SQLite") || !strings.Contains(first.Task, "I am ada") {
		t.Errorf("%+v", first)
	}
	if review.Role != dag.RoleReview || review.Model != "haiku" || !slices.Equal(review.DependsOn, []string{first.Name}) {
		t.Errorf("%+v", review)
	}
	if !slices.Equal(api.DependsOn, []string{first.Name, review.Name}) || !strings.Contains(api.Task, "I am eve") {
		t.Errorf("%+v", api)
	}
	if !strings.Contains(third.Task, "first: that") || !slices.Equal(third.DependsOn, []string{first.Name, review.Name, api.Name}) {
		t.Errorf("%+v", third)
	}
	for id, want := range map[string]string{"t4": "bob is to plan it first", "t5": "nobody implements it", "t6": "it is started: bob plans"} {
		if !slices.ContainsFunc(p.Left, func(o Left) bool { return o.Card == id && o.Why == want }) {
			t.Errorf("%s is not left out as %q: %+v", id, want, p.Left)
		}
	}
	seats, err := Seats(g)
	if want := map[string]Seat{"t1": {0, 1}, "t2": {2, -1}, "t3": {3, -1}}; err != nil || fmt.Sprint(seats) != fmt.Sprint(want) {
		t.Errorf("%v, %v", seats, err)
	}
}

// What keeps a plan from being made is said, with the card.
func TestFaults(t *testing.T) {
	ada := task.Card{Implementer: "ada"}
	title := "A task"
	for name, c := range map[string]struct {
		list []task.Change
		want string
	}{
		"after a card that is not decided":  {[]task.Change{added("t1", "a", task.Card{}), added("t2", "b", ada, "t1")}, "t2: it comes after the card t1, which is not in the plan and not done (backlog)"},
		"after a task that is not done":     {[]task.Change{{Task: "t1", Op: task.OpAdd, Fields: task.Fields{Title: &title}}, added("t2", "b", ada, "t1")}, "t2: it comes after the task t1, which is not done (open)"},
		"after what is not there":           {[]task.Change{added("t2", "b", ada, "t9")}, "t2: it comes after t9, which is not there"},
		"after each other":                  {[]task.Change{added("t1", "a", ada, "t3"), added("t2", "b", ada, "t1"), added("t3", "c", ada, "t2")}, "t1: cards come after each other, so none can begin: t1 after t3 after t2 after t1"},
		"after itself":                      {[]task.Change{added("t1", "a", ada, "t1")}, "t1: cards come after each other, so none can begin: t1 after t1"},
		"an implementer who was never here": {[]task.Change{added("t1", "a", task.Card{Implementer: "zoe"})}, "t1: its implementer zoe was never a member of the room"},
		"a reviewer who was never here":     {[]task.Change{added("t1", "a", task.Card{Implementer: "ada", Reviewer: "zoe"})}, "t1: its reviewer zoe was never a member of the room"},
	} {
		p := Make(deciding(listOf(t, c.list...)))
		got := []string{}
		for _, f := range p.Faults {
			got = append(got, f.Card+": "+f.Why)
		}
		if !slices.Contains(got, c.want) || len(p.Nodes) > 0 {
			t.Errorf("%s: %q, %d nodes; want %q", name, got, len(p.Nodes), c.want)
		}
	}
}

// A dependency on what is done falls away; work that is not merged is named.
func TestDoneBefore(t *testing.T) {
	l := listOf(t, added("t1", "a", task.Card{Implementer: "ada"}), task.Change{Task: "t1", Saw: 1, Op: task.OpOverride, By: "user"}, added("t2", "b", task.Card{Implementer: "ada"}, "t1"))
	p := Make(deciding(l))
	if len(p.Faults) > 0 || len(p.Nodes) != 1 || len(p.Nodes[0].Requires) > 0 {
		t.Fatalf("%+v", p)
	}
	if !slices.ContainsFunc(p.Notes, func(n Left) bool {
		return n.Card == "t2" && strings.Contains(n.Why, "t1, which is done but not merged")
	}) {
		t.Errorf("%+v", p.Notes)
	}
}

// cmux sees whether its text was edited.
func TestEdited(t *testing.T) {
	p := Make(deciding(listOf(t, added("t1", "a", task.Card{Implementer: "ada"}))))
	text := p.Text("x", sum)
	if Edited(text, sum) {
		t.Error("what cmux made counts as edited")
	}
	if !Edited(text, func(text string) string { return sum("another key" + text) }) {
		t.Error("a mark that somebody else has made counts as cmux's")
	}
	for _, other := range []string{"", "session: a\n", text + "\n", strings.Replace(text, "t1-a", "t1-b", 1), "# mine\n" + text, strings.Replace(text, madeMark, madeMark+"0", 1)} {
		if !Edited(other, sum) {
			t.Errorf("an edited text does not count so:\n%s", other)
		}
	}
}

// Nodes belong to cards by their names, and a card has one node for its work.
func TestSeats(t *testing.T) {
	graph := func(nodes string) *dag.Graph {
		g, _, err := dag.Parse("x.yml", []byte("session: s\nagents:\n"+nodes), dag.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	node := func(name, more string) string {
		return fmt.Sprintf("  - {name: %s, agent: claude, task: x%s}\n", name, more)
	}
	for name, c := range map[string]struct{ nodes, want, err string }{
		"others":             {node("api", "") + node("t0-x", "") + node("t1x", ""), "map[]", ""},
		"the id alone":       {node("t1", ""), "map[t1:{0 -1}]", ""},
		"renamed":            {node("t1-else", "") + node("t1-look", ", role: review, depends_on: [t1-else]"), "map[t1:{0 1}]", ""},
		"a review of others": {node("t1", "") + node("t1-look", ", role: review"), "map[t1:{0 -1}]", ""},
		"two for one card":   {node("t1-a", "") + node("t1-b", ""), "", "only one node does the work of a card"},
		"two reviews": {node("t1-a", "") + node("t1-b", ", role: review, depends_on: [t1-a]") + node("t1-c", ", role: review, depends_on: [t1-a]"), "",
			"only one of them approves it"},
	} {
		seats, err := Seats(graph(c.nodes))
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || fmt.Sprint(seats) != c.want:
			t.Errorf("%s: %v, %v; want %s", name, seats, err, c.want)
		}
	}
}

// Whatever cards say, their plan is a configuration, or faults with their places.
func FuzzPlan(f *testing.F) {
	f.Add("Sessions", "Keep: the flag", "make test", "src/**", "first", "D1: yes", uint8(0))
	f.Add("a: b #c", "- x\n  y\n\t|", "'", "*", "%YAML 1.2\n---\n", "\"", uint8(7))
	f.Add("\x1b[31m", " leading\n\n", "a\nb", "../x", "\x00", "\xff", uint8(255))
	f.Add("…", "|-\n  x", "", "", "{{ x }} $HOME ${X}", "!!binary", uint8(3))
	f.Fuzz(func(t *testing.T, title, body, verify, scope, plan, agreed string, how uint8) {
		fields := task.Fields{Title: &title}
		if strings.TrimSpace(title) == "" || len(title) > task.MaxTitle || strings.ContainsAny(title, "\n\r") || len(body) > 1<<16 {
			t.Skip()
		}
		checks, scopes, backlog := []string{}, []string{}, true
		if verify != "" {
			checks = []string{verify}
		}
		if scope != "" {
			scopes = []string{scope}
		}
		c := task.Card{Room: "design", Implementer: "ada", Plan: 7}
		if how&1 != 0 {
			c.Reviewer = "bob"
		}
		fields.Body, fields.Verify, fields.Scope, fields.Backlog, fields.Card = &body, &checks, &scopes, &backlog, &c
		second, after := "Then", []string{"t1"}
		l := listOf(t, task.Change{Task: "t1", Op: task.OpAdd, Fields: fields}, task.Change{Task: "t2", Op: task.OpAdd, Fields: task.Fields{Title: &second, Backlog: &backlog, Card: &c, After: &after}})
		d := deciding(l)
		d.Facts = func(*task.Task) Facts { return Facts{Plan: plan, Brief: body} }
		d.Agreed = func(*task.Task) []string { return []string{agreed} }
		p := Make(d)
		if len(p.Faults) > 0 {
			t.Fatal(p.Faults)
		}
		text := p.Text("x", sum)
		if Edited(text, sum) {
			t.Errorf("what cmux made counts as edited:\n%s", text)
		}
		g, err := parsed(t, p)
		if err != nil {
			faults, ok := err.(dag.Faults)
			if !ok {
				t.Fatalf("%v\n%s", err, text)
			}
			for _, f := range faults { // a check or a scope that is not one
				if f.Line < 1 || !strings.Contains(f.Message, "verify") && !strings.Contains(f.Message, "scope") {
					t.Fatalf("%+v\n%s", f, text)
				}
			}
			return
		}
		seats, err := Seats(g)
		if err != nil || len(seats) != 2 || g.Nodes[seats["t2"].Work].DependsOn[0] != g.Nodes[seats["t1"].Work].Name {
			t.Errorf("%v, %v\n%s", seats, err, text)
		}
	})
}
