package api_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/control/rooms"
	"cmux/agents/room"
	"cmux/server/login"
)

// A file is uploaded, then said; it is downloaded as it was, and no browser shows it as a page.
func TestRoomFiles(t *testing.T) {
	w := withRooms(t)
	const one, kind = "/api/rooms/design", "Content-Type: application/octet-stream"
	w.must("POST", "/api/rooms", `{"name":"design","members":["scripted=ann"]}`, nil)
	const page = "<script>alert(1)</script>"
	upload := func(name, data string) (f room.File) {
		t.Helper()
		code, text := w.ask("POST", one+"/files?name="+name, data, kind)
		if code != 201 {
			t.Fatalf("%s: %d %s", name, code, text)
		}
		w.valid("POST", one+"/files", code, text)
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := upload("..%2F%0A%1B%5B2Ja%20%22%C3%BC.html", page)
	if f.Name != "___2Ja__ü.html" || f.Size != int64(len(page)) {
		t.Errorf("%+v", f)
	}
	w.refused("GET", one+"/files/"+f.File, "", 404, "no message of the room design has attached")
	var said rooms.Said
	w.must("POST", one+"/messages", `{"text":"see","key":"k","files":["`+f.File+`"]}`, &said)
	w.must("POST", one+"/messages", `{"text":"see","key":"k","files":["`+f.File+`"]}`, &said)
	var l items[rooms.Message]
	if w.must("GET", one+"/messages", "", &l); len(l.Items) != 1 || len(l.Items[0].Files) != 1 || l.Items[0].Files[0] != f || said.Note != "" {
		t.Errorf("%+v %+v", l, said)
	}
	r := httptest.NewRequest("GET", "http://127.0.0.1:8420"+one+"/files/"+strings.ReplaceAll(f.File, "ü", "%C3%BC"), nil)
	r.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	w.gate.ServeHTTP(rec, r)
	covered.note(w.doc, r, rec.Code)
	for k, want := range map[string]string{
		"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
		"Content-Disposition":     "attachment; filename*=utf-8''___2Ja__%C3%BC.html",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
	} {
		if got := rec.Header().Get(k); got != want {
			t.Errorf("%s is %q, and not %q", k, got, want)
		}
	}
	if rec.Code != 200 || rec.Body.String() != page {
		t.Errorf("%d %q", rec.Code, rec.Body)
	}
	// As large as may be, and larger: its name is told.
	large := strings.Repeat("x", rooms.MaxFile)
	if upload("large", large).Size != rooms.MaxFile {
		t.Error("a large file is cut")
	}
	if login.MaxUpload <= rooms.MaxFile {
		t.Error("a file that is too large is not told by its name")
	}
	for _, c := range []struct {
		target, body string
		status       int
		says         string
	}{
		{one + "/files?name=large", large + "x", 400, "large is larger than 10.0 MB"},
		{one + "/files?name=larger", strings.Repeat("x", login.MaxUpload+1), 413, ""},
		{one + "/files?name=empty", "", 400, "request body is required"},
		{one + "/files", "x", 422, "name"},
		{"/api/rooms/nobody/files?name=x", "x", 404, "cmux rooms list"},
		{one + "/messages", `{"text":"x","files":["0123456789abcdef-no"]}`, 400, "attach it again"},
		{one + "/messages", `{"text":"x","files":["../room.jsonl"]}`, 400, "names no file"},
		{one + "/messages", `{"text":"x","attach":["/etc/passwd"]}`, 422, "attach"},
		{one + "/cost", strings.Repeat("x", login.MaxBody+1), 413, ""}, // elsewhere a body is as small as before
	} {
		if code, text := w.ask("POST", c.target, c.body, kind); strings.HasPrefix(c.body, "{") || strings.Contains(c.target, "/cost") {
			w.refused("POST", c.target, c.body, c.status, c.says)
		} else if code != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s; want %d with %q", c.target, code, text, c.status, c.says)
		}
	}
	for _, path := range []string{"..%2Froom.jsonl", "0123456789abcdef-no", "%2Fetc%2Fpasswd"} {
		w.refused("GET", one+"/files/"+path, "", 404, "")
	}
	if code, text := w.ask("POST", one+"/files?name=x", "x", kind, "Origin: http://evil.example"); code != 403 {
		t.Errorf("another page uploads: %d %s", code, text)
	}
	if code, _ := w.ask("POST", one+"/files?name=x", "x", kind, "Authorization: none"); code != 401 {
		t.Errorf("nobody uploads: %d", code)
	}
	// What was changed since is not handed out.
	if err := os.WriteFile(filepath.Join(w.root, ".cmux", "rooms", "design", "files", f.File), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.refused("GET", one+"/files/"+strings.ReplaceAll(f.File, "ü", "%C3%BC"), "", 404, "was changed since")
}
