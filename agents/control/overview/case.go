package overview

import (
	"context"
	"errors"
	"strings"
	"time"

	"cmux/agents/control/logs"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/control/tasks"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// Case is a Need with what a person wants to know before they decide. Fields that do not
// fit the kind are nil or empty.
type Case struct {
	Need
	Node   *runs.Inspection `json:"node"`   // of a run
	Review *runs.Delivery   `json:"review"` // of a review
	Task   *tasks.TaskView  `json:"task"`   // of a task or its merge; of an agent: what it works on
	Failed *run.Check       `json:"failed"` // of an agent: its last check, if that failed
	Below  []CasePart       `json:"below"`  // of a gate: the finished nodes that it comes after
	Used   dag.Usage        `json:"used"`   // of a gate: by all of these; else by the node
	Blocks []runs.Beside    `json:"blocks"` // the nodes that start only after it
	Tail   string           `json:"tail"`   // of a command: the last lines of its log
}

// CasePart is what one node below a gate did.
type CasePart struct {
	Name    string                `json:"name"`
	Label   string                `json:"label"`
	Summary string                `json:"summary"`
	Commits int                   `json:"commits"`
	Files   []runs.DeliveredFile  `json:"files"`
	Checks  []runs.DeliveredCheck `json:"checks"`
	Used    dag.Usage             `json:"used"`
	Started time.Time             `json:"started,omitzero"`
	Ended   time.Time             `json:"ended,omitzero"`
}

// maxTail bounds the Tail of a Case, in lines.
const maxTail = 30

// maxParts bounds for how many nodes below a gate git lists files.
const maxParts = 40

// Case returns the case of what waits under an id. ErrMissing: nothing waits there now.
func (ov *Overview) Case(ctx context.Context, n Need) (*Case, error) {
	c := &Case{Need: n, Below: []CasePart{}, Blocks: []runs.Beside{}}
	switch n.Kind {
	case NeedNode, NeedFailure, NeedReview:
		return c, ov.nodeCase(ctx, c)
	case NeedTask, NeedMerge:
		return c, ov.taskCase(c, n.Name)
	case NeedAgent:
		if n.Task == "" {
			return c, nil
		}
		if err := ov.taskCase(c, n.Task); err != nil {
			return c, err
		}
		return c, ov.lastCheck(c)
	}
	return c, nil
}

func (ov *Overview) taskCase(c *Case, id string) error {
	t, err := (&tasks.Tasks{Project: ov.Project}).Task(id)
	c.Task = &t
	return err
}

// lastCheck adds the last check of an agent's work at its task, if that check failed.
func (ov *Overview) lastCheck(c *Case) error {
	org, err := ov.Org()
	if err != nil {
		return err
	}
	if a := org.Agents[c.Name]; a != nil && a.Work != nil {
		c.Failed, err = logs.FailedCheck(org.Run.Events(c.Name), a.GivenAt)
	}
	return err
}

// nodeCase adds what a run knows of a node that waits.
func (ov *Overview) nodeCase(ctx context.Context, c *Case) error {
	r, err := run.Open(ov.Root, c.Run)
	if err != nil {
		return err
	}
	v, err := r.View(ctx, ov.Now())
	if err != nil {
		return err
	}
	i, err := runs.Index(r, c.Name)
	if err != nil {
		return err
	}
	g := v.Run.Plan.Graph
	c.Node, c.Used = runs.Inspect(v, i), v.Nodes[i].Used
	behind, err := g.Downstream(i)
	if err != nil {
		return err
	}
	for _, b := range runs.Besides(v, behind) {
		if b.Label.State != dag.NodeDone && b.Label.State != dag.NodeSkipped {
			c.Blocks = append(c.Blocks, b)
		}
	}
	of := *ov.Project
	of.Session = c.Session
	in := &runs.Runs{Project: &of}
	switch {
	case c.Kind == NeedReview:
		c.Review, err = in.Delivery(ctx, c.Name)
	case c.Node.Role == dag.RoleGate:
		c.Below, c.Used, err = below(ctx, in, v, i)
	case c.Node.Agent == "command" && len(c.Node.Tries) > 0:
		var part *logs.LogPart
		if part, err = (&logs.Logs{Project: ov.Project, Runs: in}).NodePart(ctx, c.Run, c.Name, -1, 0); err == nil {
			c.Tail = lastLines(part.Text, maxTail)
		}
	}
	return err
}

// below returns what the nodes did that node i comes after, and what they used.
func below(ctx context.Context, in *runs.Runs, v *run.View, i int) (parts []CasePart, used dag.Usage, err error) {
	before, err := v.Run.Plan.Graph.Upstream(i)
	if err != nil {
		return nil, used, err
	}
	for _, j := range before {
		n := &v.Nodes[j]
		used = used.Plus(n.Used)
		p := CasePart{Name: n.Spec.Name, Label: n.Status.Label.String(), Used: n.Used, Started: n.Fact.StartedAt, Ended: n.Fact.EndedAt,
			Files: []runs.DeliveredFile{}, Checks: []runs.DeliveredCheck{}}
		if end := n.LastEnd(); end != nil {
			p.Summary, p.Commits = end.Summary, end.Commits
			for _, c := range end.Checks {
				p.Checks = append(p.Checks, runs.DeliveredCheck{Command: c.Command, Passed: c.Exit == 0 && !c.TimedOut, Took: time.Duration(c.Took)})
			}
		}
		if len(parts) < maxParts && runs.Reviewable(n) == nil {
			d, err := in.Delivery(ctx, n.Spec.Name)
			if err != nil && !errors.Is(err, project.ErrMissing) {
				return nil, used, err
			} else if err == nil {
				p.Files, p.Commits = d.Files, len(d.Commits)
			}
		}
		parts = append(parts, p)
	}
	return parts, used, nil
}

// lastLines returns the last n lines that the program of a log wrote.
func lastLines(log string, n int) string {
	var lines []string
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "── ") { // else it is cmux's
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines[max(0, len(lines)-n):], ""), "\r\n", "\n") // a terminal's line ends
}
