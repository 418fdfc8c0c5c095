package api

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/charmbracelet/log"
	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control"
	"cmux/agents/control/health"
	"cmux/agents/control/merging"
	"cmux/agents/control/overview"
	"cmux/agents/control/tasks"
	"cmux/agents/platform/endpoint"
	"cmux/server/login"
	"cmux/server/store"
)

// Options is the configuration of the routes.
type Options struct {
	Project *control.Project // with the rights of its person
	Place   endpoint.Place
	Token   string
	Keys    *login.Keys
	Store   *store.Store
	Log     *log.Logger

	// Background runs work that may take longer than a request. Its context ends with the
	// server. It reports false if the server is ending.
	Background func(func(context.Context)) bool

	// Changed gets the path prefixes of routes whose answers have changed; nil: no one is
	// informed.
	Changed func(routes ...string)

	// LogOut ends every login of a browser and its connections, except the caller's
	// connection.
	LogOut func(context.Context) error

	// Trusted returns the origins of additional hosts that the person trusts; nil: none.
	Trusted func() []string

	LAN LAN // nil: not available
}

// routes are the handlers.
type routes struct {
	Options
	api huma.API

	needs         together[overview.NeedList]
	organizations together[*overview.OrgReport]

	start sync.Mutex // held while the organization is started or stopped

	kept       keptJobs
	taskMerge  work[tasks.MergedTasks]
	runMerges  works[merging.Merged]    // by run
	checks     works[[]merging.Checked] // by run and node
	recoveries works[health.Recovery]   // by order
}

// body is an answer with a JSON body.
type body[T any] struct{ Body T }

// in is a request without parameters.
type in struct{}

// get adds a route that reads something.
func get[I, O any](r *routes, group, path, summary string, f func(context.Context, *I) (O, error), more ...func(*huma.Operation)) {
	add(r, http.MethodGet, group, path, summary, f, more...)
}

// post adds a route that creates or does something.
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

// operationID returns a route's name for client generators: postTasksIdAssign.
func operationID(method, path string) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(method))
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(path, "/api"), func(r rune) bool { return strings.ContainsRune("/{}-", r) }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// open marks a route that needs no login.
func open(op *huma.Operation) { op.Security = []map[string][]string{} }
