package api

import (
	"context"

	"cmux/agents/control"
	"cmux/dag"
)

// edited is a configuration of agents that was edited, and what it makes; nothing is
// written.
type edited struct {
	Text  string             `json:"text"`
	Check control.GraphCheck `json:"check"`
}

// graphs are runs as they are drawn, and as they would be.
func (r *routes) graphs() {
	const path, one = "/api/runs", "/api/runs/{id}"
	p := r.Project
	get(r, "runs", one+"/graph", "Show a run as it is drawn: its nodes, when each was at work, and the chain that takes longest", func(ctx context.Context, i *RunIn) (*control.RunGraph, error) {
		return p.RunGraph(ctx, i.ID)
	})
	get(r, "runs", path+"/compare", "Compare two runs, node by node", func(ctx context.Context, i *struct {
		A string `query:"a" required:"true" minLength:"1" maxLength:"100" doc:"Id of a run"`
		B string `query:"b" required:"true" minLength:"1" maxLength:"100" doc:"Id of another"`
	}) (*control.Compared, error) {
		return p.Compare(ctx, i.A, i.B)
	})
	get(r, "runs", one+"/merge/queue", "Say what a merge of a run would take, in order, and what would conflict", func(ctx context.Context, i *struct {
		RunIn
		Into string `query:"into" maxLength:"200" doc:"Branch to merge into; empty: the one that the run started from"`
	}) (*control.MergeQueue, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return nil, err
		}
		return p.MergeQueue(ctx, i.Into)
	})
	get(r, "tasks", "/api/tasks/merge/queue", "Say what a merge of finished tasks would take, in order, and what would conflict", func(ctx context.Context, _ *in) (*control.MergedTasks, error) {
		return p.MergeTasks(ctx, control.MergeTasks{DryRun: true})
	})
	post(r, "config", "/api/graph/unfold", "Say when the nodes of a configuration would be at work if every one succeeded", func(ctx context.Context, i *struct {
		Body struct {
			Text     string `json:"text,omitempty" doc:"Empty: that of the file"`
			Parallel int    `json:"max_parallel,omitempty" minimum:"0" maximum:"1000" doc:"0: as the configuration says"`
		}
	}) (*control.Unfolded, error) {
		return p.UnfoldGraph(ctx, i.Body.Text, i.Body.Parallel)
	})
	post(r, "config", "/api/graph/add", "Add a node to a configuration and leave all else in it as it is; nothing is written", func(_ context.Context, i *struct {
		Body struct {
			Text string     `json:"text"`
			Node dag.Sketch `json:"node"`
		}
	}) (edited, error) {
		text, check, err := p.AddToGraph(i.Body.Text, i.Body.Node)
		if err != nil {
			return edited{}, err
		}
		return edited{text, *check}, nil
	})
}
