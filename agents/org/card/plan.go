package card

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cmux/agents/org/task"
	"cmux/agents/platform/harmless"
	"cmux/dag"
	"cmux/dag/keys"
)

// A plan is a graph of agents, made of the cards of a room that are decided and not started:
// a node for the work of each, and one for its review. Plan makes it, and says which cards are
// left out, and what keeps it from being made.

// Deciding is what a plan is made of.
type Deciding struct {
	Room   string
	List   *task.List
	Maker  func(member string) (Maker, bool) // of a member, also of one that has left; false: nobody was called so
	Facts  func(*task.Task) Facts            // what was said about a card; Brief and Plan count
	Agreed func(*task.Task) []string         // decisions that are about it
	Verify []string                          // checks that all work of the project must pass
}

// Maker is what a node is made like: a member of the room.
type Maker struct {
	Kind  string
	Model string
	Role  string // what it is, in words
}

// Planned is a node of a plan.
type Planned struct {
	Name     string   `json:"name"`
	Card     string   `json:"card"`
	Review   bool     `json:"review"` // it reviews the card's work
	Kind     string   `json:"kind"`
	Model    string   `json:"model,omitempty"`
	Branch   string   `json:"branch,omitempty"`
	Text     string   `json:"task"`
	Scope    []string `json:"scope"`
	Verify   []string `json:"verify"`
	Requires []string `json:"depends_on"`
}

// Left is a card that is not in the plan, or a part of one that is missing there, and what to
// do about it.
type Left struct {
	Card string `json:"card"`
	Why  string `json:"why"`
	Try  string `json:"try"` // empty: nothing, for now
}

// Plan is the graph of the cards of a room, or why there is none.
type Plan struct {
	Room   string
	Nodes  []Planned
	Left   []Left // cards that are not in it, and why
	Notes  []Left // what should be known about those that are in it
	Faults []Left // why there is no plan; then there are no nodes
}

// Decided says why a card is not decided, or is started already: it is in no plan. Empty: it
// is decided and not started. That is a card in the backlog that somebody implements and
// nobody is to plan first, and one whose plan is approved and with whose work nobody has begun.
func Decided(t, work *task.Task) (why, try string) {
	c := t.Card
	switch col := t.Column(work); {
	case col == "":
		return "it is no card", ""
	case col == task.InDone, c.Approved != "":
		return "it is done", ""
	case c.Implementer == "":
		return "nobody implements it", "cmux cards edit " + t.ID + " --implementer MEMBER"
	case work != t || work.State != task.Open:
		return "it is started: " + t.CardLabel(work), ""
	case c.Phase == task.Implementing && (c.Hold || c.Waits != ""):
		return "", ""
	case c.Phase != "":
		return "it is started: " + t.CardLabel(work), ""
	case c.Planner != "" || c.Coordinator != "":
		return cmp.Or(c.Planner, c.Coordinator) + " is to plan it first", "cmux cards start " + t.ID + " --hold"
	}
	return "", ""
}

// Make makes a plan of the cards of a room.
func Make(d Deciding) Plan {
	p := planning{Deciding: d, plan: Plan{Room: d.Room}, in: map[string]*task.Task{}}
	for _, t := range d.List.All() {
		if t.Card == nil || t.Card.Room != d.Room || t.State == task.Cancelled {
			continue
		}
		why, try := Decided(t, d.List.Work(t))
		if why != "" {
			p.plan.Left = append(p.plan.Left, Left{t.ID, why, try})
			continue
		}
		p.in[t.ID] = t
		p.cards = append(p.cards, t)
	}
	for _, t := range p.cards {
		p.card(t)
	}
	p.circles()
	if len(p.plan.Faults) > 0 {
		p.plan.Nodes = nil
	}
	return p.plan
}

type planning struct {
	Deciding
	plan  Plan
	cards []*task.Task
	in    map[string]*task.Task
}

func (p *planning) fault(t *task.Task, try, format string, args ...any) {
	p.plan.Faults = append(p.plan.Faults, Left{t.ID, fmt.Sprintf(format, args...), try})
}

// nodeName is the name of the node that does a card's work.
func nodeName(t *task.Task) string {
	named := *t
	named.Branch = ""
	return strings.TrimPrefix(named.WorkBranch(), "task/")
}

// reviewer reports whether somebody else than who does it reviews the work of a card.
func reviewer(c *task.Card) bool { return c.Reviewer != "" }

// card adds the nodes of a card.
func (p *planning) card(t *task.Task) {
	c := t.Card
	who, ok := p.Maker(c.Implementer)
	if !ok {
		p.fault(t, "cmux cards edit "+t.ID+" --implementer MEMBER", "its implementer %s was never a member of the room", c.Implementer)
	}
	before := p.before(t)
	verify := slices.Clone(t.Verify)
	for _, v := range p.Verify {
		if !slices.Contains(verify, v) {
			verify = append(verify, v)
		}
	}
	f := p.Facts(t)
	work := Planned{
		Name: nodeName(t), Card: t.ID, Kind: who.Kind, Model: who.Model, Branch: t.WorkBranch(),
		Text: p.workText(t, who, f), Scope: append([]string{}, t.Scope...), Verify: append([]string{}, verify...), Requires: before,
	}
	if t.Kind == task.ForAnswer {
		p.fault(t, "cmux cards show "+t.ID, "it asks for an answer, and a node of a plan makes commits")
	}
	p.plan.Nodes = append(p.plan.Nodes, work)
	if !reviewer(c) {
		p.plan.Notes = append(p.plan.Notes, Left{t.ID, "nobody reviews its work: you approve it", "cmux cards edit " + t.ID + " --reviewer MEMBER"})
		return
	}
	reads, ok := p.Maker(c.Reviewer)
	if !ok {
		p.fault(t, "cmux cards edit "+t.ID+" --reviewer MEMBER", "its reviewer %s was never a member of the room", c.Reviewer)
	}
	p.plan.Nodes = append(p.plan.Nodes, Planned{
		Name: work.Name + "-review", Card: t.ID, Review: true, Kind: reads.Kind, Model: reads.Model,
		Text: p.reviewText(t, reads, f), Scope: []string{}, Verify: []string{}, Requires: []string{work.Name},
	})
}

// before are the nodes that a card's node waits for: the work of the cards that it comes
// after, and their reviews. What is done falls away.
func (p *planning) before(t *task.Task) []string {
	names := []string{}
	for _, id := range t.After {
		b := p.List.Get(id)
		switch {
		case b == nil:
			p.fault(t, "", "it comes after %s, which is not there", id)
			continue
		case p.in[id] != nil:
			if name := nodeName(b); !slices.Contains(names, name) {
				if names = append(names, name); reviewer(b.Card) {
					names = append(names, name+"-review")
				}
			}
			continue
		}
		work := b
		if b.Card != nil {
			work = p.List.Work(b)
		}
		switch col := b.Column(work); {
		case b.Card != nil && col != task.InDone:
			p.fault(t, "cmux cards show "+id, "it comes after the card %s, which is not in the plan and not done (%s)", id, b.CardLabel(work))
		case b.Card == nil && b.State != task.Done:
			p.fault(t, "cmux tasks show "+id, "it comes after the task %s, which is not done (%s)", id, b.Label())
		case work.Delivers() && !work.Merged.In():
			p.plan.Notes = append(p.plan.Notes, Left{t.ID, fmt.Sprintf("it comes after %s, which is done but not merged: it begins without that work unless you merge it first", id), "cmux tasks merge"})
		}
	}
	return names
}

// circles finds cards that come after each other.
func (p *planning) circles() {
	state := map[string]int{} // 1: on the way, 2: seen
	var way []string
	var visit func(id string)
	visit = func(id string) {
		t := p.in[id]
		if t == nil || state[id] == 2 {
			return
		}
		if state[id] == 1 {
			circle := append(slices.Clone(way[slices.Index(way, id):]), id)
			p.fault(t, "", "cards come after each other, so none can begin: %s", strings.Join(circle, " after "))
			return
		}
		state[id] = 1
		way = append(way, id)
		for _, before := range t.After {
			visit(before)
		}
		way = way[:len(way)-1]
		state[id] = 2
	}
	for _, t := range p.cards {
		visit(t.ID)
	}
}

// Bounds of what a node's text takes from the room, in bytes.
const (
	mostRole   = 8 << 10
	mostSaid   = 64 << 10
	mostAgreed = 8 << 10
)

func cut(text string, most int) string {
	text = strings.TrimSpace(harmless.Text(text))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "\n… (cut; the rest is in the room)"
	}
	return text
}

func (p *planning) text(t *task.Task) (b *strings.Builder, part func(title, text string, most int)) {
	b = new(strings.Builder)
	b.WriteString(harmless.Line(t.Title) + "\n")
	return b, func(title, text string, most int) {
		if text = cut(text, most); text != "" {
			fmt.Fprintf(b, "\n## %s\n\n%s\n", title, text)
		}
	}
}

func (p *planning) workText(t *task.Task, who Maker, f Facts) string {
	b, part := p.text(t)
	if body := cut(Body(t.Body), task.MaxBody); body != "" {
		b.WriteString("\n" + body + "\n")
	}
	fmt.Fprintf(b, "\n## %s\n\nIt is the card %s of the room %s.\n", marker, t.ID, p.Room)
	part("Who you are", who.Role, mostRole)
	part("What matters", f.Brief, mostSaid)
	part("Plan", f.Plan, mostSaid)
	part("What was decided", strings.Join(p.Agreed(t), "\n\n"), mostAgreed)
	return b.String()
}

func (p *planning) reviewText(t *task.Task, who Maker, f Facts) string {
	b, part := p.text(t)
	fmt.Fprintf(b, "\nYou review the work on this card, %s of the room %s: does it do what the card asks for, and nothing else? Read the changes, and the code around them.\n", t.ID, p.Room)
	b.WriteString("If it is good as it is, report that you are done: that approves it. If something must change, report that you are blocked, and say what: that sends it back. Name files and lines.\n")
	part("Who you are", who.Role, mostRole)
	part("What the card asks for", Body(t.Body), mostSaid)
	part("What matters", f.Brief, mostSaid)
	part("The plan", f.Plan, mostSaid)
	part("What was decided", strings.Join(p.Agreed(t), "\n\n"), mostAgreed)
	return b.String()
}

// Session is the name of a room's plan as a run.
func Session(room string) string { return "room-" + room }

const madeMark = "# made: "

// Mark names a text. Agents cannot make it of another one, so that a plan which they have edited
// does not pass for cmux's.
type Mark func(text string) string

// Text writes a plan as a configuration of agents. schema is the path of the JSON Schema as
// seen from it.
func (p *Plan) Text(schema string, mark Mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, "session: %s\nagents:\n", keys.Scalar(Session(p.Room)))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		field := func(key, value string) {
			if value != "" {
				fmt.Fprintf(&b, "    %s: %s\n", key, keys.Scalar(value))
			}
		}
		list := func(key string, values []string) {
			if len(values) == 0 {
				return
			}
			fmt.Fprintf(&b, "    %s:\n", key)
			for _, v := range values {
				fmt.Fprintf(&b, "      - %s\n", keys.Scalar(v))
			}
		}
		fmt.Fprintf(&b, "  - name: %s\n", keys.Scalar(n.Name))
		field("agent", n.Kind)
		field("model", n.Model)
		if n.Review {
			b.WriteString("    role: review\n    checkout: true\n")
		}
		field("branch", n.Branch)
		list("depends_on", n.Requires)
		fmt.Fprintf(&b, "    task: %s\n", keys.Block(n.Text, "      "))
		list("scope", n.Scope)
		list("verify", n.Verify)
	}
	head := fmt.Sprintf(`# yaml-language-server: $schema=%s
# The cards of the room %s, as a graph of agents. You may edit it.
# cmux rooms run %[2]s starts it; cmux rooms plan %[2]s makes it again.
# A node whose name begins with the id of a card (t1-...) does the work of that card;
# one with role: review that depends on it approves the work.
`, schema, p.Room)
	body := b.String()
	return head + madeMark + mark(head+body) + "\n" + body
}

// Edited reports whether somebody has changed the text of a plan since cmux made it.
func Edited(text string, mark Mark) bool {
	head, rest, ok := strings.Cut(text, madeMark)
	made, body, lines := strings.Cut(rest, "\n")
	return !ok || !lines || made != mark(head+body)
}

var cardRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(t[1-9][0-9]*)(-.*)?$`) })

// Seat are the nodes of a card in a graph, by their indexes; -1: it has none.
type Seat struct{ Work, Review int }

// Seats says which nodes of a graph are of which card: a node that makes commits does the work
// of the card whose id its name begins with, and one that reviews it says whether it is good.
func Seats(g *dag.Graph) (map[string]Seat, error) {
	all := map[string]Seat{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		m := cardRE().FindStringSubmatch(n.Name)
		if m == nil || !n.HasBranch() {
			continue
		}
		if s, ok := all[m[1]]; ok {
			return nil, fmt.Errorf("%s and %s begin with %s, and only one node does the work of a card: name the other one otherwise", g.Nodes[s.Work].Name, n.Name, m[1])
		}
		all[m[1]] = Seat{Work: i, Review: -1}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		m := cardRE().FindStringSubmatch(n.Name)
		if m == nil || n.Role != dag.RoleReview {
			continue
		}
		s, ok := all[m[1]]
		switch {
		case !ok || !slices.Contains(g.Deps(i), s.Work):
		case s.Review >= 0:
			return nil, fmt.Errorf("%s and %s both review the card %s: only one of them approves it", g.Nodes[s.Review].Name, n.Name, m[1])
		default:
			s.Review = i
			all[m[1]] = s
		}
	}
	return all, nil
}
