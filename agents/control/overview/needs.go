package overview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/control/letters"
	"cmux/agents/control/rooms"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/kinds/question"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/agents/room"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// What can wait for a person.
const (
	NeedNode     = "node"     // of a run: a question, a gate, a conversation that was taken over
	NeedFailure  = "failure"  // of a node: it runs again, or is called done
	NeedConflict = "conflict" // two branches of a run change the same places
	NeedLimit    = "limit"    // of an account's use, that holds nodes up
	NeedReview   = "review"   // of a node's work
	NeedRun      = "run"      // that cannot be read, or has lost its runner
	NeedAgent    = "agent"    // a standing agent
	NeedTask     = "task"     // that is blocked
	NeedMerge    = "merge"    // of a finished task
	NeedRoom     = "room"     // that waits for a person, or whose member does
	NeedIncident = "incident" // that nobody has acknowledged
	NeedMessage  = "message"  // that was not read
	NeedFault    = "fault"    // records that cannot be read: what waits in them is not known
)

// Need is something that goes on only when a person does something.
type Need struct {
	ID       string             `json:"id"`   // the same as long as it is the same need
	Kind     string             `json:"kind"` // node, failure, conflict, limit, review, run, agent, task, merge, room, incident, message, fault
	Name     string             `json:"name"` // of the node, agent, task, room, incident, message, account or session; what cannot be read
	Run      string             `json:"run,omitempty"`
	Session  string             `json:"session,omitempty"` // the name of the run
	Since    time.Time          `json:"since,omitzero"`    // zero: it is not known
	Label    string             `json:"label"`             // how it stands
	Text     string             `json:"text"`
	Question *question.Question `json:"question,omitempty"`
	Orders   []string           `json:"orders,omitempty"`   // of a node, an agent or a room, that fit it
	Commit   string             `json:"commit,omitempty"`   // of a review: the decision is about it
	Try      string             `json:"try,omitempty"`      // the command that a person would call
	Called   string             `json:"called"`             // the kind as a person calls it: Gate, Question, Failure, ...
	Title    string             `json:"title"`              // its text where Name is only an id, else Name
	Messages []string           `json:"messages,omitempty"` // unread ones that tell of the same: they are not listed
	Agent    string             `json:"agent,omitempty"`    // of a task: who had it, and can have it again; of a room: the member that waits
	Task     string             `json:"task,omitempty"`     // of an agent: the task that it works on
	Nodes    []string           `json:"nodes,omitempty"`    // of a limit: that wait for its end; of a conflict: whose work can be dropped
	Until    time.Time          `json:"until,omitzero"`     // of a limit; zero: it is not known
	Files    []string           `json:"files,omitempty"`    // of a conflict: that both branches change in the same places
	Room     string             `json:"room,omitempty"`     // the room itself, or that of the agent
	Member   string             `json:"member,omitempty"`   // of a room: the member that waits, as the room calls it

	about string // of a message: the task that cmux tells of; empty: none
}

// NeedList is what waits for a person: what keeps work from going on first, then
// reviews and messages, each the longest first.
type NeedList struct {
	Items []Need
	Total int // of all that waits, also of messages that are not among the items
}

// Needs is what waits for a person. Records that cannot be read hide nothing else: that
// they cannot be read waits too.
func (ov *Overview) Needs(ctx context.Context) (NeedList, error) { return ov.needs(ctx, true) }

// Pressing is Needs without reviews of runs, which take git a while for each node and which
// nothing waits for.
func (ov *Overview) Pressing(ctx context.Context) (NeedList, error) { return ov.needs(ctx, false) }

func (ov *Overview) needs(ctx context.Context, reviews bool) (NeedList, error) {
	l := NeedList{Items: []Need{}}
	for _, from := range []struct {
		what string
		look func(context.Context) ([]Need, error)
	}{{"runs", func(ctx context.Context) ([]Need, error) { return ov.runNeeds(ctx, reviews) }}, {"agents", ov.agentNeeds}, {"tasks", ov.taskNeeds}, {"incidents", ov.incidentNeeds}} {
		some, err := from.look(ctx)
		if err != nil {
			some = append(some, fault(from.what, err))
		}
		l.Items = append(l.Items, some...)
	}
	if all, err := ov.Rooms.List(); err != nil {
		l.Items = append(l.Items, fault("rooms", err))
	} else {
		l.Items = append(l.Items, roomNeeds(all, l.Items)...)
	}
	mails, unlisted, err := ov.mailNeeds(ctx)
	if err != nil {
		mails = append(mails, fault("messages", err))
	}
	if err := ctx.Err(); err != nil {
		return NeedList{}, err
	}
	for _, m := range mails {
		if i := slices.IndexFunc(l.Items, m.toldOf); i >= 0 {
			l.Items[i].Messages = append(l.Items[i].Messages, m.Name)
			continue
		}
		l.Items = append(l.Items, m)
	}
	for i := range l.Items {
		l.Items[i].Called, l.Items[i].Title = l.Items[i].called(), l.Items[i].title()
	}
	l.Total = len(l.Items) + unlisted
	slices.SortStableFunc(l.Items, byRank)
	return l, nil
}

// toldOf reports whether n is what message m tells of: they are one thing that waits.
func (m *Need) toldOf(n Need) bool {
	switch n.Kind {
	case NeedTask, NeedMerge:
		return m.about != "" && n.Name == m.about
	}
	return n.Question != nil && n.Question.Message == m.Name
}

// fault is the need of a person who mends what cannot be read.
func fault(what string, err error) Need {
	text, try := hint.Explain(err)
	return Need{ID: "fault " + what, Kind: NeedFault, Name: what, Label: "cannot be read", Text: text, Try: try}
}

// kinds are what a person calls each kind of need.
var kinds = map[string]string{
	NeedNode: "Question", NeedFailure: "Failure", NeedConflict: "Conflict", NeedLimit: "Limit", NeedReview: "Review", NeedRun: "Run", NeedAgent: "Agent",
	NeedRoom: "Room", NeedTask: "Task", NeedMerge: "Merge", NeedIncident: "Incident", NeedMessage: "Message", NeedFault: "Fault",
}

// called is what a person calls the kind of the need. A gate is approved, not answered.
func (n *Need) called() string {
	switch {
	case n.Kind == NeedNode && len(n.Orders) > 0 && n.Orders[0] == "approve":
		return "Gate"
	case n.Question != nil && n.Question.InPane:
		return "Dialog"
	case n.Question != nil && n.Question.Permission != nil:
		return "Permission"
	case n.Question != nil && n.Question.Silent:
		return "No report"
	case n.Kind == NeedAgent && n.Question != nil:
		return "Question"
	case n.Kind == NeedNode && n.Question == nil:
		return "Agent"
	}
	return kinds[n.Kind]
}

// title names the need: what has only an id, by its text.
func (n *Need) title() string {
	switch n.Kind {
	case NeedMessage, NeedIncident, NeedMerge, NeedTask:
		return cmp.Or(n.Text, n.Name)
	case NeedRoom:
		if n.Member != "" {
			return n.Member + " in " + n.Name
		}
	}
	return n.Name
}

// Line is the need in one line, in the words of the inbox, without the command.
func (n *Need) Line() string {
	line := n.Called + " " + say.Line(n.Title)
	if n.Session != "" {
		line += " in " + n.Session
	}
	if n.Label != "" {
		line += ": " + n.Label
	}
	return line
}

// line is the need as a report lists it.
func (n *Need) line() string {
	switch n.Kind {
	case NeedTask:
		return fmt.Sprintf("task %s is %s: %s", n.Name, n.Label, n.Text)
	case NeedIncident:
		return fmt.Sprintf("incident %s: %s", n.Name, n.Text)
	case NeedFault:
		return fmt.Sprintf("%s: %s", n.Name, n.Text)
	case NeedRoom:
		return fmt.Sprintf("the room %s: %s", n.Name, n.Text)
	case NeedRun:
		return fmt.Sprintf("the run %s: %s", n.Session, n.Label)
	}
	return fmt.Sprintf("%s of the run %s: %s", n.Name, n.Session, n.Label)
}

func byRank(a, b Need) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
}

// rank is greater for what keeps no work from going on.
func (n *Need) rank() int {
	switch n.Kind {
	case NeedReview, NeedMerge, NeedMessage:
		return 1
	}
	return 0
}

// runNeeds is what waits in the newest run of each session.
func (ov *Overview) runNeeds(ctx context.Context, reviews bool) (all []Need, err error) {
	owners, err := run.Owners(ov.Root)
	if err != nil {
		return nil, err
	}
	for _, o := range owners {
		if o.Free {
			continue // it was cleaned up
		}
		r, err := run.Open(ov.Root, o.ID)
		if err != nil {
			if ids, err := run.List(ov.Root); err == nil && !slices.Contains(ids, o.ID) {
				continue // it was removed in between
			}
			text, _ := hint.Explain(err)
			all = append(all, Need{ID: "run " + o.ID, Kind: NeedRun, Name: cmp.Or(o.Session, o.ID), Run: o.ID, Session: o.Session, Label: "cannot be read", Text: text,
				Try: ov.Runs.InSession("cmux agents status", o.Session)})
			continue
		}
		v, err := r.View(ctx, ov.Now())
		if err != nil {
			return nil, err
		}
		some := ViewNeeds(v)
		if reviews {
			some = append(some, ov.reviewNeeds(ctx, v)...)
		}
		for _, n := range some {
			n.Run, n.Session, n.Try = o.ID, o.Session, ov.Runs.InSession(n.Try, o.Session)
			all = append(all, n)
		}
	}
	return all, nil
}

// reviewNeeds is the finished work in a run that a person has not decided about.
func (ov *Overview) reviewNeeds(ctx context.Context, v *run.View) (all []Need) {
	if v.RunState == dag.RunStopped {
		return nil
	}
	repo, err := worktree.Open(ctx, v.Run.Plan.Root)
	if err != nil {
		return nil // its branches are not there any more
	}
	for i, s := range ov.Runs.Standings(ctx, repo, v) {
		if !s.State.Waits() {
			continue
		}
		n := &v.Nodes[i]
		r := Need{ID: "review " + v.Run.Plan.ID + " " + n.Spec.Name + " " + s.Tip, Kind: NeedReview, Name: n.Spec.Name, Since: v.Since(i),
			Label: string(s.State), Orders: []string{"review"}, Commit: s.Tip, Try: "cmux agents review " + n.Spec.Name}
		if end := n.LastEnd(); end != nil {
			r.Text = end.Summary
		}
		all = append(all, r)
	}
	return all
}

// ViewNeeds is what waits in a run as it stands, without reviews. Nothing waits in a run
// that a person has stopped.
func ViewNeeds(v *run.View) (all []Need) {
	id := v.Run.Plan.ID
	switch {
	case v.RunState == dag.RunStopped:
		return nil
	case v.RunState == dag.RunNoRunner && !v.StartedAt.IsZero():
		n := Need{ID: "runner " + id, Kind: NeedRun, Name: v.Run.Plan.Graph.Session, Label: string(v.RunState), Text: "Its runner has ended, so nothing more starts.", Try: "cmux agents resume"}
		if !v.Run.Plan.Headless {
			n.Orders = []string{"resume"}
		}
		all = append(all, n)
	}
	node := func(i int, kind string) {
		in := runs.Inspect(v, i)
		n := Need{ID: needID(fmt.Sprintf("%s %s %s %d", kind, id, in.Name, len(in.Tries)), in.Question), Kind: kind, Name: in.Name, Since: v.Since(i),
			Label: in.Label.String(), Text: in.Reason, Question: in.Question, Orders: in.Orders, Try: in.Way}
		if in.Role == dag.RoleGate && strings.HasPrefix(n.Text, "cmux ") { // a gate's reason is what opens it
			n.Text, n.Try = "", n.Text
		}
		all = append(all, n)
	}
	for _, i := range runs.NeedPerson(v) {
		node(i, NeedNode)
	}
	for i := range v.Nodes {
		if failedOfItself(v.Nodes[i].Status.Label) {
			node(i, NeedFailure)
		}
	}
	if !runview.Over(v) {
		for _, l := range v.Limits {
			label := dag.Label{State: dag.NodeLimited, Until: l.Until}
			n := Need{ID: "limit " + id + " " + l.Account, Kind: NeedLimit, Name: l.Account, Since: l.Since, Label: label.String(), Text: l.Said, Until: l.Until, Nodes: held(v, l.Account)}
			if len(n.Nodes) > 0 {
				n.Orders, n.Try = []string{"release"}, "cmux agents release "+n.Nodes[0]
			}
			all = append(all, n)
		}
	}
	for _, c := range runs.Collisions(v) {
		a, b := v.Run.Plan.Graph.Index(c.A), v.Run.Plan.Graph.Index(c.B)
		if len(c.Conflicts) == 0 || dropped(&v.Nodes[a]) || dropped(&v.Nodes[b]) {
			continue
		}
		n := Need{ID: "conflict " + id + " " + c.A + " " + c.B, Kind: NeedConflict, Name: c.A + ", " + c.B, Since: c.Since,
			Label: "conflict", Text: "both change " + strings.Join(c.Conflicts, ", "), Files: c.Conflicts}
		for _, i := range []int{a, b} {
			if runs.Reviewable(&v.Nodes[i]) == nil {
				n.Nodes = append(n.Nodes, v.Nodes[i].Spec.Name)
			}
		}
		all = append(all, n)
	}
	return all
}

// dropped reports whether a person leaves the work of n out of a merge, so that it is in
// no conflict.
func dropped(n *run.NodeView) bool {
	return n.Review != nil && n.Review.Verdict == run.VerdictDropped && n.Review.Commit == n.Tip
}

// held are the nodes that wait for the end of an account's limit.
func held(v *run.View, account string) (names []string) {
	for i := range v.Nodes {
		if n := &v.Nodes[i]; n.Status.Label.State == dag.NodeLimited && n.Spec.Account == account {
			names = append(names, v.Nodes[i].Spec.Name)
		}
	}
	return names
}

// needID is the id of a need in which something may be asked: another question is
// another need.
func needID(id string, q *question.Question) string {
	if q == nil {
		return id
	}
	return id + " " + q.ID
}

// failedOfItself reports whether a node failed, and no person had it so.
func failedOfItself(l dag.Label) bool {
	return l.State == dag.NodeFailed && l.Reason != dag.ReasonCancelled && l.Reason != dag.ReasonByHand
}

func (ov *Overview) agentNeeds(ctx context.Context) (all []Need, err error) {
	org, err := standing.Open(ov.Root)
	if errors.Is(err, run.ErrNoOrganization) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for _, name := range org.Names() {
		a := ov.agentReport(ctx, org, org.Agents[name], nil)
		if !a.NeedsPerson() {
			continue
		}
		n := Need{ID: needID("agent "+name, a.Question), Kind: NeedAgent, Name: name, Label: a.State, Text: a.Detail, Question: a.Question, Orders: a.Orders(), Try: a.Way(), Task: a.Task}
		if a.Since != nil {
			n.Since = *a.Since
		}
		all = append(all, n)
	}
	return all, nil
}

func (ov *Overview) taskNeeds(context.Context) (all []Need, err error) {
	list, err := ov.TaskList()
	if err != nil {
		return nil, err
	}
	crew, err := standing.Open(ov.Root)
	if err != nil { // that it cannot be read waits with the agents
		crew = &standing.Org{}
	}
	for _, t := range list.All() {
		if t.State == task.Blocked { // what its agent asks stands with the agent
			n := Need{ID: "task " + t.ID, Kind: NeedTask, Name: t.ID, Since: t.ChangedAt, Label: t.Label(), Text: t.Title, Try: "cmux tasks show " + t.ID}
			if crew.Agents[t.Agent] != nil {
				n.Agent = t.Agent
			}
			all = append(all, n)
		}
	}
	for _, t := range list.Mergeable() {
		all = append(all, Need{ID: "merge " + t.ID, Kind: NeedMerge, Name: t.ID, Since: t.ChangedAt, Label: "not merged", Text: t.Title, Orders: []string{"merge"}, Try: "cmux tasks merge " + t.ID})
	}
	return all, nil
}

func (ov *Overview) incidentNeeds(context.Context) (all []Need, err error) {
	list, err := ov.Records.AllIncidents()
	if err != nil {
		return nil, err
	}
	for _, i := range list.All() {
		if i.Waits() {
			all = append(all, Need{ID: "incident " + i.ID, Kind: NeedIncident, Name: i.ID, Since: i.OpenedAt, Label: i.Label(), Text: i.Title, Orders: []string{"ack"}, Try: "cmux incidents show " + i.ID})
		}
	}
	return all, nil
}

// roomNeeds is what waits in rooms. What a member asks waits with its agent, among those
// that are known already: these get the name of the room.
func roomNeeds(all []rooms.View, known []Need) (more []Need) {
	for i := range all {
		v := &all[i]
		if v.Err != nil {
			text, try := hint.Explain(v.Err)
			more = append(more, Need{ID: "room " + v.Room.Name, Kind: NeedRoom, Name: v.Room.Name, Room: v.Room.Name, Label: "cannot be read", Text: text, Try: try})
			continue
		}
		for _, w := range v.Waits {
			if at := slices.IndexFunc(known, func(a Need) bool { return w.Node != "" && a.Run+"/"+a.Name == w.Node }); at >= 0 {
				known[at].Room = v.Room.Name
				continue
			}
			n := Need{Kind: NeedRoom, Name: v.Room.Name, Room: v.Room.Name, Since: w.Since, Label: v.Room.Label, Text: w.What, Try: w.Try}
			for _, do := range w.Do {
				n.Orders = append(n.Orders, string(do))
			}
			if i := slices.IndexFunc(v.Members, func(m rooms.Member) bool { return m.Name == w.Who }); i >= 0 {
				m := &v.Members[i]
				n.Member, n.Agent, n.Label = m.Name, m.Agent, m.State
			}
			taken := n.Label == room.TakenOver.String()
			switch at := slices.IndexFunc(known, func(a Need) bool { return a.Kind == NeedAgent && a.Name == n.Agent }); {
			case w.Way == rooms.WayTerminal && taken:
				n.Orders = []string{"release", "terminal"}
			case w.Way == rooms.WayTerminal, w.Way == rooms.WayAnswer:
				if at >= 0 {
					known[at].Room = v.Room.Name
				}
				continue
			case !w.Holds:
				continue
			}
			n.ID = strings.Join(append([]string{"room", n.Name, n.Member, strconv.FormatInt(w.Since.Unix(), 10)}, n.Orders...), " ")
			if w.Way == rooms.WayCard { // several may wait
				n.ID, n.Label = n.ID+" "+w.Try, "card"
			}
			more = append(more, n)
		}
	}
	return more
}

// maxUnread bounds how many of the unread messages wait one by one, the newest: who
// has more reads the inbox.
const maxUnread = 200

// mailNeeds is the unread messages. unlisted counts those beyond maxUnread.
func (ov *Overview) mailNeeds(ctx context.Context) (all []Need, unlisted int, err error) {
	unread, more, err := ov.Letters.Page(ctx, letters.MailQuery{Inbox: true, Waiting: true}, "", maxUnread)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range unread {
		about := ""
		if m.Verified {
			about = m.Task
		}
		all = append(all, Need{about: about, ID: "message " + m.ID, Kind: NeedMessage, Name: m.ID, Since: m.TS, Label: "from " + m.From, Text: m.Subject, Try: "cmux mailbox read " + m.ID})
	}
	if more {
		var org OrgReport
		if _, err := ov.post(&org, nil); err != nil {
			return nil, 0, err
		}
		unlisted = max(0, org.Unread-len(all))
	}
	return all, unlisted, nil
}
