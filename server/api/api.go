package api

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// New adds the routes to mux and returns their document.
func New(mux humago.Mux, o Options) *huma.OpenAPI {
	c := huma.DefaultConfig("cmux", "1")
	c.Info.Description = "The state of a project and the commands for it. Every request needs the project's token, as a bearer token or as the session of a browser from cmux open. Exceptions are the identity and the webhooks, which are signed."
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "/api/openapi", "", ""
	c.CreateHooks = nil // answers contain no links to schemas
	c.RejectUnknownQueryParameters = true
	c.Components.Schemas = schemas()
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "The token in .cmux/token"},
		"session": {Type: "apiKey", In: "cookie", Name: "cmux_PROJECT", Description: "The session of a browser, which a one-time link is traded for"},
	}
	c.Security = []map[string][]string{{"token": {}}, {"session": {}}}
	r := &routes{Options: o, api: humago.New(mux, c)}
	r.api.UseMiddleware(timed)
	if o.Project != nil { // otherwise only the document is needed
		r.kept.root = o.Project.Root
	}
	for _, add := range []func(){r.login, r.webhooks, r.agents, r.heartbeat, r.tasks, r.messages, r.rooms, r.cards, r.memory, r.journal, r.files, r.prefs, r.runs, r.nodes, r.graphs, r.work, r.config, r.incidents, r.events, r.sessions, r.projects, r.clones, r.organization} {
		add()
	}
	exact(c.Components.Schemas)
	return r.api.OpenAPI()
}
