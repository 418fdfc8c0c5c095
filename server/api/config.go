package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"cmux/agents/control"
	"cmux/agents/control/configfile"
	"cmux/agents/control/finding"
	"cmux/agents/control/graphs"
	"cmux/agents/control/overview"
	"cmux/agents/control/project"
)

// findings is the result of a search for problems.
type findings struct {
	OK       bool              `json:"ok" doc:"No problem was found"`
	Findings []finding.Finding `json:"findings"`
}

// checkIn is a text to check as a configuration.
type checkIn struct {
	Body struct {
		Text string `json:"text"`
	}
}

// writeIn is a text to write as a configuration.
type writeIn struct {
	Body struct {
		Text string `json:"text"`
		Sum  string `json:"sum" doc:"Checksum of the edited text: nothing is written if the file has changed since"`
	}
}

// config adds the routes of the organization's configuration and of its agents' graph.
func (r *routes) config() {
	const group, path = "config", "/api/config"
	p := r.Project
	get(r, group, path, "Show the organization's active configuration and the changes in its file", func(context.Context, *in) (*control.OrgConfig, error) {
		return p.OrgConfig()
	})
	get(r, group, path+"/schema", "Show the JSON Schema of the organization's configuration", func(context.Context, *in) (map[string]any, error) {
		return object(control.ConfigSchema())
	})
	post(r, group, path+"/apply", "Apply the file", func(ctx context.Context, i *struct {
		Body struct {
			Changes []control.ConfigChange `json:"changes" doc:"The changes as shown: nothing is applied if the file has changed since"`
		}
	}) (*control.OrgConfig, error) {
		return p.ApplyConfig(ctx, i.Body.Changes)
	})
	get(r, group, path+"/file", "Show the file of the organization's configuration", func(context.Context, *in) (*configfile.ConfigText, error) {
		return p.ConfigText()
	})
	add(r, http.MethodPut, group, path+"/file", "Write the file of the organization's configuration; nothing is applied", func(ctx context.Context, i *writeIn) (*configfile.ConfigText, error) {
		return p.WriteConfig(ctx, i.Body.Text, i.Body.Sum)
	})
	post(r, group, path+"/check", "Check a text as the organization's configuration; nothing is written", func(_ context.Context, i *checkIn) (control.ConfigCheck, error) {
		return p.CheckConfig(i.Body.Text)
	})
	get(r, group, "/api/graph", "Show the configuration of agents as its file has it", func(context.Context, *in) (*configfile.ConfigText, error) {
		return p.Graphs().GraphText()
	})
	add(r, http.MethodPut, group, "/api/graph", "Write the configuration of agents", func(ctx context.Context, i *writeIn) (*configfile.ConfigText, error) {
		return p.Graphs().WriteGraph(ctx, i.Body.Text, i.Body.Sum)
	})
	post(r, group, "/api/graph/check", "Check a configuration: show its graph or its faults; nothing is written", func(ctx context.Context, i *checkIn) (*graphs.GraphCheck, error) {
		return p.Graphs().CheckGraph(ctx, i.Body.Text)
	})
	get(r, group, "/api/graph/schema", "Show the JSON Schema of the configuration of agents", func(context.Context, *in) (map[string]any, error) {
		return object(graphs.GraphSchema())
	})
	get(r, "health", "/api/doctor", "Look for problems that keep cmux from working", func(ctx context.Context, _ *in) (findings, error) {
		f := findings{OK: true, Findings: control.Examine(ctx, p.Caller)}
		for i := range f.Findings {
			f.OK = f.OK && f.Findings[i].OK
		}
		return f, ctx.Err()
	})
	get(r, "health", "/api/needs", "List what waits for you, the longest first", func(ctx context.Context, i *struct{ Paging }) (needs, error) {
		all, err := r.needs.ask(ctx, p.Overview().Needs)
		if err != nil {
			return needs{}, err
		}
		l, err := page(all.Items, i.Paging, func(n *overview.Need) string { return n.ID })
		return needs{l, all.Total}, err
	})
	get(r, "health", "/api/needs/case", "Show what waits for you under an id, with all that helps to decide", func(ctx context.Context, i *struct {
		ID string `query:"id" required:"true" minLength:"1" maxLength:"1000" doc:"As in the list of what waits"`
	}) (*overview.Case, error) {
		all, err := r.needs.ask(ctx, p.Overview().Needs)
		if err != nil {
			return nil, err
		}
		for _, n := range all.Items {
			if n.ID == i.ID {
				return p.Overview().Case(ctx, n)
			}
		}
		return nil, project.Tag(errors.New("it does not wait for you anymore"), project.ErrMissing)
	})
}

// needs is a page of items that wait for a person.
type needs struct {
	List[overview.Need]
	Total int `json:"total" doc:"Number of all items; of many unread messages only the newest are listed"`
}

// object is a JSON object as a value.
func object(text []byte) (m map[string]any, err error) {
	return m, json.Unmarshal(text, &m)
}
