package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cmux/agents/control"
	"cmux/agents/control/cards"
	"cmux/agents/org/task"
)

func jsonText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// The plan of a room is made, shown, checked and written; a run of one with faults is refused.
func TestRoomPlan(t *testing.T) {
	w := withRooms(t)
	const one = "/api/rooms/design"
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann","scripted=ben"]}`, nil)
	var v cards.PlanView
	if w.must("GET", one+"/plan", "", &v); v.There || v.Text != "" || len(v.Left) != 0 {
		t.Fatalf("%+v", v)
	}
	w.refused("POST", one+"/plan", "", 409, "there is nothing to plan")
	title, member := "Sessions", "ann"
	if _, err := control.Cards(w.p).Add(t.Context(), "design", "", task.Fields{Title: &title}, cards.Roles{Implementer: &member}); err != nil {
		t.Fatal(err)
	}
	if w.must("POST", one+"/plan", "", &v); !v.There || len(v.Nodes) != 1 || len(v.Cards) != 1 || v.Cards[0].Node != "t1-sessions" || v.Session != "room-design" {
		t.Fatalf("%+v", v)
	}
	bad := strings.Replace(v.Text, "scripted", "nobody", 1)
	var c cards.PlanView
	if w.must("POST", one+"/plan/check", `{"text":`+jsonText(bad)+`}`, &c); len(c.Faults) != 1 || !strings.Contains(c.Faults[0].File, "plans/design.yml") || c.Faults[0].Line == 0 {
		t.Fatalf("%+v", c.Faults)
	}
	if w.must("PUT", one+"/plan", `{"text":`+jsonText(bad)+`,"sum":"`+v.Sum+`"}`, &c); len(c.Faults) != 1 || !c.Edited {
		t.Fatalf("%+v", c)
	}
	w.refused("PUT", one+"/plan", `{"text":"x","sum":"`+v.Sum+`"}`, 409, "has changed since it was read")
	w.refused("POST", one+"/run", "", 409, "the plan of design cannot be started: .cmux/plans/design.yml:")
	if w.must("POST", one+"/plan", "", &c); c.Aside != ".cmux/plans/design.edited-1.yml" || len(c.Faults) != 0 || c.Edited {
		t.Fatalf("%+v", c)
	}
	w.refused("GET", "/api/rooms/none/plan", "", 404, "there is no room")
}
