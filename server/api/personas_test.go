package api_test

import (
	"net/url"
	"slices"
	"testing"

	"cmux/agents/control/personas"
	"cmux/agents/control/rooms"
	"cmux/agents/room"
)

// A persona is made and used; a room of it is planned before it is made.
func TestPersonas(t *testing.T) {
	w := withRooms(t)
	var one personas.Persona
	w.must("PUT", "/api/personas/critic", `{"kind":"scripted","model":"large","text":"You doubt."}`, &one)
	w.refused("PUT", "/api/personas/critic", `{"text":"x"}`, 409, "there is a role critic already")
	w.refused("PUT", "/api/personas/critic", `{"text":"x","sum":"old"}`, 409, "has changed since it was read")
	w.refused("PUT", "/api/personas/.x", `{"text":"x"}`, 400, "")
	w.refused("PUT", "/api/personas/other", `{"text":"x","kind":"nothing"}`, 400, "no kind of agent")
	w.refused("PUT", "/api/personas/other", `{"text":""}`, 422, "")
	w.refused("GET", "/api/personas/other", "", 404, "there is no role")

	w.must("GET", "/api/personas/critic", "", &one)
	var plan struct {
		Name    string
		Remarks []string
		Cost    room.Cost
	}
	w.must("POST", "/api/rooms/plan", `{"name":"try","members":[":critic"],"settings":{"policy":"once"}}`, &plan)
	if plan.Name != "try" || !slices.Equal(plan.Cost.Wakes, []string{"critic"}) || plan.Cost.Least <= 0 {
		t.Errorf("%+v", plan)
	}
	w.refused("GET", "/api/rooms/try", "", 404, "")
	w.must("POST", "/api/rooms", `{"name":"try","members":[":critic"]}`, nil)
	var l struct{ Items []personas.Persona }
	w.must("GET", "/api/personas", "", &l)
	i := slices.IndexFunc(l.Items, func(p personas.Persona) bool { return p.Name == "critic" })
	if i < 0 || l.Items[i].Kind != "scripted" || l.Items[i].Text != "You doubt.\n" || !slices.Equal(l.Items[i].Used, []string{"try.critic"}) {
		t.Fatalf("%+v", l.Items)
	}
	sum := "?sum=" + url.QueryEscape(one.Sum)
	w.refused("DELETE", "/api/personas/critic"+sum, "", 409, "used by try.critic")
	w.must("DELETE", "/api/rooms/try/members/critic", "", nil)
	w.refused("DELETE", "/api/personas/critic?sum=old", "", 409, "has changed")
	w.must("DELETE", "/api/personas/critic"+sum, "", nil)
	w.refused("DELETE", "/api/personas/critic"+sum, "", 404, "there is no role")
}

func TestRoomSettings(t *testing.T) {
	w := withRooms(t)
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann"],"settings":{"turns":7}}`, nil)
	var l struct{ Items []rooms.Setting }
	w.must("GET", "/api/rooms/design/settings", "", &l)
	i := slices.IndexFunc(l.Items, func(s rooms.Setting) bool { return s.Key == "turns" })
	if want := (rooms.Setting{Key: "turns", Value: "7", From: rooms.OfRoom, Inherited: "3", Of: rooms.BuiltIn}); i < 0 || l.Items[i] != want {
		t.Errorf("%+v", l.Items)
	}
	w.refused("GET", "/api/rooms/nobody/settings", "", 404, "")
}
