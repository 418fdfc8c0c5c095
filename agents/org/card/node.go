package card

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// The work of a card may be done by a node of a run. Its task then goes the way of the node:
// each attempt that is judged is an attempt at the task, with the same verdict. So there is
// one meaning of done.

// Stand is how a node stands, in the words of tasks.
type Stand struct {
	State    task.State
	Reason   string
	Until    time.Time
	End      *run.End // the node is settled, so; else nil
	Override bool     // a person called it done
}

// StandOf says how a node stands. text is the same with its reason and the way out, for people.
func StandOf(n *run.NodeView, text string) Stand {
	l := n.Status.Label
	s := Stand{Reason: text}
	switch l.State {
	case dag.NodeWaiting, dag.NodeReady:
		s.State = task.Assigned
	case dag.NodeChecking:
		s.State = task.Checking
	case dag.NodeNeedsInput:
		s.State = task.NeedsInput
	case dag.NodeLimited:
		s.State, s.Until = task.Limited, l.Until
	case dag.NodeLost:
		s.State = task.Paused
	case dag.NodeBlocked, dag.NodeSkipped:
		s.State = task.Blocked
	case dag.NodeDone:
		s.State, s.Override = task.Done, l.Reason == dag.ReasonOverride
		if s.End = n.LastEnd(); s.End == nil || s.End.Outcome != dag.Done {
			s.Override = true // a marker says so
		}
	case dag.NodeFailed:
		s.State, s.End = task.Failed, n.LastEnd()
		switch {
		case s.End == nil:
			s.End = &run.End{Outcome: dag.Failed, Reason: l.Reason, Exit: l.Code, Detail: n.Status.Reason}
		case s.End.Reason == dag.ReasonReported:
			s.State = task.Blocked
		case s.End.Outcome == dag.Cancelled: // a node that was stopped; the card is not cancelled for it
			s.State, s.End = task.Blocked, nil
		}
	default:
		s.State = task.Working
	}
	return s
}

// Toward are the changes that take a task where its node stands: none where it is there. by is
// the address of the node. A task that is done stays so.
func Toward(t *task.Task, by string, s Stand) []task.Change {
	if t.State == task.Done || t.State == task.Cancelled {
		return nil
	}
	w := &walk{t: t, state: t.State, by: by}
	switch {
	case s.Override:
		w.add(task.Change{Op: task.OpOverride, Reason: s.Reason})
	case s.End != nil:
		if t.State == s.State && t.Result() != nil && SameEnd(t.Result(), s.End) {
			return nil
		}
		if !t.State.Active() {
			w.work()
		}
		w.add(task.Change{Op: task.OpVerdict, Attempt: w.attempt(), End: s.End})
	case t.State == s.State && (t.Reason == s.Reason || s.State == task.Working || s.State == task.Assigned || s.State == task.Checking) && t.Until.Equal(s.Until):
		return nil
	case s.State == task.Assigned:
		w.assign()
	case s.State == task.Blocked, s.State == task.Paused:
		if !task.May(w.state, s.State) {
			w.assign()
		}
		w.move(task.Change{To: s.State, Reason: s.Reason})
	default:
		w.work()
		if s.State != task.Working {
			w.move(task.Change{To: s.State, Reason: s.Reason, Until: s.Until})
		}
	}
	return w.all
}

// Back are the changes that take a task from its node: it is in the backlog again, and nobody's.
func Back(t *task.Task) []task.Change {
	if t.State == task.Done || t.State == task.Cancelled {
		return nil
	}
	w := &walk{t: t, state: t.State}
	if w.state != task.Open {
		if !task.May(w.state, task.Open) {
			w.move(task.Change{To: task.Paused, Reason: "its run was stopped"})
		}
		w.move(task.Change{To: task.Open})
	}
	if later := true; !t.Backlog {
		w.add(task.Change{Op: task.OpEdit, Fields: task.Fields{Backlog: &later}})
	}
	return w.all
}

// walk is a way through the states of a task.
type walk struct {
	t     *task.Task
	by    string
	state task.State
	begun bool // an attempt, on the way
	all   []task.Change
}

func (w *walk) add(c task.Change) {
	c.Task, c.Saw = w.t.ID, w.t.Version+len(w.all)
	w.all = append(w.all, c)
}

func (w *walk) move(c task.Change) {
	c.Op = task.OpMove
	w.add(c)
	w.state = c.To
}

// assign gives the task to the node, out of the backlog.
func (w *walk) assign() {
	taken := false
	switch {
	case !w.t.Backlog:
	case w.state.Over(): // what is over is not edited
		w.move(task.Change{To: task.Open})
		fallthrough
	default:
		w.add(task.Change{Op: task.OpEdit, Fields: task.Fields{Backlog: &taken}})
	}
	w.move(task.Change{To: task.Assigned, Agent: w.by})
}

// work has the task worked on, which begins an attempt unless one is under way.
func (w *walk) work() {
	if w.state == task.Working {
		return
	}
	if !w.state.Active() {
		if w.state != task.Assigned || w.t.Agent != w.by {
			w.assign()
		}
	}
	last := w.t.Last()
	w.begun = last == nil || last.Ended != nil || len(w.all) > 0 && w.state == task.Assigned
	w.move(task.Change{To: task.Working})
}

// attempt is the number of the attempt under way.
func (w *walk) attempt() int {
	if w.begun {
		return len(w.t.Attempts) + 1
	}
	return len(w.t.Attempts)
}

// SameEnd reports whether both are the end of the same attempt.
func SameEnd(a, b *run.End) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// Joins is the card when a node of a run does its work.
func Joins(c task.Card, node string) task.Card {
	c.Node, c.Phase, c.Waits, c.Hold, c.Stands, c.Stuck, c.Way = node, task.Implementing, "", false, "", "", ""
	return c
}

// Leaves is the card when its node does not do its work any more: it is decided, and not
// started, as before.
func Leaves(c task.Card) task.Card {
	c.Node, c.Stands, c.Stuck, c.Way = "", "", "", ""
	if c.Phase != task.Implementing {
		return c
	}
	if c.Hold = true; c.Planner == "" && c.Coordinator == "" && c.Work == "" {
		c.Phase, c.Hold = "", false
	}
	return c
}

// NodeName is the name of the node in an address RUN/NODE.
func NodeName(address string) string {
	_, name, _ := strings.Cut(address, "/")
	return name
}
