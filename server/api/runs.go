package api

import (
	"bytes"
	"context"
	"io"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/logs"
	"cmux/agents/control/runs"
)

type RunIn struct {
	ID string `path:"id" maxLength:"100" doc:"Id of a run, or a unique part of it"`
}

type NodeIn struct {
	RunIn
	Node string `path:"node" maxLength:"200" doc:"Name of a node"`
}

// runs adds the routes of runs.
func (r *routes) runs() {
	const group, path, one = "runs", "/api/runs", "/api/runs/{id}"
	p := r.Project
	get(r, group, path, "List runs, newest first", func(ctx context.Context, i *struct{ Paging }) (List[runs.PastRun], error) {
		all, _, err := p.Runs().List(ctx) // what is damaged, cmux doctor says
		if err != nil {
			return List[runs.PastRun]{}, err
		}
		return page(all, i.Paging, func(r *runs.PastRun) string { return r.ID })
	})
	get(r, group, one, "Show the status of a run", func(ctx context.Context, i *RunIn) (runs.Report, error) {
		found, err := p.Runs().Named(ctx, i.ID)
		if err != nil {
			return runs.Report{}, err
		}
		v, err := found.View(ctx, p.Now())
		if err != nil {
			return runs.Report{}, err
		}
		return runs.NewReport(v), nil
	})
	get(r, group, one+"/nodes/{node}/log", "Show the output of a node, as text", func(ctx context.Context, i *struct {
		NodeIn
		LogIn
	}) (text, error) {
		found, err := p.Runs().Named(ctx, i.ID)
		if err != nil {
			return text{}, err
		}
		var b bytes.Buffer
		err = p.Logs().Node(ctx, logs.Log{Run: found.Plan.ID, Node: i.Node, Tail: i.Tail, Prompt: i.Prompt}, func(bool) io.Writer { return &b })
		return text{b.String()}, err
	})
	post(r, group, one+"/stop", "Stop a run: its agents are ended, and it can be resumed", func(ctx context.Context, i *RunIn) (*commands.RunStopped, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return nil, err
		}
		return p.Commands().Stop(ctx)
	})
	order(r, one+"/nodes/{node}/approve", "Open a gate", func(ctx context.Context, p *control.Project, node string) (commands.Taken, error) {
		return p.Commands().Approve(ctx, commands.Decision{Node: node})
	})
	order(r, one+"/nodes/{node}/override", "Override a node: it counts as done, whatever its own result", func(ctx context.Context, p *control.Project, node string) (commands.Taken, error) {
		return p.Commands().Override(ctx, commands.Decision{Node: node})
	})
	order(r, one+"/nodes/{node}/release", "Release a node's agent from a takeover", func(ctx context.Context, p *control.Project, node string) (commands.Taken, error) {
		return p.Commands().Release(ctx, commands.Decision{Node: node})
	})
	order(r, one+"/nodes/{node}/stop", "Cancel a node", func(ctx context.Context, p *control.Project, node string) (commands.Cancelled, error) {
		return p.Commands().Cancel(ctx, node)
	})
	post(r, group, one+"/nodes/{node}/answer", "Answer the question of a node's agent, or send it a text", func(ctx context.Context, i *struct {
		NodeIn
		Body answer
	}) (commands.Answered, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return commands.Answered{}, err
		}
		return p.Commands().Answer(ctx, commands.Answer{Node: i.Node, Text: i.Body.Text, Question: i.Body.Question})
	})
	post(r, group, one+"/nodes/{node}/retry", "Retry a node, and the nodes that it blocked", func(ctx context.Context, i *struct {
		NodeIn
		Body struct {
			Downstream bool `json:"downstream,omitempty" doc:"Also dependents that succeeded"`
			Fresh      bool `json:"fresh,omitempty" doc:"Save its work and start from the base"`
		}
	}) (*commands.Retried, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return nil, err
		}
		return p.Commands().Retry(ctx, commands.Retry{Node: i.Node, Downstream: i.Body.Downstream, Fresh: i.Body.Fresh})
	})
}

// order adds a route for a command about a node.
func order[O any](r *routes, path, summary string, f func(context.Context, *control.Project, string) (O, error)) {
	post(r, "runs", path, summary, func(ctx context.Context, i *NodeIn) (O, error) {
		p, err := r.Project.OfRun(ctx, i.ID)
		if err != nil {
			var none O
			return none, err
		}
		return f(ctx, p, i.Node)
	})
}

// answer is a person's text for an agent.
type answer struct {
	Text     string  `json:"text" minLength:"1"`
	Question *string `json:"question,omitempty" maxLength:"64" doc:"Id of the question that this answers; refused with 409 if the open question is another one. Empty: no question is open. Absent: any question"`
}
