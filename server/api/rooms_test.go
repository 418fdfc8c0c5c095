package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/overview"
	"cmux/agents/control/rooms"
	"cmux/agents/kinds/agent"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/room/marks"
	"cmux/agents/testkit/scripted"
)

// madeRoom is the answer of a start.
type madeRoom struct {
	rooms.View
	Remarks []string
}

// withRooms is a world with an organization whose monitor is up, and does nothing.
func withRooms(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.repository(t)
	w.p.Kinds = agent.NewKinds(scripted.Kind(true))
	lock, err := w.organized(t).Run.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Unlock() })
	return w
}

// refused asks for what is refused.
func (w *world) refused(method, target, body string, status int, says string) {
	w.t.Helper()
	if code, text := w.ask(method, target, body); code != status || !strings.Contains(text, says) {
		w.t.Errorf("%s %s %.200s: %d %s; want %d with %q", method, target, body, code, text, status, says)
	}
}

// wrote appends what the monitor would.
func (w *world) wrote(name string, lines ...room.Line) {
	w.t.Helper()
	b, err := book.Open(w.root, name, w.p.Now, true)
	if err == nil {
		_, _, err = b.Append(w.t.Context(), func([]room.Line) ([]room.Line, error) { return lines, nil })
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestStartRoom(t *testing.T) {
	w := withRooms(t)
	var none items[rooms.View]
	if w.must("GET", "/api/rooms", "", &none); len(none.Items) != 0 {
		t.Errorf("%+v", none)
	}
	var v madeRoom
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann:architect","scripted"],"settings":{"topic":"sessions","turns":2,"timeouts":{"hard":60}}}`, &v)
	want := room.Defaults()
	want.Topic, want.Turns, want.Timeouts.Hard = "sessions", 2, 60
	if v.Room.Name != "design" || v.Room.Settings != want || !v.Room.Monitor || len(v.Members) != 2 || v.Members[0].Role != "architect" || v.Members[1].Name != "scripted" || v.Members[0].State != "off" {
		t.Errorf("%+v", v)
	}
	// Without a name it has the first free one.
	for _, name := range []string{"room", "room-2"} {
		if w.must("POST", "/api/rooms", `{"members":["scripted=ann"],"settings":{"blind":false,"policy":"robin"}}`, &v); v.Room.Name != name || v.Room.Settings.Blind || v.Room.Policy != room.Robin {
			t.Errorf("%+v", v)
		}
	}
	var l items[rooms.View]
	if w.must("GET", "/api/rooms?limit=2", "", &l); len(l.Items) != 2 || l.Next == "" {
		t.Errorf("%+v", l)
	}
	next := l.Next
	l = items[rooms.View]{}
	if w.must("GET", "/api/rooms?cursor="+next, "", &l); len(l.Items) != 1 || l.Next != "" {
		t.Errorf("%+v", l)
	}
	for _, c := range []struct {
		body   string
		status int
		says   string
	}{
		{`{"name":"design","members":["scripted"]}`, 400, "cmux rooms open design"},
		{`{"name":"Design","members":["scripted"]}`, 400, "there is a room"},
		{`{"name":"a b","members":["scripted"]}`, 400, "is no name"},
		{`{"name":"../x","members":["scripted"]}`, 400, "is no name"},
		{`{"name":"x","members":["nothing"]}`, 400, `there is no kind of agent`},
		{`{"name":"x","members":["scripted=user"]}`, 400, "somebody else"},
		{`{"name":"x","members":["scripted=a b"]}`, 400, "is no name"},
		{`{"name":"x","members":["scripted","scripted=SCRIPTED"]}`, 400, "two members cannot be called"},
		{`{"name":"x","members":["scripted"],"settings":{"policy":"anarchy"}}`, 422, "policy"},
		{`{"name":"x","members":["scripted"],"settings":{"policy":"debate"}}`, 400, "a debate needs two debaters"},
		{`{"name":"x","members":["scripted"],"settings":{"turns":0}}`, 422, "turns"},
		{`{"name":"x","members":["scripted"],"settings":{"dir":"../.."}}`, 400, "no folder in the project"},
		{`{"name":"x","nonsense":1}`, 422, "nonsense"},
	} {
		w.refused("POST", "/api/rooms", c.body, c.status, c.says)
	}
	if names, err := book.Rooms(w.root); err != nil || !slices.Equal(names, []string{"design", "room", "room-2"}) {
		t.Errorf("%q %v", names, err)
	}
	if code, text := w.ask("POST", "/api/rooms", `{"name":"foreign","members":["scripted"]}`, "Origin: http://evil.example"); code != 403 {
		t.Errorf("another page starts a room: %d %s", code, text)
	}
	if code, _ := w.ask("POST", "/api/rooms", `{"name":"foreign","members":["scripted"]}`, "Authorization: none"); code != 401 {
		t.Errorf("nobody starts a room: %d", code)
	}
	var status struct {
		Phase   room.Phase
		Members map[string]string
	}
	if w.must("GET", "/api/rooms/design/status", "", &status); status.Phase != room.AtRest || len(status.Members) != 2 || status.Members["ann"] == "" {
		t.Errorf("%+v", status)
	}
	w.refused("GET", "/api/rooms/foreign", "", 404, "cmux rooms list")
}

func TestTalk(t *testing.T) {
	w := withRooms(t)
	const one = "/api/rooms/design"
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann","scripted=ben"]}`, nil)
	var said rooms.Said
	w.must("POST", one+"/messages", `{"text":"Which, @Ann? See `+"`@ben`"+`","key":"k1"}`, &said)
	if said.Message != 4 || !slices.Equal(said.Wakes, []string{"ann"}) || said.Room != "design" {
		t.Errorf("%+v", said)
	}
	// The same key is the same message.
	if w.must("POST", one+"/messages", `{"text":"Which, again?","key":"k1"}`, &said); said.Message != 4 {
		t.Errorf("%+v", said)
	}
	w.wrote("design",
		room.Line{Kind: room.KindRound, Round: 1, State: room.Began},
		room.Line{Kind: room.KindTurn, Turn: "t1", Member: "ann", Round: 1, Messages: []int64{4}},
		room.Line{Kind: room.KindTook, Turn: "t1"},
		room.Line{Kind: room.KindSaid, By: "ann", Turn: "t1", Re: 4, Text: "+1 ben [DECISION] SQLite.", Aside: "for @user alone", Wakes: []string{"ben"}},
		room.Line{Kind: room.KindOver, Turn: "t1", Member: "ann", How: room.HowReplied, Said: 8, Used: 100},
		room.Line{Kind: room.KindJoined, Name: "carl", Guest: true, Agent: "api"},
	)
	w.must("POST", one+"/messages", `{"text":"`+strings.Repeat("long ", 5000)+`@carl","to":"ben","re":8}`, &said)

	var l items[rooms.Message]
	w.must("GET", one+"/messages?limit=2", "", &l)
	if len(l.Items) != 2 || l.Next == "" {
		t.Fatalf("%+v", l)
	}
	newest, ann := l.Items[0], l.Items[1]
	if newest.N != said.Message || newest.To != "ben" || newest.Re != 8 || len(newest.Text) != 25_005 || newest.Round != 0 || !slices.Equal(newest.Wakes, []string{"ben"}) {
		t.Errorf("%+.200v", newest)
	}
	// Marks mean who was in the room by then, and the pieces are the text.
	if p := newest.Pieces[len(newest.Pieces)-1]; p.Kind != marks.Mention || p.Name != "carl" {
		t.Errorf("%+v", p)
	}
	if ann.By != "ann" || ann.Turn != "t1" || ann.Round != 1 || ann.Re != 4 || len(ann.Pieces) != 4 || ann.Pieces[0].Kind != marks.Agree || ann.Pieces[2].Mark != marks.Decision {
		t.Errorf("%+v", ann)
	}
	whole := func(pieces []marks.Piece) (text string) {
		for _, p := range pieces {
			text += p.Text
		}
		return text
	}
	for _, m := range l.Items {
		if whole(m.Pieces) != m.Text || whole(m.AsidePieces) != m.Aside {
			t.Errorf("%d: %+.500v", m.N, m)
		}
	}
	next := l.Next
	l = items[rooms.Message]{}
	w.must("GET", one+"/messages?cursor="+next, "", &l)
	if len(l.Items) != 1 || l.Next != "" || l.Items[0].N != 4 || l.Items[0].By != "user" || l.Items[0].Key != "k1" || l.Items[0].Round != 1 {
		t.Errorf("%+v", l)
	}
	if p := l.Items[0].Pieces; len(p) != 4 || p[1].Name != "ann" || p[3].Kind != marks.Code {
		t.Errorf("%+v", p)
	}

	var log struct {
		Items []room.Line
		Next  int64
	}
	w.must("GET", one+"/log?limit=4", "", &log)
	if len(log.Items) != 4 || log.Next != 4 || log.Items[0].Kind != room.KindOpened {
		t.Fatalf("%+v", log)
	}
	log.Next = 0
	w.must("GET", one+"/log?after=4", "", &log)
	if len(log.Items) != 7 || log.Next != 0 || log.Items[0].Kind != room.KindRound || log.Items[6].Text != newest.Text {
		t.Errorf("%.500v", fmt.Sprint(log))
	}
	log.Items = nil
	if w.must("GET", one+"/log?after=11", "", &log); len(log.Items) != 0 || log.Next != 0 {
		t.Errorf("%+v", log)
	}

	var prompt struct{ Text string }
	if w.must("GET", one+"/turns/t1/prompt", "", &prompt); !strings.Contains(prompt.Text, "> Which, @Ann?") {
		t.Errorf("%s", prompt.Text)
	}
	var cost room.Cost
	if w.must("POST", one+"/cost", `{"text":"which, @ben?"}`, &cost); !slices.Equal(cost.Wakes, []string{"ben"}) || cost.Least < 1 || cost.Most < cost.Least {
		t.Errorf("%+v", cost)
	}
	var check struct {
		Lines  int
		Broken []room.Broken
		Bad    []struct{ Why string }
	}
	if w.must("GET", one+"/check", "", &check); check.Lines != 11 || len(check.Bad) != 0 {
		t.Errorf("%+v", check)
	}

	for _, c := range []struct {
		method, target, body string
		status               int
		says                 string
	}{
		{"GET", "/api/rooms/dessign", "", 404, `"try":"cmux rooms list"`},
		{"GET", "/api/rooms/a%20b", "", 400, "is no name"},
		{"GET", "/api/rooms/..%2f..", "", 400, "is no name"},
		{"GET", "/api/rooms/" + strings.Repeat("x", 101), "", 422, "room"},
		{"GET", "/api/rooms/nobody/messages", "", 404, "cmux rooms list"},
		{"GET", "/api/rooms/nobody/log", "", 404, "cmux rooms list"},
		{"GET", "/api/rooms/nobody/check", "", 404, "cmux rooms list"},
		{"GET", "/api/rooms/nobody/turns/t1/prompt", "", 404, "cmux rooms list"},
		{"POST", "/api/rooms/nobody/messages", `{"text":"x"}`, 404, "cmux rooms list"},
		{"POST", "/api/rooms/nobody/orders", `{"do":"pause"}`, 404, "cmux rooms list"},
		{"POST", "/api/rooms/nobody/cost", `{}`, 404, "cmux rooms list"},
		{"POST", "/api/rooms/nobody/members/ann/answer", `{"text":"x"}`, 404, "cmux rooms list"},
		{"GET", one + "/messages?cursor=nonsense", "", 400, "the cursor does not belong"},
		{"GET", one + "/messages?limit=0", "", 422, "limit"},
		{"GET", one + "/log?after=-1", "", 422, "after"},
		{"GET", one + "/turns/t99/prompt", "", 404, "cmux rooms log design"},
		{"POST", one + "/messages", `{"text":" "}`, 400, "the message is empty"},
		{"POST", one + "/messages", `{"text":"x","to":"dora"}`, 400, `nobody in the room design is called \"dora\": ann, ben, carl`},
		{"POST", one + "/messages", `{"text":"` + strings.Repeat("x", book.MaxText+1) + `"}`, 400, "it has 256 KB"},
		{"POST", one + "/messages", `{"text":"` + strings.Repeat("x", 2<<20) + `"}`, 413, ""},
		{"POST", one + "/messages", `{"text":"x","by":"ann"}`, 422, "by"},
		{"POST", one + "/cost", `{"to":"dora"}`, 400, "nobody in the room"},
		{"POST", one + "/members/dora/answer", `{"text":"yes"}`, 404, "nobody in the room"},
		{"POST", one + "/members/ann/answer", `{"text":""}`, 422, "text"},
		{"POST", one + "/members/ann/answer", `{"text":"yes"}`, 400, "asks nothing"}, // its program was never started
	} {
		w.refused(c.method, c.target, c.body, c.status, c.says)
	}
	for _, path := range []string{"/messages", "/orders", "/cost", "/members/ann/answer"} {
		if code, text := w.ask("POST", one+path, `{"text":"x","do":"pause"}`, "Origin: http://evil.example"); code != 403 {
			t.Errorf("another page asks %s: %d %s", path, code, text)
		}
	}
}

// What holds a room up waits for the person until they have decided; a room at rest, a closed
// one and one that is paused without messages need nothing.
func TestNeedsOfRooms(t *testing.T) {
	w := withRooms(t)
	const one = "/api/rooms/design"
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann","scripted=ben"],"settings":{"timeouts":{"parse":60}}}`, nil)
	waits := func() (all []string) {
		var l items[overview.Need]
		w.must("GET", "/api/needs", "", &l)
		for _, n := range l.Items {
			if n.Kind != overview.NeedRoom {
				continue
			}
			all = append(all, n.Title+": "+n.Text+" "+strings.Join(n.Orders, ","))
			if n.Since.IsZero() || n.Room != "design" || n.Called != "Room" {
				t.Errorf("%+v", n)
			}
			w.must("GET", "/api/needs/case?id="+url.QueryEscape(n.ID), "", nil)
		}
		return all
	}
	order := func(body string) { w.must("POST", one+"/orders", body, nil) }
	expect := func(when string, want ...string) {
		t.Helper()
		if got := waits(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	expect("new")
	order(`{"do":"pause"}`)
	expect("paused")
	w.must("POST", one+"/messages", `{"text":"hello"}`, nil)
	expect("paused with a message", "design: the room is paused resume")
	order(`{"do":"close"}`)
	expect("closed")
	order(`{"do":"reopen"}`)
	expect("reopened")

	w.must("POST", one+"/messages", `{"text":"@ann hello"}`, nil)
	w.wrote("design", room.Line{Kind: room.KindRound, Round: 1, State: room.Began}, room.Line{Kind: room.KindTurn, Turn: "t1", Member: "ann", Round: 1, Messages: []int64{8}})
	expect("a turn")
	w.now = w.now.Add(90 * time.Second)
	expect("a long turn", "ann in design: ann has worked for 1m30s stop,wait")
	order(`{"do":"wait","names":["ann"]}`)
	expect("given more time")
	w.now = w.now.Add(90 * time.Second)
	expect("a longer turn", "ann in design: ann has worked for 3m0s stop,wait")
	w.wrote("design", room.Line{Kind: room.KindOver, Turn: "t1", Member: "ann", How: room.HowFailed, Why: "it ended"},
		room.Line{Kind: room.KindRound, Round: 1, State: room.Capped, Why: "turns are used up"})
	expect("capped", "design: round 1 has ended with messages left: turns are used up continue")
	order(`{"do":"continue"}`)
	expect("continued")
}

func TestOrdersOfRooms(t *testing.T) {
	w := withRooms(t)
	const one = "/api/rooms/design"
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann","scripted=ben"]}`, nil)
	orders := func() (n int) {
		var log items[room.Line]
		w.must("GET", one+"/log", "", &log)
		for _, l := range log.Items {
			if l.Kind == room.KindOrder {
				n++
			}
		}
		return n
	}
	var v rooms.View
	for range 2 { // once for an id
		if w.must("POST", one+"/orders", `{"do":"pause","id":"o1"}`, &v); v.Room.Phase != room.IsPaused || orders() != 1 {
			t.Errorf("%+v, %d orders", v, orders())
		}
	}
	var said rooms.Said
	if w.must("POST", one+"/messages", `{"text":"hello"}`, &said); !strings.Contains(said.Note, "cmux rooms resume design") {
		t.Errorf("%+v", said)
	}
	if w.must("POST", one+"/messages", `{"text":"now","resume":true}`, &said); said.Note != "" {
		t.Errorf("%+v", said)
	}
	if w.must("POST", one+"/orders", `{"do":"skip","names":["ann"]}`, &v); v.Room.Phase == room.IsPaused || orders() != 3 {
		t.Errorf("%+v, %d orders", v, orders())
	}
	for _, c := range []struct {
		body   string
		status int
		says   string
	}{
		{`{"do":"explode"}`, 422, "do"},
		{`{}`, 422, "do"},
		{`{"do":"skip"}`, 400, "skip needs the name of a member"},
		{`{"do":"wake","names":["ann","ben"]}`, 400, "at most 1"},
		{`{"do":"pause","names":["ann"]}`, 400, "at most 0"},
		{`{"do":"stop","names":["dora"]}`, 400, "nobody in the room"},
		{`{"do":"continue","n":-1}`, 400, "no number of turns"},
		{`{"do":"pause","n":2}`, 400, "no number of turns"},
	} {
		w.refused("POST", one+"/orders", c.body, c.status, c.says)
	}
	// In a closed room nothing is said or ordered until it is opened again.
	if w.must("POST", one+"/orders", `{"do":"close"}`, &v); v.Room.Phase != room.IsClosed {
		t.Errorf("%+v", v)
	}
	w.refused("POST", one+"/messages", `{"text":"x"}`, 409, `"try":"cmux rooms reopen design"`)
	w.refused("POST", one+"/orders", `{"do":"pause"}`, 409, `"try":"cmux rooms reopen design"`)
	w.must("GET", one+"/messages", "", nil)
	if w.must("POST", one+"/orders", `{"do":"reopen"}`, &v); v.Room.Phase == room.IsClosed {
		t.Errorf("%+v", v)
	}
	w.must("POST", one+"/messages", `{"text":"x"}`, nil)
}

// Without a monitor nothing is written that nobody would carry out, but for a pause.
func TestRoomsWithoutMonitor(t *testing.T) {
	w := newWorld(t)
	settings := room.Defaults()
	w.wrote("design", room.Line{Kind: room.KindOpened, Settings: &settings}, room.Line{Kind: room.KindJoined, Name: "ann", Agent: "scripted"})
	w.refused("POST", "/api/rooms/design/messages", `{"text":"x"}`, 409, `"try":"cmux start"`)
	var v rooms.View
	if w.must("POST", "/api/rooms/design/orders", `{"do":"pause"}`, &v); v.Room.Monitor || v.Room.Messages != 0 || v.Room.Phase != room.IsPaused {
		t.Errorf("%+v", v)
	}
}

// Who is in a room and how it is led changes, and a removed one is kept.
func TestChangeRoom(t *testing.T) {
	w := withRooms(t)
	const one = "/api/rooms/design"
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann"],"settings":{"topic":"sessions"}}`, nil)
	var v madeRoom
	w.must("PATCH", one, `{"policy":"once","timeouts":{"hard":60}}`, &v)
	want := room.Defaults()
	want.Topic, want.Policy, want.Timeouts.Hard = "sessions", room.Once, 60
	if v.Room.Settings != want {
		t.Errorf("%+v", v.Room.Settings)
	}
	if w.must("POST", one+"/members", `{"who":"scripted=ben:critic"}`, &v); len(v.Members) != 2 || v.Members[1].Name != "ben" || v.Members[1].Role != "critic" {
		t.Errorf("%+v", v.Members)
	}
	if w.must("POST", one+"/members", `{"who":"api","guest":true}`, &v); len(v.Members) != 3 || !v.Members[2].Guest || v.Members[2].State != "guest" {
		t.Errorf("%+v", v.Members)
	}
	if w.must("DELETE", one+"/members/ann", "", &v); len(v.Members) != 2 || v.Members[0].Name != "ben" {
		t.Errorf("%+v", v.Members)
	}
	for _, c := range []struct {
		method, target, body string
		status               int
		says                 string
	}{
		{"PATCH", one, `{"policy":"anarchy"}`, 422, "policy"},
		{"PATCH", one, `{"policy":"moderator","moderator":"dora"}`, 400, "nobody in the room is called so"},
		{"PATCH", one, `{"topic":"x","dir":"docs"}`, 400, "another folder needs another room"},
		{"PATCH", "/api/rooms/nobody", `{"topic":"x"}`, 404, "cmux rooms list"},
		{"POST", one + "/members", `{"who":"nothing"}`, 400, "there is no kind of agent"},
		{"POST", one + "/members", `{"who":"scripted=Ben"}`, 400, "two members cannot be called"},
		{"POST", one + "/members", `{"who":""}`, 422, "who"},
		{"POST", "/api/rooms/nobody/members", `{"who":"scripted"}`, 404, "cmux rooms list"},
		{"DELETE", one + "/members/ann", "", 400, "nobody in the room"},
		{"DELETE", "/api/rooms/nobody/members/ann", "", 404, "cmux rooms list"},
		{"DELETE", "/api/rooms/nobody", "", 404, "cmux rooms list"},
		{"GET", "/api/rooms/nobody/export", "", 404, "cmux rooms list"},
	} {
		w.refused(c.method, c.target, c.body, c.status, c.says)
	}
	w.must("POST", one+"/messages", `{"text":"Which?"}`, nil)
	var export struct{ Text string }
	if w.must("GET", one+"/export", "", &export); !strings.HasPrefix(export.Text, "# Room design\n\n> sessions\n") || !strings.Contains(export.Text, "\n> Which?\n") {
		t.Errorf("%s", export.Text)
	}
	if w.must("GET", one+"/export?format=json", "", &export); !strings.HasPrefix(export.Text, `{"kind":"opened"`) && !strings.Contains(export.Text, "\n{") {
		t.Errorf("%s", export.Text)
	}
	if w.refused("GET", one+"/export?format=pdf", "", 422, "format"); strings.Count(export.Text, "\n") < 3 {
		t.Errorf("%s", export.Text)
	}
	for _, path := range []string{one, one + "/members/ben"} {
		if code, text := w.ask("DELETE", path, "", "Origin: http://evil.example"); code != 403 {
			t.Errorf("another page removes %s: %d %s", path, code, text)
		}
	}
	var gone struct{ Archive string }
	if w.must("DELETE", one, "", &gone); !strings.Contains(gone.Archive, "/archives/rooms/design-") {
		t.Errorf("%+v", gone)
	}
	w.refused("GET", one, "", 404, "there is no room")
}
