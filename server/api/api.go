package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/charmbracelet/log"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cmux/agents/control"
	"cmux/agents/platform/endpoint"
	"cmux/server/login"
	"cmux/server/store"
)

// Options is what the routes are made of.
type Options struct {
	Project *control.Project // as its person sees it
	Place   endpoint.Place
	Token   string
	Keys    *login.Keys
	Store   *store.Store
	Log     *log.Logger

	// Background runs something that takes longer than a request may, and ends its
	// context when the server ends, which it reports not to begin.
	Background func(func(context.Context)) bool

	// Changed is told the beginnings of routes that answer differently by now; nil:
	// nobody is.
	Changed func(routes ...string)

	// LogOut ends every login of a browser, and its connections but for the caller's.
	LogOut func(context.Context) error

	// Trusted is the origins of hosts that the person trusts beside the server's own;
	// nil: there are none.
	Trusted func() []string

	LAN LAN // nil: there is none
}

// routes are the handlers.
type routes struct {
	Options
	api huma.API

	needs         together[control.NeedList]
	organizations together[*control.OrgReport]

	kept       keptJobs
	taskMerge  work[control.MergedTasks]
	runMerges  works[control.Merged]    // by run
	checks     works[[]control.Checked] // by run and node
	recoveries works[control.Recovery]  // by order
}

// New adds the routes to mux and returns their document.
func New(mux humago.Mux, o Options) *huma.OpenAPI {
	c := huma.DefaultConfig("cmux", "1")
	c.Info.Description = "What cmux knows of a project and can do in it. Every request needs the project's token, as a bearer token or as the session that cmux open gives a browser, but the identity and the webhooks, which are signed."
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "/api/openapi", "", ""
	c.CreateHooks = nil // answers hold what they are, and no links to schemas
	c.RejectUnknownQueryParameters = true
	c.Components.Schemas = schemas()
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "The token in .cmux/token"},
		"session": {Type: "apiKey", In: "cookie", Name: "cmux_PROJECT", Description: "The session of a browser, which a one-time link is traded for"},
	}
	c.Security = []map[string][]string{{"token": {}}, {"session": {}}}
	r := &routes{Options: o, api: humago.New(mux, c)}
	r.api.UseMiddleware(timed)
	if o.Project != nil { // else only the document is wanted
		r.kept.root = o.Project.Root
	}
	for _, add := range []func(){r.login, r.webhooks, r.agents, r.heartbeat, r.tasks, r.messages, r.journal, r.files, r.prefs, r.runs, r.nodes, r.graphs, r.work, r.config, r.incidents, r.events, r.sessions, r.projects, r.clones, r.organization} {
		add()
	}
	exact(c.Components.Schemas)
	return r.api.OpenAPI()
}

// body is an answer with a JSON body.
type body[T any] struct{ Body T }

// in is a request without parameters.
type in struct{}

// get adds a route that shows something.
func get[I, O any](r *routes, group, path, summary string, f func(context.Context, *I) (O, error), more ...func(*huma.Operation)) {
	add(r, http.MethodGet, group, path, summary, f, more...)
}

// post adds a route that makes or does something.
func post[I, O any](r *routes, group, path, summary string, f func(context.Context, *I) (O, error), more ...func(*huma.Operation)) {
	add(r, http.MethodPost, group, path, summary, f, more...)
}

func add[I, O any](r *routes, method, group, path, summary string, f func(context.Context, *I) (O, error), more ...func(*huma.Operation)) {
	op := huma.Operation{
		OperationID: operationID(method, path), Method: method, Path: path, Summary: summary, Tags: []string{group},
		MaxBodyBytes: login.MaxBody, DefaultStatus: http.StatusOK,
	}
	for _, m := range more {
		m(&op)
	}
	huma.Register(r.api, op, func(ctx context.Context, i *I) (*body[O], error) {
		out, err := f(ctx, i)
		if err != nil {
			return nil, r.problem(ctx, &op, err)
		}
		return &body[O]{Full(out)}, nil
	})
}

// operationID names a route for who generates a client: postTasksIdAssign.
func operationID(method, path string) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(method))
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(path, "/api"), func(r rune) bool { return strings.ContainsRune("/{}-", r) }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// open says that a route needs no login.
func open(op *huma.Operation) { op.Security = []map[string][]string{} }
