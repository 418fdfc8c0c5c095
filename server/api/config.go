package api

import (
	"context"
	"encoding/json"
	"net/http"

	"cmux/agents/control"
)

// findings are what a look for problems came to.
type findings struct {
	OK       bool              `json:"ok" doc:"Nothing is wrong"`
	Findings []control.Finding `json:"findings"`
}

// config is the configuration of the organization and of its agents' graph, which
// a person writes and takes into use.
func (r *routes) config() {
	const group, path = "config", "/api/config"
	p := r.Project
	get(r, group, path, "Show the organization's configuration that is in force, and what its file says instead", func(context.Context, *in) (*control.OrgConfig, error) {
		return p.OrgConfig()
	})
	get(r, group, path+"/schema", "Show the JSON Schema of the organization's configuration", func(context.Context, *in) (map[string]any, error) {
		return object(control.ConfigSchema())
	})
	post(r, group, path+"/apply", "Take the file into use", func(ctx context.Context, i *struct {
		Body struct {
			Changes []control.ConfigChange `json:"changes" doc:"As they were shown: nothing is applied when the file says something else by now"`
		}
	}) (*control.OrgConfig, error) {
		return p.ApplyConfig(ctx, i.Body.Changes)
	})
	get(r, group, "/api/graph", "Show the configuration of agents as its file has it", func(context.Context, *in) (*control.GraphText, error) {
		return p.GraphText()
	})
	add(r, http.MethodPut, group, "/api/graph", "Write the configuration of agents", func(ctx context.Context, i *struct {
		Body struct {
			Text string `json:"text"`
			Sum  string `json:"sum" doc:"Of the text that was edited: nothing is written when the file has another one by now"`
		}
	}) (*control.GraphText, error) {
		return p.WriteGraph(ctx, i.Body.Text, i.Body.Sum)
	})
	post(r, group, "/api/graph/check", "Say which graph a configuration makes, or what is wrong with it; nothing is written", func(_ context.Context, i *struct {
		Body struct {
			Text string `json:"text"`
		}
	}) (*control.GraphCheck, error) {
		return p.CheckGraph(i.Body.Text)
	})
	get(r, group, "/api/graph/schema", "Show the JSON Schema of the configuration of agents", func(context.Context, *in) (map[string]any, error) {
		return object(control.GraphSchema())
	})
	get(r, "health", "/api/doctor", "Look for problems that keep cmux from working", func(ctx context.Context, _ *in) (findings, error) {
		f := findings{OK: true, Findings: control.Examine(ctx, p.Caller)}
		for i := range f.Findings {
			f.OK = f.OK && f.Findings[i].OK
		}
		return f, ctx.Err()
	})
	get(r, "health", "/api/needs", "List what waits for you, the longest first", func(ctx context.Context, i *struct{ Paging }) (needs, error) {
		all, err := r.needs.ask(ctx, p.Needs)
		if err != nil {
			return needs{}, err
		}
		l, err := page(all.Items, i.Paging, func(n *control.Need) string { return n.ID })
		return needs{l, all.Total}, err
	})
}

// needs is a page of what waits for a person.
type needs struct {
	List[control.Need]
	Total int `json:"total" doc:"How many wait in all; of many unread messages only the newest are items"`
}

// object is a JSON object as a value.
func object(text []byte) (m map[string]any, err error) {
	return m, json.Unmarshal(text, &m)
}
