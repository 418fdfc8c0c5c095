package api_test

import (
	"slices"
	"strings"
	"testing"

	"cmux/agents/control/rooms"
	"cmux/agents/room"
)

// A proposal is shown, put to the members, and decided.
func TestDecisions(t *testing.T) {
	w := withRooms(t)
	const one, path = "/api/rooms/design", "/api/rooms/design/decisions"
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann","scripted=ben"]}`, nil)
	var l items[rooms.Decision]
	if w.must("GET", path, "", &l); len(l.Items) != 0 {
		t.Errorf("%+v", l)
	}
	w.refused("POST", path, `{}`, 400, "nothing is proposed")
	w.refused("POST", path, `{"verdict":"perhaps"}`, 422, "verdict")
	w.wrote("design", room.Line{Kind: room.KindProposed, What: "decision", ID: "p1", By: "ann", Text: "SQLite."})
	var d rooms.Decision
	if w.must("POST", path, `{"id":"D1"}`, &d); d.State != rooms.IsAsked || !slices.Equal(d.Asked, []string{"ben"}) || !slices.Equal(d.Pending, d.Asked) {
		t.Errorf("%+v", d)
	}
	w.refused("POST", path, `{"id":"D1"}`, 400, "asked about D1 already")
	w.refused("POST", path, `{"id":"D2"}`, 404, "no proposal")
	for range 2 {
		if w.must("POST", path, `{"id":"D1","verdict":"changed","text":"SQLite, one writer."}`, &d); d.State != rooms.IsDecided || d.Decided.Text != "SQLite, one writer." || !strings.Contains(d.Decided.Record, "SQLite, one writer.") {
			t.Errorf("%+v", d)
		}
	}
	if w.must("POST", path, `{"verdict":"changed","text":"No cache.","own":true}`, &d); d.ID != "D2" || d.By != room.User {
		t.Errorf("%+v", d)
	}
	if w.must("GET", path, "", &l); len(l.Items) != 2 || l.Items[0].ID != "D1" {
		t.Errorf("%+v", l)
	}
	var v rooms.View
	if w.must("GET", one, "", &v); v.Room.Proposals != 0 {
		t.Errorf("%d proposals", v.Room.Proposals)
	}
}
