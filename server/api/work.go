package api

import (
	"context"
	"encoding/json"

	"cmux/agents/control"
	"cmux/agents/records/event"
	"cmux/server/store"
)

// Said is one thing of a conversation: what was told, thought, said or done.
type Said struct {
	Seq int64 `json:"seq" doc:"Its number in the log of events, as frames of the websocket have it"`
	event.Event
}

// conversation is a page of a conversation.
type conversation struct {
	List[Said]
	Head store.Position `json:"head" doc:"The newest event; to hear of those behind it, say so to /api/ws"`
}

// SaidIn says which part of a conversation is asked for.
type SaidIn struct {
	Paging
	Attempt int   `query:"attempt" minimum:"0" doc:"Of this attempt alone (of a standing agent: of its life with this number); 0: of all"`
	After   int64 `query:"after" minimum:"0" doc:"What is behind this seq, the oldest first"`
}

// WorkIn says which state of a work is asked for.
type WorkIn struct {
	Committed bool `query:"committed" doc:"Only what is committed, though a worktree is there with more"`
}

// FileIn names a file of a work.
type FileIn struct {
	WorkIn
	Path string `query:"path" required:"true" minLength:"1" maxLength:"4096" doc:"As the list of changes has it"`
	Was  string `query:"was" maxLength:"4096" doc:"Its path before, where it was renamed"`
}

// PartIn says where a part of a log begins.
type PartIn struct {
	From   int64 `query:"from" minimum:"-1" default:"-1" doc:"Where it begins, in bytes: next of the part before; -1: the end of the log"`
	Before int64 `query:"before" minimum:"0" doc:"Where it ends at the latest: from of the part behind; 0: the end of the log"`
}

// work is what nodes, tasks and standing agents did, as it is looked at closely.
func (r *routes) work() {
	const node, one, agent = "/api/runs/{id}/nodes/{node}", "/api/tasks/{id}", "/api/agents/{name}"
	p := r.Project
	get(r, "runs", node+"/files", "List the files that a node has changed since it started", func(ctx context.Context, i *struct {
		NodeIn
		WorkIn
	}) (*control.Changes, error) {
		return p.NodeChanges(ctx, i.ID, i.Node, i.Committed)
	})
	get(r, "runs", node+"/files/content", "Show a changed file before and after, its first MB", func(ctx context.Context, i *struct {
		NodeIn
		FileIn
	}) (*control.FilePair, error) {
		return p.NodeFile(ctx, i.ID, i.Node, i.Path, i.Was, i.Committed)
	})
	post(r, "runs", node+"/comments", "Give comments on a node's changes back to its agent, as one message", func(ctx context.Context, i *struct {
		NodeIn
		Body control.Comments
	}) (*control.Commented, error) {
		p, err := p.OfRun(ctx, i.ID)
		if err != nil {
			return nil, err
		}
		return p.CommentNode(ctx, i.Node, i.Body)
	})
	get(r, "runs", node+"/conversation", "Show the conversation of a node's agent, newest first", func(ctx context.Context, i *struct {
		NodeIn
		SaidIn
	}) (conversation, error) {
		found, err := p.Named(ctx, i.ID)
		if err != nil {
			return conversation{}, err
		}
		return r.said(ctx, "run:"+found.Plan.ID+"/"+i.Node, i.SaidIn)
	})
	get(r, "runs", node+"/prompt", "Show what an attempt of a node was told first", func(ctx context.Context, i *struct {
		NodeIn
		Attempt int `query:"attempt" minimum:"0" doc:"0: the newest"`
	}) (*control.Prompt, error) {
		return p.NodePrompt(ctx, i.ID, i.Node, i.Attempt)
	})
	get(r, "runs", node+"/log/part", "Show a part of a node's log, as text", func(ctx context.Context, i *struct {
		NodeIn
		PartIn
	}) (*control.LogPart, error) {
		return p.NodeLogPart(ctx, i.ID, i.Node, i.From, i.Before)
	})
	get(r, "tasks", one+"/files", "List the files that a task's worker has changed for it", func(ctx context.Context, i *struct {
		TaskIn
		WorkIn
	}) (*control.Changes, error) {
		return p.TaskChanges(ctx, i.ID, i.Committed)
	})
	get(r, "tasks", one+"/files/content", "Show a changed file before and after, its first MB", func(ctx context.Context, i *struct {
		TaskIn
		FileIn
	}) (*control.FilePair, error) {
		return p.TaskFile(ctx, i.ID, i.Path, i.Was, i.Committed)
	})
	post(r, "tasks", one+"/comments", "Give comments on a task's changes back to its agent, as one message or, when it is over, as another task", func(ctx context.Context, i *struct {
		TaskIn
		Body control.Comments
	}) (*control.Commented, error) {
		return p.CommentTask(ctx, i.ID, i.Body)
	})
	get(r, "agents", agent+"/conversation", "Show the conversation of a standing agent, newest first", func(ctx context.Context, i *struct {
		AgentIn
		SaidIn
	}) (conversation, error) {
		a, err := p.Agent(ctx, i.Name)
		if err != nil {
			return conversation{}, err
		}
		return r.said(ctx, "agent:"+a.Name, i.SaidIn)
	})
	get(r, "agents", agent+"/log/part", "Show a part of an agent's log, as text", func(_ context.Context, i *struct {
		AgentIn
		PartIn
	}) (*control.LogPart, error) {
		return p.AgentLogPart(i.Name, i.From, i.Before)
	})
}

// said is a page of the conversation that a source of events is.
func (r *routes) said(ctx context.Context, source string, i SaidIn) (conversation, error) {
	l, err := r.eventList(ctx, i.Paging, store.Filter{Source: source, Attempt: i.Attempt, After: i.After})
	c := conversation{List[Said]{Items: []Said{}, Next: l.Next}, l.Head}
	for _, e := range l.Items {
		s := Said{Seq: e.Seq}
		if json.Unmarshal(e.Body, &s.Event) != nil || s.Kind != event.Kind(e.Kind) { // what is left of its window, and how it was removed
			s.Event = event.Event{Kind: event.Note, Text: e.Kind}
		}
		s.At = e.At
		c.Items = append(c.Items, s)
	}
	return c, err
}
