package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control/configfile"
	"cmux/agents/control/finding"
	"cmux/agents/control/graphs"
	"cmux/agents/control/letters"
	"cmux/agents/control/overview"
	"cmux/agents/control/tasks"
	"cmux/agents/org/task"
	"cmux/agents/records/incident"
	"cmux/agents/records/mail"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// Each route of the report from which the server was rebuilt, and what has its
// place here.
var seedRoutes = []struct {
	seed string
	ours string // METHOD PATH, of the document unless it is the websocket
}{
	{"/api/webhooks POST /{source}", "POST /api/webhooks/{source}"},
	{"/api/webhooks GET /health", "GET /api/webhooks/health"},
	{"/api/agents list", "GET /api/agents"},
	{"/api/agents create", "POST /api/agents"},
	{"/api/agents read", "GET /api/agents/{name}"},
	{"/api/agents update", "POST /api/agents/{name}/demote"}, // a name and a role stay; what changes is its standing
	{"/api/agents delete", "DELETE /api/agents/{name}"},
	{"/api/agents /ws", "GET /api/ws"},
	{"/api/agents /{id}/archive", "DELETE /api/agents/{name}"}, // a removal archives
	{"/api/agents archived", "GET /api/archives"},
	{"/api/sessions list", "GET /api/sessions"},
	{"/api/sessions create", "POST /api/sessions"},
	{"/api/sessions end", "DELETE /api/sessions/{name}"},
	{"/api/messages history", "GET /api/messages"},
	{"/api/messages POST /internal", "POST /api/messages"}, // of a person; what agents write is taken in from the mailbox
	{"/api/messages inbox", "GET /api/messages/inbox"},
	{"/api/agent-events receiver", "GET /api/agent-events"}, // hooks write files, which are taken in
	{"/api/journal day", "GET /api/journal/days/{day}"},
	{"/api/journal POST /entry", "POST /api/journal/entry"},
	{"/api/journal search", "GET /api/journal/search"},
	{"/api/filesystem browse", "GET /api/filesystem"},
	{"/api/filesystem file", "GET /api/filesystem/file"},
	{"/api/thoughts stream", "GET /api/thoughts"},
	{"/api/projects list", "GET /api/projects"},
	{"/api/projects register", "POST /api/projects"},
	{"/api/projects activate", "POST /api/projects/{name}/activate"},
	{"/api/projects remove", "DELETE /api/projects/{name}"},
	{"/api/tasks list", "GET /api/tasks"},
	{"/api/tasks create", "POST /api/tasks"},
	{"/api/tasks read", "GET /api/tasks/{id}"},
	{"/api/tasks update", "POST /api/tasks/{id}/assign"},
	{"/api/tasks delete", "POST /api/tasks/{id}/cancel"}, // nothing is deleted
	{"/api/heartbeat", "GET /api/heartbeat"},
	{"/api/prefs read", "GET /api/prefs"},
	{"/api/prefs write", "PATCH /api/prefs"},
	{"/api/sessions list", "GET /api/rooms"}, // of the group chat: a session of it is a room
	{"/api/sessions create", "POST /api/rooms"},
	{"/api/sessions read", "GET /api/rooms/{room}"},
	{"/api/sessions delete", "DELETE /api/rooms/{room}"},
	{"/api/sessions GET /messages", "GET /api/rooms/{room}/messages"},
	{"/api/sessions GET /export", "GET /api/rooms/{room}/export"},
	{"/api/sessions GET /status", "GET /api/rooms/{room}/status"},
	{"/api/sessions GET /cards", "GET /api/cards"},
	{"/api/sessions POST /cards", "POST /api/cards"},
	{"/api/sessions GET /cards/{card_id}", "GET /api/cards/{id}"},
	{"/api/sessions PATCH /cards/{card_id}", "PATCH /api/cards/{id}"},
	{"/api/sessions DELETE /cards/{card_id}", "POST /api/cards/{id}/cancel"}, // nothing is deleted
	{"/api/settings", "GET /api/config"},
	{"/api/settings PUT", "PUT /api/config/file"},
	{"/api/filesystem/list", "GET /api/filesystem"},
	{"/api/budget GET /summary", "GET /api/budget/summary"},
	{"/api/budget GET /{agent_id}", "GET /api/budget/{name}"},
}

// operations are all of the document, as METHOD PATH.
func operations(doc *huma.OpenAPI) (all []string) {
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete} {
			if op != nil {
				all = append(all, method+" "+path)
			}
		}
	}
	slices.Sort(all)
	return all
}

// operation is the one that a request is for; empty: none of the document.
func operation(doc *huma.OpenAPI, method, path string) (found string) {
	for _, op := range operations(doc) {
		m, pattern, _ := strings.Cut(op, " ")
		if ok, _ := filepath.Match(wild(pattern), path); ok && m == method && (found == "" || pattern == path) {
			found = op
		}
	}
	return found
}

func TestSeedRoutes(t *testing.T) {
	all := operations(newWorld(t).doc)
	for _, r := range seedRoutes {
		if r.ours != "GET /api/ws" && !slices.Contains(all, r.ours) {
			t.Errorf("%s: there is no %s", r.seed, r.ours)
		}
	}
}

// tried are the operations that a request of these tests succeeded with. Tests of
// this package run one after the other.
type tried struct {
	doc *huma.OpenAPI
	ops map[string]bool
}

// scripts adds those that a script of the command line asks of a server at work.
func (tr *tried) scripts() error {
	files, err := filepath.Glob("../../cmd/cmux/testdata/script/*.txtar")
	if err != nil {
		return err
	}
	asks := regexp.MustCompile(`^http Token=yes (?:Until=\S+ )?([A-Z]+) '?(/api/[^' ]*)`)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		lines := strings.Split(string(b), "\n")
		for i, line := range lines {
			m := asks.FindStringSubmatch(line)
			// The line after it says that it succeeded, or what of the answer only then stands there.
			if m == nil || i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "stdout '") || regexp.MustCompile(`\^[45]\d\d `).MatchString(lines[i+1]) {
				continue
			}
			u, err := url.Parse(m[2])
			if err != nil {
				return err
			}
			tr.ops[operation(tr.doc, m[1], u.Path)] = true
		}
	}
	return nil
}

// untested are the operations that no test succeeds with.
func (tr *tried) untested() (all []string) {
	for _, op := range operations(tr.doc) {
		if !tr.ops[op] {
			all = append(all, op)
		}
	}
	return all
}

// note is told each request of a world and its status.
func (tr *tried) note(doc *huma.OpenAPI, r *http.Request, status int) {
	if tr.doc = doc; tr.ops == nil {
		tr.ops = make(map[string]bool)
	}
	if status == http.StatusOK || status == http.StatusCreated {
		tr.ops[operation(doc, r.Method, r.URL.Path)] = true
	}
}

func TestOrdersOfTasks(t *testing.T) {
	w := newWorld(t)
	w.must("POST", "/api/tasks", `{"title":"one"}`, nil)
	w.must("POST", "/api/tasks", `{"title":"two","backlog":true}`, nil)
	w.must("POST", "/api/tasks/t1/assign", `{"agent":"api"}`, nil)
	var v tasks.TaskView
	w.must("POST", "/api/tasks/t1/pause", `{"reason":"first another one"}`, &v)
	if v.Label != "paused (first another one)" || v.Reason != "first another one" {
		t.Errorf("%+v", v)
	}
	w.must("POST", "/api/tasks/t1/priority", `{"priority":"high"}`, &v)
	if v.Priority != "high" {
		t.Errorf("%+v", v)
	}
	w.must("POST", "/api/tasks/t1/done", `{"reason":"I did it"}`, &v)
	if v.Label != "done (override)" {
		t.Errorf("%+v", v)
	}
	w.must("POST", "/api/tasks/t2/take", "", &v)
	if v.Backlog {
		t.Errorf("%+v", v)
	}
}

// What is edited is checked as it stands, and written over what was read alone.
func TestGraph(t *testing.T) {
	w := newWorld(t)
	var text configfile.ConfigText
	w.must("GET", "/api/graph", "", &text)
	if text.There || text.Text != "" {
		t.Fatalf("%+v", text)
	}
	body := func(text, sum string) string {
		b, err := json.Marshal(map[string]string{"text": text, "sum": sum})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	check := func(text string) (c graphs.GraphCheck) {
		b, _ := json.Marshal(map[string]string{"text": text})
		w.must("POST", "/api/graph/check", string(b), &c)
		return c
	}
	const good = "session: shop\nagents:\n  - {name: web, task: x, depends_on: api}\n  - {name: api, task: x}\n"
	c := check(good)
	if len(c.Faults) != 0 || c.Session != "shop" || len(c.Nodes) != 2 || c.Nodes[0].Name != "api" || len(c.Waves) != 2 || c.Waves[1].Start[0] != "web" {
		t.Errorf("%+v", c)
	}
	c = check("session: shop\nagents:\n  - {name: web, task: x, depends_on: ap}\n  - {name: api, tusk: x}\n")
	if len(c.Faults) < 2 || c.Faults[0].Line != 3 || c.Faults[0].Column == 0 || c.Faults[1].Line != 4 || len(c.Nodes) != 0 {
		t.Errorf("%+v", c)
	}
	for _, bad := range []string{"", "{", "\x00", "agents: 7"} {
		if c := check(bad); len(c.Faults) == 0 {
			t.Errorf("%q: no fault", bad)
		}
	}
	w.must("PUT", "/api/graph", body(good, text.Sum), &text)
	if !text.There || text.Text != good {
		t.Errorf("%+v", text)
	}
	if err := os.WriteFile(filepath.Join(w.root, ".cmux-agents.yml"), []byte("session: mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, said := w.ask("PUT", "/api/graph", body("session: x\n", text.Sum)); code != 409 || !strings.Contains(said, "nothing was written") {
		t.Errorf("%d %s", code, said)
	}
	w.must("GET", "/api/graph", "", &text)
	if text.Text != "session: mine\n" {
		t.Errorf("%+v", text)
	}
	for _, path := range []string{"/api/graph/schema", "/api/config/schema"} {
		var s map[string]any
		if w.must("GET", path, "", &s); s["properties"] == nil {
			t.Errorf("%s: %v", path, s)
		}
	}
}

// Of many unread messages only the newest are listed, and all of them count.
func TestNeedsCountAll(t *testing.T) {
	w := newWorld(t)
	const many = 230
	for i := range many {
		w.must("POST", "/api/messages", fmt.Sprintf(`{"to":"user","subject":"number %d"}`, i), nil)
	}
	var l struct {
		Items []overview.Need
		Next  string
		Total int
	}
	w.must("GET", "/api/needs?limit=1000", "", &l)
	if len(l.Items) >= many || l.Total != many || l.Next != "" {
		t.Errorf("%d items, %d in all, next %q", len(l.Items), l.Total, l.Next)
	}
	w.must("POST", "/api/messages/"+l.Items[0].Name+"/read", "", nil)
	if w.must("GET", "/api/needs?limit=1", "", &l); l.Total != many-1 || l.Next == "" {
		t.Errorf("after one is read: %d in all, next %q", l.Total, l.Next)
	}
}

func TestNeeds(t *testing.T) {
	w := newWorld(t)
	w.must("POST", "/api/messages", `{"to":"user","subject":"look here"}`, nil)
	var l items[overview.Need]
	w.must("GET", "/api/needs", "", &l)
	if len(l.Items) != 1 || l.Items[0].Kind != overview.NeedMessage || l.Items[0].Text != "look here" || l.Items[0].Try != "cmux mailbox read "+l.Items[0].Name {
		t.Fatalf("%+v", l)
	}
	// Each names what helps, and that is there.
	if m, err := w.p.Letters().Read(t.Context(), l.Items[0].Name); err != nil || m.Subject != "look here" {
		t.Errorf("%+v %v", m, err)
	}
	// A run that cannot be read is no run in which nothing waits.
	const id = "20260301-115000.000-abc123"
	if err := os.MkdirAll(run.Dir(w.root, id), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run.Dir(w.root, id), "plan.json"), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Items = nil
	w.must("GET", "/api/needs", "", &l)
	if !slices.ContainsFunc(l.Items, func(n overview.Need) bool {
		return n.Kind == overview.NeedRun && n.Name == id && n.Text != "" && n.Try == "cmux agents status"
	}) {
		t.Errorf("%+v", l)
	}
	// Nor are incidents that cannot be read none, and they hide nothing else.
	rubbish := filepath.Join(w.root, ".cmux", incident.Name)
	if err := os.WriteFile(rubbish, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Items = nil
	w.must("GET", "/api/needs", "", &l)
	if len(l.Items) != 2 || !slices.ContainsFunc(l.Items, func(n overview.Need) bool {
		return n.Kind == overview.NeedFault && n.Name == "incidents" && strings.Contains(n.Text, "move the file away")
	}) {
		t.Errorf("%+v", l)
	}
	if err := os.Remove(rubbish); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(run.Dir(w.root, id)); err != nil {
		t.Fatal(err)
	}
	w.must("POST", "/api/tasks", `{"title":"stuck"}`, nil)
	book, err := task.OpenBook(w.root, w.p.Now, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := book.Change(t.Context(), func(*task.List) ([]task.Change, error) {
		return []task.Change{{Task: "t1", Saw: 1, Op: task.OpMove, By: task.Cmux, To: task.Assigned, Agent: "api"},
			{Task: "t1", Saw: 2, Op: task.OpMove, By: task.Cmux, To: task.Blocked, Reason: "no agent"}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	w.must("GET", "/api/needs", "", &l)
	if len(l.Items) != 1 || l.Items[0].Kind != overview.NeedTask || l.Items[0].Try != "cmux tasks show t1" {
		t.Fatalf("%+v", l)
	}
	var c overview.Case
	w.must("GET", "/api/needs/case?id="+url.QueryEscape(l.Items[0].ID), "", &c)
	if c.Task == nil || c.Task.Reason != "no agent" || c.Text != "stuck" {
		t.Errorf("%+v", c)
	}
	if code, said := w.ask("GET", "/api/needs/case?id=nothing", ""); code != 404 || !strings.Contains(said, "does not wait") {
		t.Errorf("%d %s", code, said)
	}
	var f struct {
		OK       bool
		Findings []finding.Finding
	}
	w.must("GET", "/api/doctor", "", &f)
	if len(f.Findings) == 0 {
		t.Error("doctor found nothing")
	}
	w.must("POST", "/api/login/logout-all", "", nil)
	w.must("POST", "/api/journal/reflection", `{"section":"ideas","text":"it went well"}`, nil)
	// A message that was given up is tried again.
	var sent letters.Sent
	w.must("POST", "/api/messages", `{"to":"api","subject":"never arrived"}`, &sent)
	post, err := mail.Open(w.root, w.p.Now)
	if err != nil {
		t.Fatal(err)
	}
	if code, text := w.ask("POST", "/api/messages/"+sent.ID+"/retry", ""); code != 409 {
		t.Errorf("%d %s", code, text)
	}
	if err := post.Box.Record(t.Context(), mailbox.Delivery{ID: sent.ID, To: "api", State: mailbox.Failed, Why: "it is gone", At: w.now}); err != nil {
		t.Fatal(err)
	}
	var again struct{ To []string }
	if w.must("POST", "/api/messages/"+sent.ID+"/retry", "", &again); !slices.Equal(again.To, []string{"api"}) {
		t.Errorf("%+v", again)
	}
}
