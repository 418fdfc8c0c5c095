package api_test

import (
	"strconv"
	"testing"

	"cmux/agents/control/cards"
	"cmux/agents/org/task"
)

// Cards are made, changed, moved and ended; whoever has seen an older one changes nothing.
func TestCards(t *testing.T) {
	w := withRooms(t)
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann","scripted=bob"]}`, nil)
	const one = "/api/cards/t1"
	var v cards.CardView
	w.must("POST", "/api/cards", `{"room":"design","title":"Sessions","body":"in SQLite","planner":"ann"}`, &v)
	if v.ID != "t1" || v.Column != task.InBacklog || v.Card.Planner != "ann" || len(v.Moves) != 1 {
		t.Errorf("%+v", v)
	}
	var all items[cards.CardView]
	for path, want := range map[string]int{"/api/cards": 1, "/api/cards?room=design": 1} {
		if w.must("GET", path, "", &all); len(all.Items) != want {
			t.Errorf("%s: %+v", path, all)
		}
	}
	var proposals items[cards.Proposal]
	if w.must("GET", "/api/cards/proposals?room=design", "", &proposals); proposals.Items == nil || len(proposals.Items) != 0 {
		t.Errorf("%+v", proposals)
	}
	w.refused("POST", one+"/start", `{}`, 409, "cmux cards edit t1 --implementer NAME")
	w.must("PATCH", one, `{"version":`+strconv.Itoa(v.Version)+`,"implementer":"bob","reviewer":"ann","title":"Sessions in SQLite"}`, &v)
	if v.Title != "Sessions in SQLite" || v.Card.Implementer != "bob" || v.Card.Planner != "ann" || len(v.Moves) != 2 {
		t.Errorf("%+v", v)
	}
	for path, body := range map[string]string{
		"/start": `{"version":1}`, "/approve": `{"version":1}`, "/send-back": `{"version":1,"text":"x"}`, "/move": `{"version":1,"to":"planning"}`,
		"/done": `{"version":1}`, "/cancel": `{"version":1}`, "/delegate": `{"version":1}`,
	} {
		w.refused("POST", one+path, body, 409, "card t1 has changed since you looked at it")
	}
	w.refused("PATCH", one, `{"version":1,"title":"x"}`, 409, "has changed since")
	w.must("POST", one+"/start", `{}`, &v)
	if v.Column != task.InPlanning || v.Card.Phase != task.Planning {
		t.Errorf("%+v", v)
	}
	w.refused("POST", one+"/move", `{"to":"reviewing"}`, 409, "a plan brings it there")
	w.refused("POST", one+"/move", `{"to":"done"}`, 409, "with sure it is called done")
	w.refused("POST", one+"/move", `{"to":"nowhere"}`, 422, "to")
	w.refused("POST", one+"/send-back", `{"text":" "}`, 400, "say why")
	w.must("POST", one+"/send-back", `{"text":"with two tables"}`, &v)
	if v.Card.Remark != "with two tables" || v.Card.Phase != task.Planning {
		t.Errorf("%+v", v)
	}
	w.must("POST", one+"/move", `{"to":"backlog"}`, &v)
	w.must("POST", one+"/delegate", `{}`, &v)
	if v.Column != task.InBacklog || v.Card.Phase != task.Delegating {
		t.Errorf("%+v", v)
	}
	w.refused("POST", one+"/delegate", `{"pick":"ann"}`, 409, "ann has not answered")
	w.must("POST", one+"/done", `{"reason":"by hand"}`, &v)
	if v.Column != task.InDone || !v.Override || v.Needs != "" {
		t.Errorf("%+v", v)
	}
	w.refused("POST", one+"/cancel", `{}`, 409, "done (override)")
	w.must("POST", "/api/cards", `{"room":"design","title":"Other"}`, &v)
	w.must("PATCH", "/api/cards/t2", `{"planner":"ann","implementer":"bob"}`, &v)
	w.must("POST", "/api/cards/t2/start", `{}`, &v)
	if w.must("POST", "/api/cards/t2/approve", `{"version":`+strconv.Itoa(v.Version)+`}`, &v); v.Card.Phase != task.Implementing {
		t.Errorf("%+v", v.Card)
	}
	w.must("POST", "/api/cards/t2/cancel", `{"reason":"not needed"}`, &v)
	if v.Column != "" || v.State != task.Cancelled {
		t.Errorf("%+v", v)
	}
	if w.must("GET", one, "", &v); v.Texts == nil || v.Texts.Back != "" {
		t.Errorf("%+v", v.Texts)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/api/cards?room=nobody", "", 404, "cmux rooms list"},
		{"POST", "/api/cards", `{"room":"nobody","title":"x"}`, 404, "cmux rooms list"},
		{"POST", "/api/cards", `{"room":"design","title":""}`, 400, "title"},
		{"POST", "/api/cards", `{"room":"design","todo":"p1.0"}`, 400, "nobody has proposed a card p1.0"},
		{"GET", "/api/cards/t9", "", 404, "cmux cards list"},
		{"POST", "/api/cards/t9/approve", `{}`, 404, "cmux cards list"},
		{"PATCH", "/api/cards/t2", `{"reviewer":"eve"}`, 400, "no member of the room design is called so"},
	} {
		w.refused(c.method, c.path, c.body, c.status, c.says)
	}
}
