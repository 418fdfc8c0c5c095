package server

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/control/project"

	"github.com/coder/websocket"

	"time"

	"cmux/agents/control"
	"cmux/agents/platform/endpoint"
	"cmux/server/live"
	"cmux/signals"
)

// A person ends all logins: browsers are out at once, what they have open too, and
// stay out when the server starts again. A new link lets them in.
func TestLogOutAll(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	place, end := up(t, root)
	p := &control.Project{Project: project.Project{Caller: project.Caller{Dir: root, Now: time.Now, Person: true}, Root: root}}
	client, err := endpoint.Dial(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	// do asks as a browser does that has no name server.
	do := func(method, host, target string, cookie *http.Cookie) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, place.URL()+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Close = true
		r.Header.Set("Origin", "http://"+host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if cookie != nil {
			r.AddCookie(cookie)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	var secrets []string
	login := func() (host string, cookie *http.Cookie) {
		t.Helper()
		var link endpoint.Link
		if err := client.Post(t.Context(), endpoint.LinksPath, nil, &link); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(link.URL)
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, u.Query().Get("code"))
		all := do("GET", u.Host, u.RequestURI(), nil).Cookies()
		if len(all) != 1 {
			t.Fatalf("cookies %v", all)
		}
		return u.Host, all[0]
	}
	host, cookie := login()
	if r := do("GET", host, "/api/prefs", cookie); r.StatusCode != 200 {
		t.Fatal(r.Status)
	}
	c, _, err := websocket.Dial(t.Context(), place.URL()+live.Path, &websocket.DialOptions{Host: host, HTTPHeader: http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}, "Origin": {"http://" + host}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if err := p.Serving().EndLogins(t.Context()); err != nil {
		t.Fatal(err)
	}
	for err == nil { // the hello is still there
		_, _, err = c.Read(t.Context())
	}
	if t.Context().Err() != nil {
		t.Error("the websocket stays open")
	}
	if r := do("GET", host, "/api/prefs", cookie); r.StatusCode != 401 {
		t.Errorf("the session after it: %s", r.Status)
	}
	again, fresh := login()
	if r := do("GET", again, "/api/prefs", fresh); r.StatusCode != 200 {
		t.Errorf("a new session: %s", r.Status)
	}
	end()
	if err := p.Serving().EndLogins(t.Context()); err != nil { // while there is no server
		t.Fatal(err)
	}
	place, end = up(t, root)
	defer end()
	for _, one := range []*http.Cookie{cookie, fresh} {
		if r := do("GET", again, "/api/prefs", one); r.StatusCode != 401 {
			t.Errorf("a session of before: %s", r.Status)
		}
	}
	token, err := endpoint.Token(root)
	if err != nil {
		t.Fatal(err)
	}
	private(t, root, append(secrets, token, cookie.Value, fresh.Value))
}

// private holds each file of a project to be its owner's alone, and none but those
// made for it to hold a secret.
func private(t *testing.T, root string, secrets []string) {
	t.Helper()
	seen := map[string]bool{}
	// A database at work comes and goes with files of its own.
	gone := func(err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := filepath.WalkDir(filepath.Join(root, ".cmux"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		rel, _ := filepath.Rel(root, path)
		info, err := d.Info()
		if err != nil {
			return gone(err)
		}
		seen[rel] = true
		if d.Name() == ".git" { // an empty repository, which keeps git clean out
			return fs.SkipDir
		}
		lock := strings.HasSuffix(rel, ".lock") || filepath.Dir(rel) == ".cmux/locks" // says who holds it, and nothing else
		if info.Mode().Perm()&0o077 != 0 && !d.IsDir() && !lock && rel != ".cmux/.gitignore" {
			t.Errorf("%s can be read by others: %v", rel, info.Mode())
		}
		if !info.Mode().IsRegular() || slices.Contains(endpoint.Secrets(root), path) && filepath.Base(path) != endpoint.File {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds a secret", rel)
			}
		}
		return gone(err)
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".cmux/token", ".cmux/logins", ".cmux/server.json", ".cmux/conversations.db", ".cmux/tasks.db", ".cmux/server.log"} {
		if !seen[want] {
			t.Errorf("there is no %s", want)
		}
	}
}
