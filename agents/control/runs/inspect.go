package runs

import (
	"fmt"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/runview"
	"cmux/agents/kinds/question"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
)

// Inspection is all that the records know of one node.
type Inspection struct {
	Name     string             `json:"name"`
	Role     dag.Role           `json:"role"`
	Agent    string             `json:"agent,omitempty"`
	Branch   string             `json:"branch,omitempty"`
	Dir      string             `json:"dir,omitempty"` // as in the configuration
	Label    dag.Label          `json:"label"`
	Where    string             `json:"where,omitempty"`    // the machine that carries out the newest attempt, or "home" for this one
	Machine  string             `json:"machine,omitempty"`  // Where, if that is another machine
	HeardAt  *time.Time         `json:"heard_at,omitempty"` // the last sign of life of Machine, if it is silent
	Since    time.Time          `json:"since,omitzero"`     // when that was recorded; zero: nothing was
	Reason   string             `json:"reason,omitempty"`
	Way      string             `json:"way,omitempty"` // the commands a person would call next
	Question *question.Question `json:"question,omitempty"`
	After    []Beside           `json:"after"`
	Before   []Beside           `json:"before"`
	Tries    []Try              `json:"attempts"` // the newest last
	Checks   []run.Check        `json:"checks"`   // of the newest attempt that has any
	Used     dag.Usage          `json:"used,omitzero"`
	Budget   dag.Budget         `json:"budget,omitzero"`
	Refused  []Refusal          `json:"refused"` // what its agent tried and may not
	Fenced   []Fenced           `json:"fenced"`  // writes that its fence refused
	Orders   []string           `json:"orders"`  // that fit it as it stands, as in cmux agents ORDER NAME
}

// Beside is a node before or behind a gate.
type Beside struct {
	Name   string    `json:"name"`
	Label  dag.Label `json:"label"`
	Branch string    `json:"branch,omitempty"`
	Tip    string    `json:"tip,omitempty"` // of its branch, when it has one
}

// Try is one attempt of a node.
type Try struct {
	N        int       `json:"n"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	How      string    `json:"how"` // its end in a word or two; empty: it lives
	Detail   string    `json:"detail,omitempty"`
	Summary  string    `json:"summary,omitempty"`
	Commits  int       `json:"commits,omitempty"`
	DiffStat string    `json:"diffstat,omitempty"`
	Saved    string    `json:"saved,omitempty"` // the snapshot of its work
}

// Inspect is all that a view knows of node i.
func Inspect(v *run.View, i int) *Inspection {
	n := &v.Nodes[i]
	g := v.Run.Plan.Graph
	in := &Inspection{
		Name: n.Spec.Name, Role: n.Spec.Role, Agent: n.Spec.Agent, Branch: n.Spec.Branch, Dir: n.Spec.Dir,
		Label: n.Status.Label, Where: n.Where(), Machine: machineOf(n), HeardAt: project.Moment(n.HeardAt()), Reason: n.Status.Reason, Way: runview.WayOut(v, i),
		After: Besides(v, g.Deps(i)), Before: Besides(v, g.Dependents(i)),
		Used: n.Used, Budget: n.Spec.Budget, Orders: fitting(v, i), Fenced: fenced(n),
	}
	if in.Role == dag.RoleGate {
		in.Agent = "" // nothing runs in it
	}
	if n.Status.Age > 0 {
		in.Since = v.Since(i)
	}
	if runview.Asks(n) && n.Spec.Role != dag.RoleGate && !runview.Left(n) {
		q := Asked(n)
		in.Question = &q
	}
	for k := range n.Attempts {
		a := &n.Attempts[k]
		t := Try{N: a.N, Started: a.Started, Ended: a.Ended, How: a.Vanished}
		if e := a.End; e != nil {
			t.How, t.Detail, t.Summary = e.Label().String(), e.Detail, e.Summary
			t.Commits, t.DiffStat, t.Saved = e.Commits, e.DiffStat, e.Snapshot
			if len(e.Checks) > 0 {
				in.Checks = e.Checks
			}
		}
		in.Tries = append(in.Tries, t)
	}
	for _, r := range Refusals(v) {
		if r.Node == in.Name {
			in.Refused = append(in.Refused, r)
		}
	}
	return in
}

// Asked is what the agent of n asks.
func Asked(n *run.NodeView) question.Question {
	q := question.New(n.Status.Reason)
	if a := n.Attempt(); a != nil && a.Asks != nil && !a.Over() {
		q = *a.Asks
	}
	q.ID = n.Asked()
	return q
}

func Besides(v *run.View, nodes []int) []Beside {
	all := make([]Beside, len(nodes))
	for k, j := range nodes {
		n := &v.Nodes[j]
		all[k] = Beside{n.Spec.Name, n.Status.Label, n.Spec.Branch, n.Tip}
	}
	return all
}

// fitting names the orders that make sense for node i as it stands, those first
// that a person would think of first. It offers: what an order does, or why it
// does not, the order itself says.
func fitting(v *run.View, i int) (names []string) {
	n := &v.Nodes[i]
	gate := n.Spec.Role == dag.RoleGate
	_, again := runner.Rerun(v.State, i, false, v.OverBudget)
	for _, o := range []struct {
		name string
		fits bool
	}{
		{"approve", gate && !runview.Succeeded(n)},
		{"answer", runview.Asks(n) && !gate && !runview.Left(n) && !Asked(n).InPane},
		{"release", runview.TakenOver(n)},
		{"retry", !gate && (runview.Left(n) || again == nil)},
		{"attach", !gate && len(n.Attempts) > 0 && n.Away() == nil},
		{"logs", len(n.Attempts) > 0},
		{"diff", n.Spec.HasBranch() && len(n.Attempts) > 0},
		{"answer", !runview.Asks(n) && !gate && Live(n) == nil},
		{"override", !gate && !runview.Succeeded(n)},
		{"stop", !v.State.Settled(i) || n.Fact.Live()},
	} {
		if o.fits {
			names = append(names, o.name)
		}
	}
	return names
}

// Live refuses what only a running node can be asked.
func Live(n *run.NodeView) error {
	if !n.Fact.Live() {
		return fmt.Errorf("%s is not running (%s)", n.Spec.Name, n.Status.Label)
	}
	return nil
}

// NeedPerson is the nodes, by index, that go on only when a person does
// something.
func NeedPerson(v *run.View) (nodes []int) {
	for i := range v.Nodes {
		if n := &v.Nodes[i]; runview.Asks(n) || runview.TakenOver(n) || runview.Held(n) {
			nodes = append(nodes, i)
		}
	}
	return nodes
}
