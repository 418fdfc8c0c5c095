package api

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/crew"
	"cmux/agents/control/letters"
	"cmux/agents/control/logs"
	"cmux/agents/control/overview"
	"cmux/agents/control/records"
	"cmux/agents/control/tasks"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/server/store"
)

type AgentIn struct {
	Name string `path:"name" maxLength:"100" doc:"Name, display name or id of an agent"`
}

// done is the empty answer to a command without a result.
type done struct {
	Done bool `json:"done"`
}

// named holds the names of agents.
type named struct {
	Agents []string `json:"agents"`
}

// text is something that was written.
type text struct {
	Text string `json:"text"`
}

// archived is an agent that was removed.
type archived struct {
	ID string `json:"id" doc:"Id of its archive"`
	standing.Removal
}

// LogIn selects a part of a log.
type LogIn struct {
	Tail   int  `query:"tail" minimum:"1" maximum:"5000" default:"200" doc:"Number of lines from its end"`
	Prompt bool `query:"prompt" doc:"With the prompts"`
}

// agents adds the routes of standing agents.
func (r *routes) agents() {
	const group, path, one = "agents", "/api/agents", "/api/agents/{name}"
	p := r.Project
	get(r, group, path, "List the standing agents", func(ctx context.Context, i *struct{ Paging }) (List[overview.AgentReport], error) {
		org, err := r.organizations.ask(ctx, p.Overview().Organization)
		if err != nil {
			return List[overview.AgentReport]{}, err
		}
		return page(org.Agents, i.Paging, func(a *overview.AgentReport) string { return a.ID })
	})
	post(r, group, path, "Spawn a worker", func(ctx context.Context, i *struct{ Body crew.Spawn }) (*crew.Spawned, error) {
		return p.Crew().Spawn(ctx, i.Body)
	})
	get(r, group, one, "Show an agent", func(ctx context.Context, i *AgentIn) (*overview.AgentReport, error) {
		return p.Overview().Agent(ctx, i.Name)
	})
	add(r, http.MethodDelete, group, one, "Remove a worker; what it leaves is kept", func(ctx context.Context, i *struct {
		AgentIn
		Force bool `query:"force" doc:"Also one that stays after its work"`
	}) (*standing.Gone, error) {
		return p.Crew().Kill(ctx, i.Name, i.Force)
	})
	get(r, group, one+"/log", "Show what an agent did, as text", func(ctx context.Context, i *struct {
		AgentIn
		LogIn
	}) (text, error) {
		var b bytes.Buffer
		err := p.Logs().Agent(ctx, logs.Log{Node: i.Name, Tail: i.Tail, Prompt: i.Prompt}, func(bool) io.Writer { return &b })
		return text{b.String()}, err
	})
	for _, o := range []struct {
		name, summary string
		do            func(*crew.Crew, context.Context, string) error
	}{
		{"reset", "Restart an agent with a new conversation and its unfinished task", (*crew.Crew).Reset},
		{"wake", "Start an agent that was given up after too many crashes", (*crew.Crew).Wake},
		{"take", "Take an agent over: cmux types nothing to it", (*crew.Crew).Take},
		{"release", "Release an agent from a takeover", (*crew.Crew).Release},
	} {
		post(r, group, one+"/"+o.name, o.summary, func(ctx context.Context, i *AgentIn) (done, error) {
			err := o.do(p.Crew(), ctx, i.Name)
			return done{err == nil}, err
		})
	}
	post(r, group, one+"/demote", "Make a permanent worker an ordinary one", func(ctx context.Context, i *AgentIn) (named, error) {
		names, err := p.Crew().Demote(ctx, i.Name)
		return named{names}, err
	})
	post(r, group, path+"/demote", "Make all permanent workers ordinary ones", func(ctx context.Context, _ *in) (named, error) {
		names, err := p.Crew().Demote(ctx, "")
		return named{names}, err
	})
	post(r, group, one+"/send", "Write a message to an agent", func(ctx context.Context, i *struct {
		AgentIn
		Body struct {
			Text string `json:"text" minLength:"1" doc:"Its first line is the subject"`
		}
	}) (letters.Sent, error) {
		return p.Letters().SendTo(ctx, i.Name, i.Body.Text)
	})
	post(r, group, one+"/assign", "Assign an existing or a new task to an agent", func(ctx context.Context, i *struct {
		AgentIn
		Body struct {
			What     string    `json:"what" minLength:"1" doc:"The id of a task, or the text of a new one, whose first line is the title"`
			Priority *string   `json:"priority,omitempty" enum:"critical,high,normal,low"`
			Kind     *string   `json:"kind,omitempty" enum:"change,answer" doc:"Result of a new task: commits, or only a report"`
			Scope    *[]string `json:"scope,omitempty"`
			Verify   *[]string `json:"verify,omitempty"`
		}
	}) (tasks.TaskView, error) {
		b := &i.Body
		return p.Tasks().Give(ctx, i.Name, b.What, task.Fields{Priority: (*task.Priority)(b.Priority), Kind: (*task.Kind)(b.Kind), Scope: b.Scope, Verify: b.Verify})
	})
	get(r, group, one+"/events", "List what an agent did, thought and said, newest first", func(ctx context.Context, i *struct {
		AgentIn
		Paging
		Kind  string `query:"kind" maxLength:"100" doc:"Kind of event, such as tool_use"`
		After int64  `query:"after" minimum:"0" doc:"Events after this seq, the oldest first"`
	}) (eventList, error) {
		a, err := p.Overview().Agent(ctx, i.Name)
		if err != nil {
			return eventList{}, err
		}
		return r.eventList(ctx, i.Paging, store.Filter{Source: "agent:" + a.Name, Kind: i.Kind, After: i.After})
	})
	get(r, group, "/api/archives", "List removed agents with their archives, newest first", func(_ context.Context, i *struct{ Paging }) (List[archived], error) {
		removals, err := p.Crew().Removals()
		if err != nil {
			return List[archived]{}, err
		}
		all := make([]archived, len(removals))
		for k, g := range removals {
			all[k] = archived{control.ArchiveID(p.Root, g.Archive), g}
		}
		return page(all, i.Paging, func(g *archived) string { return g.Archive })
	})
	post(r, group, one+"/answer", "Answer the question of an agent", func(ctx context.Context, i *struct {
		AgentIn
		Body answer
	}) (commands.Answered, error) {
		return p.Crew().Answer(ctx, commands.Answer{Node: i.Name, Text: i.Body.Text, Question: i.Body.Question})
	})
}

// heartbeat adds the routes for the status of the organization and for the tokens that
// its agents used.
func (r *routes) heartbeat() {
	get(r, "heartbeat", "/api/heartbeat", "Show the status of the organization", func(ctx context.Context, _ *in) (*overview.OrgReport, error) {
		return r.organizations.ask(ctx, r.Project.Overview().Organization)
	})
	get(r, "budget", "/api/budget/summary", "Sum up the tokens that the standing agents used", func(ctx context.Context, _ *in) (*records.Spending, error) {
		return r.Project.Records().Spending()
	})
	get(r, "budget", "/api/budget/{name}", "Show the tokens that an agent used", func(ctx context.Context, i *AgentIn) (*records.AgentSpending, error) {
		return r.Project.Records().AgentSpending(i.Name)
	})
}
