package runs

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/runview"
	"cmux/agents/kinds/question"
	"cmux/agents/platform/limits"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// View is the run that is meant as it stands, from records, markers and locks alone:
// no runner is needed and none is disturbed.
func (p *Runs) View(ctx context.Context) (*run.View, error) {
	r, err := p.Latest(ctx)
	if err != nil {
		return nil, err
	}
	return r.View(ctx, p.Now())
}

// Tally is how many nodes have come to an end.
type Tally struct{ Done, Failed, Blocked, Skipped int }

// Count counts the nodes of a view.
func Count(v *run.View) (t Tally) {
	for i := range v.Nodes {
		if _, is := v.State.Blocked(i); is {
			t.Blocked++
		} else if v.State.Skipped(i) {
			t.Skipped++
		} else if runview.Succeeded(&v.Nodes[i]) {
			t.Done++
		} else if v.Nodes[i].Fact.Phase == dag.Ended {
			t.Failed++
		}
	}
	return t
}

// Report is how a run stands, as programs read it.
type Report struct {
	Run       *RunReport       `json:"run"`
	Incidents []IncidentReport `json:"incidents,omitempty"`
	Strays    []StrayReport    `json:"strays,omitempty"`
	Nodes     []NodeReport     `json:"nodes"`

	Collisions []Collision `json:"collisions,omitempty"`

	Limits []LimitReport `json:"limits,omitempty"`

	Others []Report `json:"others,omitempty"` // further runs that a look at the project shows
}

// LimitReport is a usage limit of an account that lasts.
type LimitReport struct {
	Account string        `json:"account"`
	Until   *time.Time    `json:"until"`
	Since   time.Time     `json:"since"`
	MetBy   limits.Source `json:"met_by"`
	Said    string        `json:"said"`
}

// IncidentReport is what an agent tried and may not, or a file that cmux did not write.
type IncidentReport struct {
	Node    string    `json:"node"`
	Attempt int       `json:"attempt"`
	How     string    `json:"how"`
	Detail  string    `json:"detail"`
	At      time.Time `json:"at"`
}

// StrayReport is a file among the markers that belongs to no node.
type StrayReport struct {
	File string `json:"file"` // its name, in the folder of markers
	Node string `json:"node"` // that it was probably meant for; empty: none
}

// RunReport is the run of a Report.
type RunReport struct {
	ID      string       `json:"id"`
	State   dag.RunState `json:"state"`
	Session string       `json:"session"`
	Config  string       `json:"config"`
	Used    *dag.Usage   `json:"used"`
}

// NodeReport is one node of a Report.
type NodeReport struct {
	Name      string     `json:"name"`
	Role      dag.Role   `json:"role"`
	Agent     string     `json:"agent"`
	Branch    string     `json:"branch"`
	Dir       string     `json:"dir,omitempty"` // as in the configuration
	DependsOn []string   `json:"depends_on"`
	Finally   bool       `json:"finally,omitempty"`
	Matrix    string     `json:"matrix,omitempty"` // the name of the matrix that it comes from
	Label     string     `json:"label"`
	Status    dag.Label  `json:"status"`
	ExitCode  *int       `json:"exit_code"`
	Attempts  int        `json:"attempts"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Source    string     `json:"source"`
	Age       float64    `json:"age"`
	Reason    string     `json:"reason"`
	Used      *dag.Usage `json:"used"`
	// Outputs are what it has published.
	Outputs map[string]string `json:"outputs,omitempty"`
	// Review is what a person decided about its work.
	Review *Decided `json:"review,omitempty"`
	// Where is the machine that carries out its newest attempt, or "home" for this one.
	Where string `json:"where,omitempty"`
	// Machine is Where, if that is another machine.
	Machine string `json:"machine,omitempty"`
	// HeardAt is the time of the last sign of life of Machine, if it is silent.
	HeardAt *time.Time `json:"heard_at,omitempty"`
	// Fenced is how many writes the fence has refused, see Fence.
	Fenced int `json:"fenced,omitempty"`
	// Question is what its agent waits for a person to answer.
	Question *question.Question `json:"question,omitempty"`
}

// mostNamed is how many nodes a line names: what depends on a thousand would make
// each line of a table as long.
const mostNamed = 8

// Waits says in a line what a node waits for.
func Waits(n *dag.Node) string {
	text := strings.Join(n.DependsOn[:min(len(n.DependsOn), mostNamed)], ", ")
	if more := len(n.DependsOn) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case n.Finally && text != "":
		text += ", all agents"
	case n.Finally:
		text = "all agents"
	}
	if n.When != dag.AllSuccess && !(n.Finally && n.When == dag.Always) && text != "" || n.Finally && n.When == dag.AllSuccess {
		text += " (" + string(n.When) + ")"
	}
	if n.If != "" {
		text = strings.TrimPrefix(text+", if "+strings.Join(strings.Fields(n.If), " "), ", ")
	}
	return text
}

// NewReport reports a view.
func NewReport(v *run.View) Report {
	s := Report{
		Run: &RunReport{ID: v.Run.Plan.ID, State: v.RunState,
			Session: v.Run.Plan.Graph.Session, Config: v.Run.Plan.Config, Used: Known(v.Used)},
		Incidents: make([]IncidentReport, len(v.Incidents)),
		Nodes:     make([]NodeReport, len(v.Nodes)),

		Collisions: Collisions(v), Limits: limitReports(v),
	}
	for i, rec := range v.Incidents {
		s.Incidents[i] = IncidentReport{rec.Node, rec.Attempt, rec.How, rec.Detail, rec.At}
	}
	for _, file := range v.Strays {
		one := StrayReport{File: file}
		if i := StrayFor(v.Run.Plan.Graph, file); i >= 0 {
			one.Node = v.Nodes[i].Spec.Name
		}
		s.Strays = append(s.Strays, one)
	}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		r := NodeReport{
			Name: n.Spec.Name, Role: n.Spec.Role, Agent: n.Spec.Agent, Branch: n.Spec.Branch, Dir: n.Spec.Dir,
			DependsOn: n.Spec.DependsOn, Finally: n.Spec.Finally, Label: n.Status.Label.String(), Status: n.Status.Label, ExitCode: marker(v, i), Attempts: n.Fact.Attempts,
			StartedAt: project.Moment(n.Fact.StartedAt), EndedAt: project.Moment(n.Fact.EndedAt),
			Source: n.Status.Source, Age: math.Round(n.Status.Age.Seconds()*1000) / 1000, Reason: n.Status.Reason,
			Used: Known(n.Used), Outputs: n.Fact.Outputs.Values(), Fenced: len(n.Fenced),
			Where: n.Where(), Machine: machineOf(n), HeardAt: project.Moment(n.HeardAt()),
		}
		if n.Spec.Matrix != nil {
			r.Matrix = n.Spec.Matrix.Name
		}
		if r.DependsOn == nil {
			r.DependsOn = []string{}
		}
		if d := n.Review; d != nil {
			r.Review = &Decided{d.Verdict, d.Commit, d.Comment, d.At}
		}
		if runview.Asks(n) && n.Spec.Role != dag.RoleGate && !runview.Left(n) {
			q := Asked(n)
			r.Question = &q
		}
		s.Nodes[i] = r
	}
	return s
}

// machineOf is the machine that carries out the newest attempt of n; empty: this one, or none
// yet.
func machineOf(n *run.NodeView) string {
	if a := n.Attempt(); a != nil && a.Place.Away() {
		return a.Place.Machine
	}
	return ""
}

func limitReports(v *run.View) (all []LimitReport) {
	for _, l := range v.Limits {
		by := limits.Source{Project: v.Run.Plan.Root, Session: v.Run.Plan.Graph.Session, Run: v.Run.Plan.ID, Node: l.Node}
		if l.By != nil {
			by = *l.By
		}
		all = append(all, LimitReport{l.Account, project.Moment(l.Until), l.Since, by, l.Said})
	}
	return all
}

// marker is the exit code that the marker of node i holds, nil while it has none.
func marker(v *run.View, i int) *int {
	f := &v.Nodes[i].Fact
	code := f.Exit
	if _, blocked := v.State.Blocked(i); blocked {
		code = 99
	} else if v.State.Skipped(i) {
		code = 0
	} else if f.Phase != dag.Ended {
		return nil
	} else if f.Outcome.Success() {
		code = 0
	} else if f.Outcome == dag.Cancelled {
		code = 130
	}
	return &code
}

// Known is what was used, nil while nothing is known of it.
func Known(used dag.Usage) *dag.Usage {
	if used == (dag.Usage{}) {
		return nil
	}
	return &used
}

// UsageText is what was used, of what budget, and what caches spared.
func UsageText(used dag.Usage, budget dag.Budget) string {
	text := say.Short(used.Counted())
	if budget.Tokens > 0 {
		text += " of " + say.Short(budget.Tokens)
	}
	text += " tokens"
	if used.CacheRead > 0 {
		text += " and " + say.Short(used.CacheRead) + " from caches"
	}
	return text
}
