package api_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/control/files"

	"cmux/agents/control/letters"
	"cmux/agents/control/overview"
	"cmux/agents/control/tasks"
	"cmux/agents/records/incident"
	"cmux/server/store"
)

type items[T any] struct {
	Items []T
	Next  string
}

func TestTasks(t *testing.T) {
	w := newWorld(t)
	var made tasks.TaskView
	for i := range 5 {
		w.must("POST", "/api/tasks", fmt.Sprintf(`{"title":"task %d","priority":"high"}`, i), &made)
	}
	if made.Label != "open" || made.CreatedBy != "user" {
		t.Errorf("%+v", made)
	}
	var seen []string
	for next := ""; ; {
		var l items[tasks.TaskView]
		w.must("GET", "/api/tasks?limit=2&cursor="+next, "", &l)
		for _, x := range l.Items {
			seen = append(seen, x.Title)
		}
		if next = l.Next; next == "" {
			break
		}
	}
	if got := strings.Join(seen, ", "); got != "task 0, task 1, task 2, task 3, task 4" {
		t.Errorf("pages hold %s", got)
	}
	one := "/api/tasks/" + made.ID
	w.must("POST", one+"/assign", `{"agent":"api"}`, &made)
	w.must("POST", one+"/cancel", `{"reason":"not needed"}`, &made)
	w.must("GET", one, "", &made)
	if made.Label != "cancelled" || made.Reason != "not needed" {
		t.Errorf("%+v", made)
	}
	w.must("GET", one+"/log", "", nil)
	for _, c := range []struct {
		method, target, body string
		want                 int
		says                 string
	}{
		{"GET", "/api/tasks/T-999", "", 404, "cmux tasks list"},
		{"GET", "/api/tasks?cursor=nonsense", "", 400, "the cursor does not belong"},
		{"GET", "/api/tasks?limit=0", "", 422, "limit"},
		{"GET", "/api/tasks?nonsense=1", "", 422, "nonsense"},
		{"POST", "/api/tasks", `{"title":""}`, 400, "title"},
		{"POST", "/api/tasks", `{"title":"x","nonsense":1}`, 422, "nonsense"},
		{"POST", "/api/tasks", `{"title":`, 400, ""},
		{"POST", "/api/tasks", `{"title":"` + strings.Repeat("x", 2<<20) + `"}`, 413, ""},
		{"POST", one + "/take", "", 409, "cmux tasks show"},
		{"POST", one + "/assign", `{"agent":"a b"}`, 400, "no agent"},
		{"POST", "/api/agents", `{"name":"api"}`, 409, "cmux start"},
		{"GET", "/api/agents/api", "", 409, "cmux start"},
		{"GET", "/api/sessions", "", 409, "cmux start"},
		{"POST", "/api/projects", `{"dir":"x"}`, 409, "cmux start"},
		{"GET", "/api/runs/none", "", 404, "no run"},
		{"GET", "/api/journal/days/yesterday", "", 400, "YYYY-MM-DD"},
		{"PUT", "/api/tasks", "", 405, ""},
		{"GET", "/api/nothing", "", 404, ""},
	} {
		code, text := w.ask(c.method, c.target, c.body)
		if code != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %s; want %d with %q", c.method, c.target, code, text, c.want, c.says)
		}
	}
}

func TestIncidents(t *testing.T) {
	w := newWorld(t)
	book, err := incident.OpenBook(w.root, func() time.Time { return w.now }, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := book.Open(t.Context(), "cmux", incident.Report{Kind: "agent", About: "w1", Title: "w1 is frozen", Note: incident.Note{Evidence: incident.Saw("no needle for 20m")}}); err != nil {
		t.Fatal(err)
	}
	var l items[incident.Incident]
	w.must("GET", "/api/incidents?about=w1", "", &l)
	if len(l.Items) != 1 || l.Items[0].Evidence[0].Text != "no needle for 20m" {
		t.Fatalf("%+v", l)
	}
	waits := func() (all []string) {
		var l items[overview.Need]
		w.must("GET", "/api/needs", "", &l)
		for _, n := range l.Items {
			all = append(all, n.Kind+": "+n.Text+", "+n.Try)
		}
		return all
	}
	if got := waits(); !slices.Equal(got, []string{"incident: w1 is frozen, cmux incidents show i1"}) {
		t.Errorf("%q wait", got)
	}
	var one incident.Incident
	w.must("POST", "/api/incidents/i1/ack", `{"note":"seen","close":true}`, nil)
	w.must("GET", "/api/incidents/i1", "", &one)
	if one.Label() != "closed, acked" || one.Ack != "seen" || one.ClosedBy != "user" {
		t.Errorf("%+v", one)
	}
	if got := waits(); len(got) > 0 {
		t.Errorf("%q wait: it is acknowledged", got)
	}
	if code, text := w.ask("GET", "/api/incidents/i9", ""); code != 404 || !strings.Contains(text, "cmux incidents list --all") {
		t.Errorf("%d %s", code, text)
	}
	if _, err := w.store.Ingest(t.Context()); err != nil {
		t.Fatal(err)
	}
	var events items[store.Event]
	w.must("GET", "/api/agent-events?source=incidents", "", &events)
	if len(events.Items) != 3 || events.Items[0].Kind != "incident" || events.Items[0].Unverified {
		t.Errorf("%+v", events)
	}
}

func TestMessages(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.must("POST", "/api/messages", fmt.Sprintf(`{"to":"user","subject":"note %d","body":"\u001b]0;x\u0007hello"}`, i), nil)
	}
	var l items[letters.Mail]
	w.must("GET", "/api/messages?limit=2", "", &l)
	if len(l.Items) != 2 || l.Items[0].Subject != "note 2" || !l.Items[0].Verified || l.Next == "" {
		t.Fatalf("%+v", l)
	}
	if raw, err := os.ReadFile(filepath.Join(w.root, ".cmux/mailbox")); err != nil || bytes.ContainsAny(raw, "\x1b\x07") {
		t.Errorf("the mailbox holds control characters: %q, %v", raw, err)
	}
	first := l.Items[0].ID
	next := l.Next
	l = items[letters.Mail]{}
	w.must("GET", "/api/messages?cursor="+next, "", &l)
	if len(l.Items) != 1 || l.Items[0].Subject != "note 0" || l.Next != "" {
		t.Errorf("%+v", l)
	}
	w.must("GET", "/api/messages/"+first, "", nil)
	w.must("GET", "/api/messages/inbox?waiting=true", "", &l)
	if len(l.Items) != 3 {
		t.Errorf("%d are unread", len(l.Items))
	}
	w.must("POST", "/api/messages/"+first+"/read", "", nil)
	w.must("GET", "/api/messages/inbox?waiting=true", "", &l)
	if len(l.Items) != 2 {
		t.Errorf("%d are unread when one was read", len(l.Items))
	}
	for body, want := range map[string]int{`{"to":"nobody here","subject":"x"}`: 400, `{"to":"user","subject":"[DONE] x"}`: 400, `{"to":"user","subject":"x","urgency":"now"}`: 422} {
		if code, text := w.ask("POST", "/api/messages", body); code != want {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
}

func TestTheRest(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/api/agents", "/api/heartbeat", "/api/runs", "/api/journal", "/api/prefs", "/api/webhooks/health?challenge=x", "/api/webhooks/ci/secret", "/api/agent-events", "/api/thoughts"} {
		w.must("GET", path, "", nil)
	}
	w.must("POST", "/api/journal/entry", `{"title":"it works","text":"since noon","tags":["api"]}`, nil)
	w.must("GET", "/api/journal/days/"+w.now.Format(time.DateOnly), "", nil)
	w.must("GET", "/api/journal/search?q=noon", "", nil)
	w.must("GET", "/api/journal/reflection", "", nil)
	w.must("PATCH", "/api/prefs", `{"theme":"dark","old":1}`, nil)
	var prefs map[string]any
	w.must("PATCH", "/api/prefs", `{"old":null}`, &prefs)
	if fmt.Sprint(prefs) != "map[theme:dark]" {
		t.Errorf("%v", prefs)
	}
	w.must("POST", "/api/login/links", "", nil)
	w.must("POST", "/api/tasks", `{"title":"look for a needle"}`, nil)
	if _, err := w.store.Ingest(t.Context()); err != nil {
		t.Fatal(err)
	}
	var events items[store.Event]
	w.must("GET", "/api/agent-events?source=tasks", "", &events)
	if len(events.Items) != 1 {
		t.Fatalf("%+v", events)
	}
	w.must("GET", fmt.Sprintf("/api/agent-events/%d", events.Items[0].Seq), "", nil)
	var hits items[store.Hit]
	w.must("GET", "/api/search?q=needle", "", &hits)
	if len(hits.Items) != 1 {
		t.Errorf("%+v", hits)
	}
}

// What lies outside of the project, and what is secret in it, is not shown,
// whatever leads there.
func TestFilesystem(t *testing.T) {
	w := newWorld(t)
	outside := filepath.Join(t.TempDir(), "passwd")
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(rel string) string { return filepath.Join(w.root, rel) }
	write(outside, "secret")
	write(in("src/main.go"), "package main\n")
	write(in("bin"), "\x00\x01")
	write(in("big"), strings.Repeat("é", 1<<20))
	write(in(".cmux/token"), "secret")
	write(in(".cmux/runs/r1/env"), "secret")
	write(in(".cmux/journal/2026-03-01/journal.md"), "# day\n")
	write(in(".git/config"), "secret")
	write(in("sub/.git/config"), "secret")
	for name, to := range map[string]string{"away": outside, "up": "..", "token": ".cmux/token", "git": ".git", "loop": "loop", "fine": "src/main.go", "dir": "src"} {
		if err := os.Symlink(to, in(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(in("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"src/main.go": "package main\n", "fine": "package main\n", "dir/main.go": "package main\n", "bin": "", ".cmux/journal/2026-03-01/journal.md": "# day\n", "src/../src/main.go": "package main\n",
	} {
		var f files.FileText
		w.must("GET", "/api/filesystem/file?path="+path, "", &f)
		if f.Text != want || f.Binary != (path == "bin") {
			t.Errorf("%s: %+v", path, f)
		}
	}
	var big files.FileText
	w.must("GET", "/api/filesystem/file?path=big", "", &big)
	if !big.Cut || len(big.Text) < 1<<20-4 || len(big.Text) > 1<<20 {
		t.Errorf("a large file: cut %v, %d bytes", big.Cut, len(big.Text))
	}
	for _, path := range []string{
		"away", "up", "up/passwd", "token", "git/config", "loop", "../passwd", "/etc/passwd", "..", "src/../../passwd", ".cmux/token", ".cmux/./token", ".cmux/journal/../token", ".CMUX/token",
		".cmux/runs/r1/env", ".git/config", ".GIT/config", "sub/.git/config", "none", "fifo", "src%00", "%2e%2e/passwd", "src", "..%2fpasswd",
	} {
		code, text := w.ask("GET", "/api/filesystem/file?path="+path, "")
		if code != 404 && code != 400 || strings.Contains(text, "secret") && !strings.Contains(path, "secret") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	var l items[files.FileEntry]
	w.must("GET", "/api/filesystem", "", &l)
	var names []string
	for _, e := range l.Items {
		names = append(names, e.Name+" "+e.Kind)
	}
	if got := strings.Join(names, ", "); got != ".cmux folder, src folder, sub folder, away link, big file, bin file, dir link, fifo other, fine link, git link, loop link, token link, up link" {
		t.Errorf("the root holds %s", got)
	}
	w.must("GET", "/api/filesystem?path=.cmux", "", &l)
	if len(l.Items) != 1 || l.Items[0].Name != "journal" {
		t.Errorf("of .cmux is shown %+v", l.Items)
	}
	for _, path := range []string{"..", "up", ".git", ".cmux/runs", "/"} {
		if code, text := w.ask("GET", "/api/filesystem?path="+path, ""); code != 404 {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
}

// A webhook is taken once, when it is signed with its source's secret, and soon.
func TestWebhooks(t *testing.T) {
	w := newWorld(t)
	var s struct{ URL, Secret string }
	w.must("GET", "/api/webhooks/ci/secret", "", &s)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s.Secret, "whsec_"))
	if err != nil || !strings.HasSuffix(s.URL, "/api/webhooks/ci") {
		t.Fatal(s, err)
	}
	sign := func(id string, at time.Time, body string) []string {
		m := hmac.New(sha256.New, key)
		fmt.Fprintf(m, "%s.%d.%s", id, at.Unix(), body)
		return []string{"Authorization: none", "webhook-id: " + id, fmt.Sprintf("webhook-timestamp: %d", at.Unix()),
			"webhook-signature: v1,AAAA v1," + base64.StdEncoding.EncodeToString(m.Sum(nil))}
	}
	const body = `{"type":"build.failed\u001b[31m","url":"x"}`
	count := func() int {
		t.Helper()
		var l items[letters.Mail]
		w.must("GET", "/api/messages?from=webhook:ci", "", &l)
		for _, m := range l.Items {
			if m.To != "supervisor" || !m.Verified || m.Subject != "webhook ci: build.failed[31m" && m.Subject != "webhook ci: build.failed [31m" {
				t.Errorf("%+v", m)
			}
		}
		return len(l.Items)
	}
	good := sign("1", w.now, body)
	for range 2 { // sent again, it is the same
		if code, text := w.ask("POST", "/api/webhooks/ci", body, good...); code != 200 || count() != 1 {
			t.Fatalf("%d %s, and there are %d", code, text, count())
		}
	}
	old := w.now
	for name, c := range map[string]struct {
		target, body string
		headers      []string
	}{
		"another body":           {"/api/webhooks/ci", `{"type":"x"}`, good},
		"another source":         {"/api/webhooks/cd", body, good},
		"another id":             {"/api/webhooks/ci", body, append(sign("1", old, body), "webhook-id: 2")},
		"another time":           {"/api/webhooks/ci", body, append(sign("2", old, body), fmt.Sprintf("webhook-timestamp: %d", old.Unix()+1))},
		"no signature that fits": {"/api/webhooks/ci", body, append(sign("2", old, body), "webhook-signature: v1,AAAA v2,x x")},
		"too old":                {"/api/webhooks/ci", body, sign("2", old.Add(-6*time.Minute), body)},
		"from the future":        {"/api/webhooks/ci", body, sign("2", old.Add(6*time.Minute), body)},
	} {
		if code, text := w.ask("POST", c.target, c.body, c.headers...); code != 401 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if code, text := w.ask("POST", "/api/webhooks/ci", body, "Authorization: none"); code != 422 {
		t.Errorf("unsigned: %d %s", code, text)
	}
	if code, _ := w.ask("POST", "/api/webhooks/..", body, good...); code == 200 {
		t.Error("an invalid source")
	}
	if count() != 1 {
		t.Errorf("%d were taken", count())
	}
	if b, err := json.Marshal(s); err == nil && strings.Contains(string(b), token) {
		t.Error("the secret of a source tells the token")
	}
}
