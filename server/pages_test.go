package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"cmux/agents/platform/endpoint"
	"cmux/signals"
)

// A person is shown the dashboard at each of its pages; who is not logged in sees
// neither it nor its files. The policies of all pages allow no inline script.
func TestDashboard(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	place, end := upWith(t, root, Options{Dashboard: fstest.MapFS{
		"index.html":             {Data: []byte(`<meta name="csp-nonce" content="x"/>the dashboard`)},
		"assets/app-12345678.js": {Data: []byte("let app")},
	}})
	defer end()
	token, err := endpoint.Token(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path string
		token        bool
		status       int
		has, policy  string
	}{
		{"GET", "/", true, 200, "the dashboard", "style-src 'self' 'nonce-"},
		{"GET", "/plain", true, 200, "<h2>Tasks</h2>", "style-src 'sha256-"},
		{"GET", "/runs/x/api", true, 200, "the dashboard", "script-src 'self';"},
		{"GET", "/assets/app-12345678.js", true, 200, "let app", "default-src 'none'; frame-ancestors"},
		{"GET", "/api/none", true, 404, `"status":404`, "default-src 'none'; frame-ancestors"},
		{"POST", "/", true, 404, "There is nothing here", "style-src 'sha256-"},
		{"GET", "/", false, 401, "You are not logged in", "style-src 'sha256-"},
		{"GET", "/assets/app-12345678.js", false, 401, "You are not logged in", "style-src 'sha256-"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, place.URL()+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html")
		if c.token {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		policy := resp.Header.Get("Content-Security-Policy")
		if resp.StatusCode != c.status || !strings.Contains(string(b), c.has) || !strings.Contains(policy, c.policy) || strings.Contains(policy, "unsafe") {
			t.Errorf("%s %s, token %v: %s, %s, %.200s", c.method, c.path, c.token, resp.Status, policy, b)
		}
	}
}
