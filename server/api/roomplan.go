package api

import (
	"context"
	"net/http"

	"cmux/agents/control"
	"cmux/agents/control/cards"
)

// roomPlan adds the routes of the plan of a room, and of its run.
func (r *routes) roomPlan(group, one string) {
	p := r.Project
	get(r, group, one+"/plan", "Show the plan of a room: the graph of its cards", func(ctx context.Context, i *RoomIn) (*cards.PlanView, error) {
		return control.Cards(p).Plan(ctx, i.Room)
	})
	post(r, group, one+"/plan", "Make the plan of a room, of the cards that are decided and not started", func(ctx context.Context, i *RoomIn) (*cards.PlanView, error) {
		return control.Cards(p).MakePlan(ctx, i.Room)
	})
	add(r, http.MethodPut, group, one+"/plan", "Write the plan of a room, in place of the text that sum names", func(ctx context.Context, i *struct {
		RoomIn
		Body struct {
			Text string `json:"text"`
			Sum  string `json:"sum" doc:"Checksum of the text that it takes the place of"`
		}
	}) (*cards.PlanView, error) {
		return control.Cards(p).WritePlan(ctx, i.Room, i.Body.Text, i.Body.Sum)
	})
	post(r, group, one+"/plan/check", "Check a text as the plan of a room; nothing is written", func(ctx context.Context, i *struct {
		RoomIn
		Body struct {
			Text string `json:"text"`
		}
	}) (*cards.PlanView, error) {
		return control.Cards(p).CheckPlan(ctx, i.Room, i.Body.Text)
	})
	post(r, group, one+"/run", "Start the plan of a room, or continue its run", func(ctx context.Context, i *struct {
		RoomIn
		Sum string `query:"sum" doc:"Checksum of the plan that was seen: no other one is started; empty: whichever there is"`
	}) (*cards.Started, error) {
		return control.Cards(p).Run(ctx, i.Room, i.Sum)
	})
}
