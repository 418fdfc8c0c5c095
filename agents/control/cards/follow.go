package cards

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strings"
	"time"

	"cmux/agents/control/commands"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/org/card"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// Follow has cards follow the nodes that do their work: those of runs of the plans of rooms.
// It looks at what is there, so that a look that was cut off is made good by the next one.
func (p *Cards) Follow(ctx context.Context) error {
	l, err := p.TaskList()
	if err != nil {
		return err
	}
	newest, err := p.planRuns()
	if err != nil {
		return err
	}
	var errs []error
	all, err := p.followed(l, newest)
	errs = append(errs, err)
	for _, f := range all {
		if err := f.look(ctx); err != nil && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("run %s of the room %s: %w", f.id, f.room, err))
		}
	}
	return errors.Join(errs...)
}

// following is a run, and the cards that follow it or may.
type following struct {
	p    *Cards
	id   string
	room string
	r    *run.Run // nil: it is gone
	ids  []string // cards
}

// followed are the runs to look at: those that cards follow, and the newest of each plan until
// it has ended and its room knows.
func (p *Cards) followed(l *task.List, newest map[string]*run.Run) (all []*following, err error) {
	of := map[string]*following{}
	look := func(id, roomName string, r *run.Run) *following {
		if of[id] == nil {
			of[id] = &following{p: p, id: id, room: roomName, r: r}
			all = append(all, of[id])
		}
		return of[id]
	}
	over := map[string]bool{}
	for roomName, r := range newest {
		state, at, ferr := r.Final()
		if ferr != nil {
			err = errors.Join(err, fmt.Errorf("run %s: %w", r.Plan.ID, ferr))
			over[r.Plan.ID] = true
			continue
		}
		if over[r.Plan.ID] = state != ""; !over[r.Plan.ID] || !p.knows(roomName, endKey(r.Plan.ID, state, at)) {
			look(r.Plan.ID, roomName, r)
		}
	}
	for _, t := range l.All() {
		if t.Card == nil || t.State == task.Cancelled || t.Card.Approved != "" {
			continue
		}
		r := newest[t.Card.Room]
		id, _, _ := strings.Cut(t.Card.Node, "/")
		switch {
		case id != "" && r != nil && r.Plan.ID == id:
		case id != "":
			var oerr error
			if r, oerr = run.Open(p.Root, id); errors.Is(oerr, fs.ErrNotExist) {
				r = nil
			} else if oerr != nil {
				continue // cmux doctor says what is wrong with it
			}
		case r == nil, over[r.Plan.ID]:
			continue
		default:
			id = r.Plan.ID
		}
		f := look(id, t.Card.Room, r)
		f.ids = append(f.ids, t.ID)
	}
	return all, err
}

// endKey is that of the line that tells a room of the end of a run.
func endKey(id string, state dag.RunState, at time.Time) string {
	return fmt.Sprintf("run-%s-%s-%d", id, state, at.Unix())
}

// knows reports whether nothing is left to tell a room with that key.
func (p *Cards) knows(roomName, key string) bool {
	_, lines, _, err := p.Room(roomName)
	return err != nil || len(lines) == 0 || len(untold(lines, []room.Line{{Key: key}})) == 0 || room.Fold(roomName, lines).Closed
}

// look takes the cards of a run where their nodes stand, and tells the room.
func (f *following) look(ctx context.Context) error {
	var v *run.View
	seats := map[string]card.Seat{}
	if f.r != nil {
		if err := f.r.LoadGraph(); err != nil {
			return err
		}
		var err error
		if v, err = f.r.View(ctx, f.p.Now()); err != nil {
			return err
		}
		if v.RunState == dag.RunNoRunner { // tmux misses a death now and then
			if err := commands.Revive(ctx, f.r.Dir); err != nil {
				return err
			}
		}
		if seats, err = card.Seats(f.r.Plan.Graph); err != nil {
			return err
		}
	}
	var errs []error
	for _, id := range f.ids {
		seat, in := seats[id]
		if !in {
			seat = card.Seat{Work: -1, Review: -1}
		}
		if err := f.card(ctx, v, id, seat); err != nil {
			errs = append(errs, fmt.Errorf("card %s: %w", id, err))
		}
	}
	if v != nil {
		errs = append(errs, f.tell(ctx, v, seats))
	}
	return errors.Join(errs...)
}

// mostSteps bounds what one look does to a card. The next look goes on.
const mostSteps = 8

// card takes a card where its nodes stand, a step at a time.
func (f *following) card(ctx context.Context, v *run.View, id string, seat card.Seat) error {
	for range mostSteps {
		more := false
		err := f.p.record(ctx, func(l *task.List) ([]task.Change, error) {
			t := l.Get(id)
			if t == nil || t.Card == nil {
				return nil, nil
			}
			all := f.step(l, t, v, seat)
			more = len(all) > 0
			return all, nil
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// step are the next changes of a card; none: it stands as its nodes do.
func (f *following) step(l *task.List, t *task.Task, v *run.View, seat card.Seat) []task.Change {
	c, work := t.Card, l.Work(t)
	mine := strings.HasPrefix(c.Node, f.id+"/")
	going := v != nil && seat.Work >= 0 && v.RunState != dag.RunStopped
	switch {
	case t.State == task.Cancelled, c.Approved != "", work.Override:
		return nil
	case c.Node == "":
		why, _ := card.Decided(t, work)
		if why != "" || !going || v.RunState == dag.RunDone || v.RunState == dag.RunFailed {
			return nil
		}
		next := card.Joins(*c, f.id+"/"+v.Nodes[seat.Work].Spec.Name)
		return f.changed(t, next)
	case !mine:
		return nil
	case !going && work.State != task.Done, work.Agent != "" && work.Agent != c.Node && work.State != task.Done:
		if work.Agent == c.Node || work.Agent == "" { // else somebody has given it to another agent
			if back := card.Back(work); len(back) > 0 {
				return back
			}
		}
		next := card.Leaves(*c)
		if work.Agent != "" && work.Agent != c.Node {
			next.Hold = false
		}
		return f.changed(t, next)
	case work.State == task.Done:
		return f.done(l, t, work, v, seat)
	}
	n := &v.Nodes[seat.Work]
	next := *c
	f.stands(&next, v, seat.Work)
	if b := n.Spec.Branch; b != work.WorkBranch() && !work.State.Over() {
		return []task.Change{{Task: work.ID, Saw: work.Version, Op: task.OpEdit, Fields: task.Fields{Branch: &b}}}
	}
	if all := card.Toward(work, c.Node, card.StandOf(n, next.Stands)); len(all) > 0 {
		return all
	}
	return f.changed(t, next)
}

// done is the next step of a card whose work is done: its review.
func (f *following) done(l *task.List, t, work *task.Task, v *run.View, seat card.Seat) []task.Change {
	next := *t.Card
	if again := f.again(l, t, work, v, seat); again != nil {
		return again
	}
	switch {
	case v == nil || seat.Work < 0 || seat.Review < 0 || v.RunState == dag.RunStopped: // the room reviews it, or the person
		next.Stands, next.Stuck, next.Way = "", "", ""
		if next.Reviewer != "" || v == nil {
			next.Node = ""
		}
		if next.Phase == task.WorkReview { // which the room begins with
			next.Phase = task.Implementing
		}
		return f.changed(t, next)
	case t.Card.Phase == task.Implementing:
		next.Phase, next.Waits, next.Stands, next.Stuck, next.Way = task.WorkReview, "", "", "", ""
		return f.changed(t, next)
	}
	n := &v.Nodes[seat.Review]
	f.stands(&next, v, seat.Review)
	switch why, back := sentBack(n); {
	case n.Status.Label.State == dag.NodeDone:
		if next.Approved = t.Card.Reviewer; next.Approved == "" {
			next.Approved = n.Spec.Name
		}
		next.Stands, next.Stuck, next.Way, next.Waits = "", "", "", ""
	case back:
		next.Stands, next.Stuck, next.Way = "", "", ""
		next.Waits = fmt.Sprintf("%s does not approve the work: %s", n.Spec.Name, say.Line(why))
	default:
		next.Waits = ""
	}
	return f.changed(t, next)
}

// sentBack reports whether a node that reviews has reported that it is blocked, and why: the
// work is not good enough. A program that stays waits with that.
func sentBack(n *run.NodeView) (why string, back bool) {
	switch end := n.LastEnd(); {
	case n.Status.Label.State == dag.NodeNeedsInput:
		return strings.CutPrefix(n.Fact.Detail, "blocked: ")
	case n.Status.Label.State == dag.NodeFailed && end != nil && end.Reason == dag.ReasonReported:
		return end.Detail, true
	}
	return "", false
}

// again is the task for what a node does again after its work was done: it was sent back there.
func (f *following) again(l *task.List, t, work *task.Task, v *run.View, seat card.Seat) []task.Change {
	if v == nil || seat.Work < 0 {
		return nil
	}
	n := &v.Nodes[seat.Work]
	at := n.Attempt()
	if at == nil || n.Status.Label.Reason == dag.ReasonOverride || card.SameEnd(at.End, work.Result()) {
		return nil
	}
	key := fmt.Sprintf("card-%s-%s-%d", t.ID, f.id, at.N)
	if made := l.ByKey(key); made != nil {
		next := *t.Card
		next.Work, next.Phase, next.Waits = made.ID, task.Implementing, ""
		return f.changed(t, next)
	}
	title := task.Titled(fmt.Sprintf("What was sent back of %s: %s", t.ID, t.Title))
	body := fmt.Sprintf("The node %s does the work on card %s again.", n.Spec.Name, t.ID)
	after, branch := []string{work.ID}, work.WorkBranch()
	return []task.Change{{Task: l.NextID(), Op: task.OpAdd, Key: key, Fields: task.Fields{
		Title: &title, Body: &body, Priority: &t.Priority, Scope: &t.Scope, Verify: &t.Verify, Parent: &t.ID, After: &after, Branch: &branch,
	}}}
}

func (f *following) changed(t *task.Task, next task.Card) []task.Change {
	if next == *t.Card {
		return nil
	}
	return []task.Change{{Task: t.ID, Saw: t.Version, Op: task.OpCard, Fields: task.Fields{Card: &next}}}
}

// stands says on a card how a node stands, with the way out where a person is needed.
func (f *following) stands(c *task.Card, v *run.View, i int) {
	n := &v.Nodes[i]
	text, session := n.Status.Label.String(), v.Run.Plan.Session
	c.Stuck, c.Way = "", ""
	switch n.Status.Label.State {
	case dag.NodeRunning, dag.NodeChecking, dag.NodeReady, dag.NodeDone: // why changes with each look
	default:
		if n.Status.Reason != "" {
			text += ": " + say.Line(n.Status.Reason)
		}
		if c.Way = runs.WithSession(runview.WayOut(v, i), session); stuck(n) {
			c.Stuck = n.Spec.Name
		}
	}
	c.Stands = n.Spec.Name + " " + runs.WithSession(text, session)
}

// stuck reports whether a node goes on only when a person does something.
func stuck(n *run.NodeView) bool {
	switch n.Status.Label.State {
	case dag.NodeNeedsInput, dag.NodeFailed, dag.NodeBlocked, dag.NodeTakenOver:
		return true
	case dag.NodeLost:
		return n.Fact.Held
	}
	return false
}

// tell tells the room what has become of the run: each once, and it wakes nobody.
func (f *following) tell(ctx context.Context, v *run.View, seats map[string]card.Seat) error {
	var all []room.Line
	add := func(key, format string, args ...any) {
		all = append(all, notice("run-"+f.id+"-"+key, format, args...))
	}
	add("began", "The run %s of the plan has begun: %s.", f.id, say.Count(len(v.Nodes), "node"))
	of := map[int]string{}
	for id, s := range seats {
		if of[s.Work] = id; s.Review >= 0 {
			of[s.Review] = id
		}
	}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		about := n.Spec.Name
		if of[i] != "" {
			about += " (card " + of[i] + ")"
		}
		key := fmt.Sprintf("%s-%d-", n.Spec.Name, len(n.Attempts))
		switch l := n.Status.Label; {
		case l.State == dag.NodeNeedsInput:
			add(key+"asks-"+short(l.Detail+n.Status.Reason), "%s asks the person: %s", about, say.Line(n.Status.Reason))
		case l.State == dag.NodeFailed:
			add(key+"failed", "%s is %s: %s", about, l, say.Line(n.Status.Reason))
		case l.State == dag.NodeDone:
			text := ""
			if end := n.LastEnd(); end != nil && end.Summary != "" {
				text = ": " + say.Line(end.Summary)
			}
			add(key+"done", "%s is %s%s", about, l, text)
		}
	}
	switch v.RunState {
	case dag.RunDone, dag.RunFailed, dag.RunStopped:
		all = append(all, notice(endKey(f.id, v.RunState, v.EndedAt), "The run %s is %s.", f.id, v.RunState))
	}
	_, lines, _, err := f.p.Room(f.room)
	if errors.Is(err, book.ErrNone) {
		return nil // the room was removed: its cards stay tasks
	}
	if err != nil {
		return err
	}
	if len(untold(lines, all)) == 0 {
		return nil
	}
	err = f.p.append(ctx, f.room, func(_ *room.State, so []room.Line) []room.Line { return untold(so, all) })
	if errors.Is(err, book.ErrNone) {
		return nil
	}
	return err
}

// notice is a line of cmux that wakes nobody.
func notice(key, format string, args ...any) room.Line {
	return room.Line{Kind: room.KindSaid, By: room.Cmux, Key: key, Text: fmt.Sprintf(format, args...)}
}

// untold are those of the lines that the room has not, by their keys.
func untold(so, all []room.Line) (more []room.Line) {
	told := map[string]bool{}
	for i := range so {
		if so[i].By == room.Cmux && so[i].Key != "" {
			told[so[i].Key] = true
		}
	}
	for _, l := range all {
		if !told[l.Key] {
			more = append(more, l)
		}
	}
	return more
}

func short(text string) string {
	h := fnv.New32a()
	h.Write([]byte(text))
	return fmt.Sprintf("%08x", h.Sum32())
}
