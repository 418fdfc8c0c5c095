package api

import (
	"context"

	"cmux/agents/control"
	"cmux/agents/control/draft"
	"cmux/agents/control/graphs"
	"cmux/agents/control/merging"
	"cmux/agents/control/tasks"
	"cmux/dag"
)

// edited is an edited configuration of agents with its graph; nothing is written.
type edited struct {
	Text  string            `json:"text"`
	Check graphs.GraphCheck `json:"check"`
}

// graphs adds the routes of run graphs, existing and planned.
func (r *routes) graphs() {
	const path, one = "/api/runs", "/api/runs/{id}"
	p := r.Project
	get(r, "runs", one+"/graph", "Show the graph of a run: its nodes, when each worked, and the critical chain", func(ctx context.Context, i *RunIn) (*graphs.RunGraph, error) {
		return p.Graphs().RunGraph(ctx, i.ID)
	})
	get(r, "runs", path+"/compare", "Compare two runs, node by node", func(ctx context.Context, i *struct {
		A string `query:"a" required:"true" minLength:"1" maxLength:"100" doc:"Id of a run"`
		B string `query:"b" required:"true" minLength:"1" maxLength:"100" doc:"Id of another"`
	}) (*graphs.Compared, error) {
		return p.Graphs().Compare(ctx, i.A, i.B)
	})
	get(r, "runs", one+"/merge/queue", "Preview the merge of a run: its branches in order, and the conflicts", func(ctx context.Context, i *struct {
		RunIn
		Into string `query:"into" maxLength:"200" doc:"Branch to merge into; empty: the one that the run started from"`
	}) (*merging.MergeQueue, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return nil, err
		}
		return p.Merging().MergeQueue(ctx, i.Into)
	})
	get(r, "tasks", "/api/tasks/merge/queue", "Preview the merge of finished tasks: their branches in order, and the conflicts", func(ctx context.Context, _ *in) (*tasks.MergedTasks, error) {
		return p.Tasks().Merge(ctx, tasks.MergeTasks{DryRun: true})
	})
	post(r, "config", "/api/graph/unfold", "Preview when the nodes of a configuration would work if every one succeeded", func(ctx context.Context, i *struct {
		Body struct {
			Text     string `json:"text,omitempty" doc:"Empty: that of the file"`
			Parallel int    `json:"max_parallel,omitempty" minimum:"0" maximum:"1000" doc:"0: as the configuration says"`
		}
	}) (*graphs.Unfolded, error) {
		return p.Graphs().UnfoldGraph(ctx, i.Body.Text, i.Body.Parallel)
	})
	post(r, "config", "/api/graph/add", "Add a node to the text of a configuration; nothing is written", func(ctx context.Context, i *struct {
		Body struct {
			Text string     `json:"text"`
			Node dag.Sketch `json:"node"`
		}
	}) (edited, error) {
		text, check, err := p.Graphs().AddToGraph(ctx, i.Body.Text, i.Body.Node)
		if err != nil {
			return edited{}, err
		}
		return edited{text, *check}, nil
	})
	get(r, "config", "/api/graph/start", "Show what a first configuration of agents can be written with", func(ctx context.Context, _ *in) (*control.GraphStart, error) {
		return p.GraphStart(ctx)
	})
	post(r, "config", "/api/first-commit", "Make the first commit of a repository that has none, of all files that git does not ignore", func(ctx context.Context, _ *in) (*control.FirstCommit, error) {
		return p.FirstCommit(ctx)
	})
	get(r, "config", "/api/graph/issues", "List the open issues of the repository, each with the node for it", func(ctx context.Context, _ *in) (List[control.OpenIssue], error) {
		all, err := p.OpenIssues(ctx)
		return List[control.OpenIssue]{Items: all}, err
	})
	post(r, "config", "/api/graph/draft", "Write the text of a first configuration from answers; no file is written", func(ctx context.Context, i *struct {
		Body struct {
			Session string       `json:"session" minLength:"1" maxLength:"100"`
			Kind    string       `json:"kind,omitempty" maxLength:"40" doc:"Kind of agents that name none; empty: command"`
			Verify  string       `json:"verify,omitempty" maxLength:"1000" doc:"Command that every build must pass; empty: none"`
			Nodes   []draft.Node `json:"nodes" minItems:"1" maxItems:"200"`
		}
	}) (edited, error) {
		b := i.Body
		text, check, err := p.DraftGraph(ctx, draft.Draft{Session: b.Session, Kind: b.Kind, Verify: b.Verify, Agents: b.Nodes})
		if err != nil {
			return edited{}, err
		}
		return edited{text, *check}, nil
	})
}
