package api_test

import (
	"slices"
	"strings"
	"testing"

	"cmux/agents/control/memory"
	"cmux/agents/records/note"
	"cmux/agents/room"
)

// Notes are written, found, changed, pinned, moved and forgotten.
func TestNotes(t *testing.T) {
	w := withRooms(t)
	const path = "/api/memory/notes"
	var l items[note.Note]
	if w.must("GET", path, "", &l); l.Items == nil || len(l.Items) != 0 {
		t.Errorf("%+v", l)
	}
	var n note.Note
	for _, text := range []string{"Sessions are in SQLite.", "Run make lint first.", "A third <b>note</b>."} {
		w.must("POST", path, `{"text":"`+text+`","kind":"practice","about":{"files":["db.go"]}}`, &n)
	}
	if n.ID != "n3" || n.By != note.ByUser || n.State != note.Shown || n.About.Files[0] != "db.go" {
		t.Errorf("%+v", n)
	}
	w.refused("POST", path, `{"text":"sessions ARE in sqlite","kind":"practice"}`, 400, "n1: there is such a note already")
	w.refused("POST", path, `{"text":"x","kind":"joke"}`, 422, "kind")
	w.refused("POST", path, `{"text":"`+strings.Repeat("x", 301)+`","kind":"project"}`, 400, "301 characters")
	w.refused("GET", path+"/n9", "", 404, "cmux memory list")
	if w.must("PATCH", path+"/n1", `{"pinned":true}`, &n); !n.Pinned || n.Text != "Sessions are in SQLite." {
		t.Errorf("%+v", n)
	}
	n = note.Note{}
	if w.must("PATCH", path+"/n2", `{"text":"Run make lint twice.","kind":"decision","files":[]}`, &n); n.Kind != note.Decision || len(n.About.Files) != 0 {
		t.Errorf("%+v", n)
	}
	ids := func(target string) (all []string, next string) {
		t.Helper()
		w.must("GET", target, "", &l)
		for i := range l.Items {
			all = append(all, l.Items[i].ID)
		}
		next, l.Next = l.Next, ""
		return all, next
	}
	all, next := ids(path + "?limit=2")
	if !slices.Equal(all, []string{"n1", "n3"}) {
		t.Error(all)
	}
	if all, _ := ids(path + "?cursor=" + next); !slices.Equal(all, []string{"n2"}) {
		t.Error(all)
	}
	if all, _ := ids("/api/memory/search?q=lint+twice"); !slices.Equal(all, []string{"n2"}) {
		t.Error(all)
	}
	if w.must("POST", path+"/n2/promote", "", &n); n.State != note.Promoted {
		t.Errorf("%+v", n)
	}
	w.refused("POST", path+"/n2/promote", "", 400, "it was moved into MEMORY.md")
	if w.must("DELETE", path+"/n3?erase=true", "", &n); n.State != note.Forgotten || n.Text != "" {
		t.Errorf("%+v", n)
	}
	w.refused("PATCH", path+"/n3", `{"pinned":true}`, 400, "it was forgotten")
	if all, _ := ids(path); !slices.Equal(all, []string{"n1"}) {
		t.Error(all)
	}
}

// A room is learned from once, and its notes say where they come from.
func TestLearn(t *testing.T) {
	w := withRooms(t)
	w.p.Env = []string{"PATH=" + t.TempDir()} // without a program
	const path = "/api/memory/learn"
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann"]}`, nil)
	w.refused("POST", path, `{"room":"design"}`, 400, "no member has answered")
	w.refused("POST", path, `{"room":"nobody"}`, 404, "cmux rooms list")
	var said struct{ Message int64 }
	w.must("POST", "/api/rooms/design/messages", `{"text":"Which database?"}`, &said)
	w.wrote("design",
		room.Line{Kind: room.KindRound, Round: 1, State: room.Began}, room.Line{Kind: room.KindTurn, Turn: "t1", Member: "ann", Round: 1, Messages: []int64{3}},
		room.Line{Kind: room.KindSaid, By: "ann", Turn: "t1", Text: "SQLite."}, room.Line{Kind: room.KindOver, Turn: "t1", Member: "ann", How: room.HowReplied, Used: 7},
		room.Line{Kind: room.KindRound, Round: 1, State: room.Settled})
	var due items[memory.Due]
	if w.must("GET", path+"?room=design", "", &due); len(due.Items) != 1 || due.Items[0].By != note.ByHeuristic || due.Items[0].Why != "" || due.Items[0].Messages != 2 {
		t.Errorf("%+v", due)
	}
	var got memory.Learned
	if w.must("POST", path, `{"room":"design"}`, &got); len(got.Notes) != 2 || got.Why != "claude is not installed" {
		t.Errorf("%+v", got)
	}
	w.refused("POST", path, `{"room":"design"}`, 400, "nothing was answered")
	if w.must("POST", path, `{"room":"design","again":true,"heuristic":true}`, &got); len(got.Notes) != 0 {
		t.Errorf("%+v", got)
	}
	if w.must("GET", path, "", &due); len(due.Items) != 0 {
		t.Errorf("%+v", due)
	}
	var why memory.Why
	if w.must("GET", "/api/memory/notes/n1", "", &why); why.Note.ID != "n1" || len(why.Messages) != 1 || why.Messages[0].Text != "SQLite." || why.Missing != "" {
		t.Errorf("%+v", why)
	}
}
