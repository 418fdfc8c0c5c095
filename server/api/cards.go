package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control"
	"cmux/agents/control/cards"
	"cmux/agents/org/task"
)

type CardIn struct {
	ID string `path:"id" maxLength:"100" doc:"Id of a card: that of its task"`
}

// InRoom is the room that is asked about.
type InRoom struct {
	Room string `query:"room" maxLength:"100" doc:"Only those of this room"`
}

// CardText is what a card says.
type CardText struct {
	Title  *string        `json:"title,omitempty"`
	Body   *string        `json:"body,omitempty"`
	Verify *[]string      `json:"verify,omitempty" doc:"Commands that must pass before the work is done"`
	Scope  *[]string      `json:"scope,omitempty" doc:"Patterns of the files that the work may change"`
	Before *[]string      `json:"after,omitempty" doc:"Ids of tasks that must be done first"`
	Urgent *task.Priority `json:"priority,omitempty"`
}

func (c CardText) fields() task.Fields {
	return task.Fields{Title: c.Title, Body: c.Body, Verify: c.Verify, Scope: c.Scope, After: c.Before, Priority: c.Urgent}
}

// newCard is a card to be added.
type newCard struct {
	Room string `json:"room" maxLength:"100" doc:"Name of a room"`
	Todo string `json:"todo,omitempty" maxLength:"100" doc:"Id of the proposal that it takes up"`
	CardText
	cards.Roles
}

// SeenCard is the card as whoever gives an order has seen it.
type SeenCard struct {
	Version int `json:"version,omitempty" doc:"Version of the card that you have seen: nothing is done if it has changed since. Absent: whichever there is"`
}

// errNotSure says that a card is called done only by somebody who is sure.
var errNotSure = errors.New("the work of this card is not approved: with sure it is called done all the same")

type cardOrder struct {
	CardIn
	Body SeenCard
}

// cards adds the routes of cards.
func (r *routes) cards() {
	const group, path, one = "cards", "/api/cards", "/api/cards/{id}"
	all := func() *cards.Cards { return control.Cards(r.Project) }
	get(r, group, path, "List cards in the order in which they came to be", func(_ context.Context, i *struct {
		Paging
		InRoom
	}) (List[cards.CardView], error) {
		l, err := all().List(i.Room)
		if err != nil {
			return List[cards.CardView]{}, err
		}
		return page(l, i.Paging, func(v *cards.CardView) string { return v.ID })
	})
	get(r, group, path+"/proposals", "List the cards that members propose and nobody has added yet", func(_ context.Context, i *struct {
		Paging
		InRoom
	}) (List[cards.Proposal], error) {
		l, err := all().Proposals(i.Room)
		if err != nil {
			return List[cards.Proposal]{}, err
		}
		return page(l, i.Paging, func(o *cards.Proposal) string { return o.Room + "/" + o.ID })
	})
	post(r, group, path, "Add a card to the backlog of a room", func(ctx context.Context, i *struct{ Body newCard }) (*cards.CardView, error) {
		return all().Add(ctx, i.Body.Room, i.Body.Todo, i.Body.fields(), i.Body.Roles)
	}, func(op *huma.Operation) { op.DefaultStatus = http.StatusCreated })
	get(r, group, one, "Show a card, with what was said about it", func(_ context.Context, i *CardIn) (*cards.CardView, error) { return all().Card(i.ID) })
	add(r, http.MethodPatch, group, one, "Change a card: its text, or who does what", func(ctx context.Context, i *struct {
		CardIn
		Body struct {
			SeenCard
			CardText
			cards.Roles
		}
	}) (*cards.CardView, error) {
		return all().Edit(ctx, i.ID, i.Body.Version, i.Body.fields(), i.Body.Roles)
	})
	post(r, group, one+"/start", "Begin a card, or let one go on that waits for you", func(ctx context.Context, i *struct {
		CardIn
		Body struct {
			SeenCard
			Hold bool `json:"hold,omitempty" doc:"Nobody begins with the work when its plan is made"`
		}
	}) (*cards.CardView, error) {
		return all().Start(ctx, i.ID, i.Body.Version, i.Body.Hold)
	})
	post(r, group, one+"/delegate", "Ask the room who does what about a card, or take what one member has answered", func(ctx context.Context, i *struct {
		CardIn
		Body struct {
			SeenCard
			Pick string `json:"pick,omitempty" maxLength:"100" doc:"Member whose answer is taken; empty: they are asked"`
		}
	}) (*cards.CardView, error) {
		if i.Body.Pick != "" {
			return all().Pick(ctx, i.ID, i.Body.Version, i.Body.Pick)
		}
		return all().Delegate(ctx, i.ID, i.Body.Version)
	})
	post(r, group, one+"/approve", "Approve the plan of a card, or its work", func(ctx context.Context, i *cardOrder) (*cards.CardView, error) {
		return all().Approve(ctx, i.ID, i.Body.Version)
	})
	type withReason struct {
		CardIn
		Body struct {
			SeenCard
			Reason string `json:"reason,omitempty" maxLength:"1000"`
		}
	}
	post(r, group, one+"/send-back", "Send the plan of a card back, or its work", func(ctx context.Context, i *struct {
		CardIn
		Body struct {
			SeenCard
			Text string `json:"text" maxLength:"20000" doc:"Why, and what must change"`
		}
	}) (*cards.CardView, error) {
		return all().SendBack(ctx, i.ID, i.Body.Version, i.Body.Text)
	})
	post(r, group, one+"/move", "Move a card to another column, where that is possible", func(ctx context.Context, i *struct {
		CardIn
		Body struct {
			SeenCard
			To   task.Column `json:"to"`
			Text string      `json:"text,omitempty" maxLength:"20000" doc:"Why it is sent back, or called done"`
			Sure bool        `json:"sure,omitempty" doc:"It may be called done, whatever its checks and its reviewer say"`
		}
	}) (*cards.CardView, error) {
		return all().Move(ctx, i.ID, i.Body.Version, i.Body.To, i.Body.Text, func() error {
			if i.Body.Sure {
				return nil
			}
			return errNotSure
		})
	})
	post(r, group, one+"/done", "Call a card done, whatever its own result is", func(ctx context.Context, i *withReason) (*cards.CardView, error) {
		return all().Done(ctx, i.ID, i.Body.Version, i.Body.Reason)
	})
	post(r, group, one+"/cancel", "Cancel a card with its work", func(ctx context.Context, i *withReason) (*cards.CardView, error) {
		return all().Cancel(ctx, i.ID, i.Body.Version, i.Body.Reason)
	})
}
