package task

import (
	"fmt"
	"slices"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// State is how a task stands.
type State string

const (
	Open       State = "open"
	Assigned   State = "assigned" // to an agent that has not begun
	Working    State = "working"
	Checking   State = "checking"
	NeedsInput State = "needs input"
	Limited    State = "limited"
	Paused     State = "paused" // put back for another one, or for a reset; its work is kept
	Blocked    State = "blocked"
	Done       State = "done"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
)

// next says which states follow which. A verdict and a person's override are
// not moves: see Change.
var next = map[State][]State{
	Open:       {Assigned, Cancelled},
	Assigned:   {Open, Assigned, Working, Paused, Blocked, Cancelled},
	Working:    {Assigned, Checking, NeedsInput, Limited, Paused, Blocked, Failed, Cancelled},
	Checking:   {Assigned, Working, NeedsInput, Limited, Paused, Blocked, Failed, Cancelled},
	NeedsInput: {Assigned, Working, Checking, Limited, Paused, Blocked, Failed, Cancelled},
	Limited:    {Assigned, Working, Checking, NeedsInput, Paused, Blocked, Failed, Cancelled},
	Paused:     {Open, Assigned, Working, Blocked, Failed, Cancelled},
	Blocked:    {Open, Assigned, Working, Failed, Cancelled},
	Failed:     {Open, Assigned, Cancelled},
	Cancelled:  {Open, Assigned},
	Done:       {},
}

// May reports whether a task may go from one state to another.
func May(from, to State) bool { return slices.Contains(next[from], to) }

// States are all of them, in the order in which a task may meet them.
func States() []State {
	return []State{Open, Assigned, Working, Checking, NeedsInput, Limited, Paused, Blocked, Done, Failed, Cancelled}
}

// Over reports whether nothing more happens to the task by itself.
func (s State) Over() bool { return s == Done || s == Failed || s == Cancelled }

// Active reports whether an agent has begun and not ended.
func (s State) Active() bool {
	return s == Working || s == Checking || s == NeedsInput || s == Limited
}

// Cmux is who changed a task where cmux did it by itself (Change.By).
const Cmux = "cmux"

// Priority says which task comes first.
type Priority string

const (
	Critical Priority = "critical"
	High     Priority = "high"
	Normal   Priority = "normal"
	Low      Priority = "low"
)

// Priorities are all of them, the first first.
func Priorities() []Priority { return []Priority{Critical, High, Normal, Low} }

// Check refuses a word that is no priority.
func (p Priority) Check() error {
	if p.rank() < 0 {
		return fmt.Errorf("%.40q is no priority: want critical, high, normal or low", string(p))
	}
	return nil
}

func (p Priority) rank() int { return slices.Index(Priorities(), p) }

// Preempts reports whether a task of this priority has one of another put back
// that an agent is working on.
func (p Priority) Preempts(running Priority) bool {
	return (p == Critical || p == High) && (running == Normal || running == Low)
}

// Kind says what a task ends with.
type Kind string

const (
	ForChange Kind = "change" // with commits
	ForAnswer Kind = "answer" // with a report: its agent reads and changes nothing
)

// Kinds are all of them, the default first.
func Kinds() []Kind { return []Kind{ForChange, ForAnswer} }

// Start is the work of other tasks that a task's branch begins at.
type Start struct {
	Commit string   `json:"commit"` // that holds the integration branch and the work of Tasks
	Tasks  []string `json:"tasks"`  // ids
}

// Attempt is one try of an agent at a task.
type Attempt struct {
	N     int        `json:"n"`
	Agent string     `json:"agent"`
	Began time.Time  `json:"began_at"`
	Ended *time.Time `json:"ended_at"`
	End   *run.End   `json:"end"` // the verdict; nil: it has none
}

// Task is a piece of work as it stands.
type Task struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Body     string   `json:"body"`
	Priority Priority `json:"priority"`
	Kind     Kind     `json:"kind"`
	Scope    []string `json:"scope"`
	Verify   []string `json:"verify"`
	Branch   string   `json:"branch"`
	Project  string   `json:"project"`
	Parent   string   `json:"parent"`
	PartOf   string   `json:"part_of"`        // task at whose branch its own began, and without which it does not come in
	Backlog  bool     `json:"backlog"`        // for later: nobody is given it before it is taken from there
	After    []string `json:"after"`          // ids of tasks that must be done before an agent begins with it
	Start    *Start   `json:"start"`          // other tasks' work that its branch began at; nil: none
	Card     *Card    `json:"card,omitempty"` // nil: it is no card
	Key      string   `json:"key,omitempty"`  // what cmux made it for, once; empty: somebody added it

	State    State     `json:"state"`
	Reason   string    `json:"reason"` // of failed, blocked, cancelled, paused, needs input, override
	Until    time.Time `json:"until,omitzero"`
	Override bool      `json:"override"` // a person called it done
	Agent    string    `json:"assigned_to"`
	Attempts []Attempt `json:"attempts"`
	Merged   *Merged   `json:"merged"`

	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	ChangedBy string    `json:"changed_by"`
	ChangedAt time.Time `json:"changed_at"`
	Version   int       `json:"version"`
}

// Last is the newest attempt; nil: there was none.
func (t *Task) Last() *Attempt {
	if len(t.Attempts) == 0 {
		return nil
	}
	return &t.Attempts[len(t.Attempts)-1]
}

// Result is the newest verdict; nil: there is none.
func (t *Task) Result() *run.End {
	for _, a := range slices.Backward(t.Attempts) {
		if a.End != nil {
			return a.End
		}
	}
	return nil
}

// Label is how the task stands, as a node's label says it.
func (t *Task) Label() string {
	switch {
	case t.State == Done:
		return t.doneLabel()
	case t.State == Limited && !t.Until.IsZero():
		return "limited until " + t.Until.Local().Format("15:04")
	case t.State == Failed && t.Result() != nil && t.Result().Outcome == dag.Failed:
		return t.Result().Label().String()
	case t.State == Open && t.Backlog:
		return "backlog"
	case t.Orphan():
		return fmt.Sprintf("%s (%s: %s)", t.State, t.Reason, t.Next())
	case t.Reason != "" && (t.State == Blocked || t.State == Failed || t.State == Paused):
		return fmt.Sprintf("%s (%s)", t.State, t.Reason)
	}
	return string(t.State)
}

// NoAgent is why a task is blocked whose agent is gone.
func NoAgent(name string) string { return "there is no agent " + name }

// Orphan reports whether the task is blocked because its agent is gone.
func (t *Task) Orphan() bool { return t.State == Blocked && t.Reason == NoAgent(t.Agent) }

// Next is the command that takes a blocked task up again; empty: it is not blocked.
func (t *Task) Next() string {
	switch {
	case t.State != Blocked:
		return ""
	case t.Orphan() || t.Agent == "":
		return "cmux tasks assign " + t.ID + " NAME"
	}
	return "cmux tasks assign " + t.ID + " " + t.Agent
}

func (t *Task) doneLabel() string {
	label := "done"
	if t.Override {
		label = "done (override)"
	}
	switch {
	case t.Merged != nil && t.Merged.Nothing:
		label += ", nothing to merge"
	case t.Merged.In():
		label += ", merged"
	case t.Merged != nil && t.Merged.Check != "":
		label += ", not merged (check)"
	case t.Merged != nil && t.Merged.With():
		label += ", not merged (" + t.Merged.Task + ")"
	case t.Merged != nil:
		label += ", not merged (conflict)"
	}
	return label
}

// clone is a copy that shares nothing that is changed.
func (t *Task) clone() *Task {
	c := *t
	c.Attempts = slices.Clone(t.Attempts)
	return &c
}
