package api

import (
	"context"
	"encoding/json"

	"cmux/agents/control"
	"cmux/agents/control/files"
	"cmux/agents/control/logs"
	"cmux/agents/control/runs"
	"cmux/agents/records/event"
	"cmux/server/store"
)

// Said is one entry of a conversation: a prompt, a thought, a text or an action.
type Said struct {
	Seq int64 `json:"seq" doc:"Its number in the log of events, as frames of the websocket have it"`
	event.Event
}

// conversation is a page of a conversation.
type conversation struct {
	List[Said]
	Head store.Position `json:"head" doc:"The newest event; send this position to /api/ws to receive later ones"`
}

// SaidIn selects a part of a conversation.
type SaidIn struct {
	Paging
	Attempt int   `query:"attempt" minimum:"0" doc:"Only this attempt (of a standing agent: this life); 0: all"`
	After   int64 `query:"after" minimum:"0" doc:"Entries after this seq, the oldest first"`
}

// WorkIn selects a state of the work.
type WorkIn struct {
	Committed bool `query:"committed" doc:"Only committed changes, even if the worktree has more"`
}

// DecidedIn selects what changed since a decision.
type DecidedIn struct {
	Decided bool `query:"since_decision" doc:"Only what changed since your last decision about the work"`
}

// FileIn names a file of a work.
type FileIn struct {
	WorkIn
	Path string `query:"path" required:"true" minLength:"1" maxLength:"4096" doc:"As in the list of changes"`
	Was  string `query:"was" maxLength:"4096" doc:"Its path before, where it was renamed"`
}

// PartIn selects a part of a log.
type PartIn struct {
	From   int64 `query:"from" minimum:"-1" default:"-1" doc:"Offset in bytes: next of the previous part; -1: the end of the log"`
	Before int64 `query:"before" minimum:"0" doc:"Latest end in bytes: from of the following part; 0: the end of the log"`
}

// work adds the routes of the work of nodes, tasks and standing agents.
func (r *routes) work() {
	const node, one, agent = "/api/runs/{id}/nodes/{node}", "/api/tasks/{id}", "/api/agents/{name}"
	p := r.Project
	get(r, "runs", node+"/files", "List the files that a node has changed since it started", func(ctx context.Context, i *struct {
		NodeIn
		WorkIn
		DecidedIn
	}) (*files.Changes, error) {
		return p.Runs().NodeChanges(ctx, i.ID, i.Node, runs.Part{Committed: i.Committed, Decided: i.Decided})
	})
	get(r, "runs", node+"/files/content", "Show a changed file before and after, its first MB", func(ctx context.Context, i *struct {
		NodeIn
		FileIn
		DecidedIn
	}) (*files.FilePair, error) {
		return p.Runs().NodeFile(ctx, i.ID, i.Node, i.Path, i.Was, runs.Part{Committed: i.Committed, Decided: i.Decided})
	})
	post(r, "runs", node+"/comments", "Send comments on a node's changes to its agent, as one message", func(ctx context.Context, i *struct {
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
		found, err := p.Runs().Named(ctx, i.ID)
		if err != nil {
			return conversation{}, err
		}
		return r.said(ctx, "run:"+found.Plan.ID+"/"+i.Node, i.SaidIn)
	})
	get(r, "runs", node+"/prompt", "Show the prompt of an attempt", func(ctx context.Context, i *struct {
		NodeIn
		Attempt int `query:"attempt" minimum:"0" doc:"0: the newest"`
	}) (*logs.Prompt, error) {
		return p.Logs().Prompt(ctx, i.ID, i.Node, i.Attempt)
	})
	get(r, "runs", node+"/log/part", "Show a part of a node's log, as text", func(ctx context.Context, i *struct {
		NodeIn
		PartIn
	}) (*logs.LogPart, error) {
		return p.Logs().NodePart(ctx, i.ID, i.Node, i.From, i.Before)
	})
	get(r, "tasks", one+"/files", "List the files changed for a task", func(ctx context.Context, i *struct {
		TaskIn
		WorkIn
	}) (*files.Changes, error) {
		return p.Tasks().Changes(ctx, i.ID, i.Committed)
	})
	get(r, "tasks", one+"/files/content", "Show a changed file before and after, its first MB", func(ctx context.Context, i *struct {
		TaskIn
		FileIn
	}) (*files.FilePair, error) {
		return p.Tasks().File(ctx, i.ID, i.Path, i.Was, i.Committed)
	})
	post(r, "tasks", one+"/comments", "Send comments on a task's changes to its agent, as one message or, if the task is over, as a new task", func(ctx context.Context, i *struct {
		TaskIn
		Body control.Comments
	}) (*control.Commented, error) {
		return p.CommentTask(ctx, i.ID, i.Body)
	})
	get(r, "agents", agent+"/conversation", "Show the conversation of a standing agent, newest first", func(ctx context.Context, i *struct {
		AgentIn
		SaidIn
	}) (conversation, error) {
		a, err := p.Overview().Agent(ctx, i.Name)
		if err != nil {
			return conversation{}, err
		}
		return r.said(ctx, "agent:"+a.Name, i.SaidIn)
	})
	get(r, "agents", agent+"/log/part", "Show a part of an agent's log, as text", func(_ context.Context, i *struct {
		AgentIn
		PartIn
	}) (*logs.LogPart, error) {
		return p.Logs().AgentPart(i.Name, i.From, i.Before)
	})
}

// said returns a page of the conversation of a source of events.
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
