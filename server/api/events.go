package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"cmux/agents/control/project"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/records/event"
	"cmux/server/store"
)

// eventQuery selects events. Without after the newest come first.
type eventQuery struct {
	Paging
	Source string `query:"source" maxLength:"300" doc:"Where it comes from: mailbox, tasks, journal, incidents, audit, agent:NAME, room:NAME or run:ID/NODE; one that ends in : or / is the beginning of all that are meant"`
	Kind   string `query:"kind" maxLength:"500" doc:"Kind of event, such as tool_use; several with commas"`
	After  int64  `query:"after" minimum:"0" doc:"Events after this seq, the oldest first"`
}

// eventList is a page of events with the end of the log.
type eventList struct {
	List[store.Event]
	Head store.Position `json:"head" doc:"The newest event; send this position to /api/ws to receive later ones"`
}

func (r *routes) events() {
	const path = "/api/agent-events"
	get(r, "agent-events", path, "List what happened, newest first", func(ctx context.Context, i *eventQuery) (eventList, error) {
		return r.eventList(ctx, i.Paging, store.Filter{Source: i.Source, Kind: i.Kind, After: i.After})
	})
	get(r, "agent-events", path+"/{seq}", "Show one event", func(ctx context.Context, i *struct {
		Seq int64 `path:"seq" minimum:"1"`
	}) (*store.Event, error) {
		e, err := r.Store.Find(ctx, i.Seq)
		if err == nil && e == nil {
			err = project.Tag(fmt.Errorf("there is no event %d", i.Seq), project.ErrMissing)
		}
		return e, busy(err)
	})
	get(r, "thoughts", "/api/thoughts", "List what the agents thought, newest first", func(ctx context.Context, i *struct {
		Paging
		Agent string `query:"agent" maxLength:"100" doc:"Only this standing agent; empty: all, and the nodes of runs"`
	}) (eventList, error) {
		f := store.Filter{Kind: string(event.Thought)}
		if i.Agent != "" {
			f.Source = "agent:" + i.Agent
		}
		return r.eventList(ctx, i.Paging, f)
	})
	get(r, "agent-events", "/api/search", "Search journal, messages, tasks and conversations", func(ctx context.Context, i *struct {
		Paging
		Words string `query:"q" required:"true" minLength:"1" maxLength:"500" doc:"All of these words; words in quotation marks must be adjacent"`
	}) (List[store.Hit], error) {
		found, err := r.Store.Search(ctx, i.Words, i.Limit, i.Cursor)
		if errors.Is(err, store.ErrQuery) || errors.Is(err, store.ErrCursor) {
			err = project.Usage("", "%w", err)
		}
		if err != nil {
			return List[store.Hit]{}, busy(err)
		}
		return List[store.Hit]{Items: found.Hits, Next: found.Cursor}, nil
	})
}

// eventList returns a page of the events that a filter selects.
func (r *routes) eventList(ctx context.Context, p Paging, f store.Filter) (eventList, error) {
	from, err := seqCursor(p.Cursor)
	if err != nil {
		return eventList{}, err
	}
	switch {
	case from > 0 && f.After > 0:
		f.After = from
	case from > 0:
		f.Before = from
	}
	f.Limit = p.Limit
	head := r.Store.Head()
	l, err := r.Store.List(ctx, f)
	if err != nil {
		return eventList{}, busy(err)
	}
	return eventList{List[store.Event]{Items: l.Events, Next: toSeq(l.Next)}, head}, nil
}

// busy converts the error of a store that is being rebuilt: the client must try again.
func busy(err error) error {
	if errors.Is(err, store.ErrRebuilt) {
		return huma.ErrorWithHeaders(huma.NewError(http.StatusServiceUnavailable, err.Error()), http.Header{"Retry-After": {"1"}})
	}
	return err
}
