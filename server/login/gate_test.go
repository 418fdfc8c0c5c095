package login

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"cmux/agents/platform/endpoint"
	"cmux/agents/platform/settings"
)

const port = 8420

// house is a gate in front of a handler that says how it was reached.
type house struct {
	t    *testing.T
	keys *Keys
	gate *Gate
	now  time.Time
}

func newHouse(t *testing.T) *house {
	h := &house{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	h.keys = NewKeys(strings.Repeat("ab", 32), "p1", func() time.Time { return h.now })
	h.gate = NewGate(h.keys, port, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("inside " + How(r.Context())))
	}))
	return h
}

// ask sends a request to the host of browsers: METHOD URL, then headers as
// KEY: VALUE. A cookie that is set goes along when session says so.
func (h *house) ask(session bool, line string, headers ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	method, target, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, "http://"+h.keys.Host(port)+target, nil)
	if session {
		r.AddCookie(h.keys.session())
	}
	for _, kv := range headers {
		k, v, _ := strings.Cut(kv, ": ")
		if k == "Host" {
			r.Host = v
		} else {
			r.Header.Add(k, v)
		}
	}
	w := httptest.NewRecorder()
	h.gate.ServeHTTP(w, r)
	return w
}

func TestGate(t *testing.T) {
	token := "Authorization: Bearer " + strings.Repeat("ab", 32)
	page := newHouse(t).keys.Host(port)
	own, other := "Origin: http://"+page, "Origin: http://127.0.0.1:9999"
	for _, c := range []struct {
		name    string
		session bool
		line    string
		headers []string
		want    int
	}{
		{"nothing", false, "GET /api/tasks", nil, 401},
		{"nothing, to change something", false, "POST /api/tasks", nil, 401},
		{"the token", false, "GET /api/tasks", []string{token}, 200},
		{"the token changes something", false, "POST /api/tasks", []string{token}, 200},
		{"another token", false, "GET /api/tasks", []string{"Authorization: Bearer " + strings.Repeat("ac", 32)}, 401},
		{"no token at all", false, "GET /api/tasks", []string{"Authorization: Bearer "}, 401},
		{"another scheme", false, "GET /api/tasks", []string{"Authorization: Basic " + strings.Repeat("ab", 32)}, 401},
		{"a token in the address", false, "GET /api/tasks?token=" + strings.Repeat("ab", 32), nil, 401},
		{"a session", true, "GET /", nil, 200},
		{"a session changes something", true, "POST /api/tasks", []string{own}, 200},
		{"localhost", true, "POST /api/tasks", []string{"Host: localhost:8420", "Origin: http://localhost:8420"}, 403},
		{"a session at localhost", true, "GET /", []string{"Host: localhost:8420"}, 401},
		{"a session at 127.0.0.1", true, "GET /api/tasks", []string{"Host: 127.0.0.1:8420"}, 401},
		{"a session at 127.0.0.1 that changes something", true, "POST /api/tasks", []string{"Host: 127.0.0.1:8420", own}, 401},
		{"a page at 127.0.0.1", true, "POST /api/tasks", []string{"Origin: http://127.0.0.1:8420"}, 403},
		{"the token at 127.0.0.1", false, "POST /api/tasks", []string{token, "Host: 127.0.0.1:8420"}, 200},
		{"the token at localhost", false, "GET /api/tasks", []string{token, "Host: localhost:8420"}, 200},
		{"another name below localhost", true, "GET /", []string{"Host: cmux-p1.localhost:8420"}, 421},
		{"its name at another port", true, "GET /", []string{"Host: " + strings.Replace(page, "8420", "3000", 1)}, 421},
		{"a session that does not say from where", true, "POST /api/tasks", nil, 403},
		{"a page of another port", true, "POST /api/tasks", []string{other}, 403},
		{"a page of another site", true, "POST /api/tasks", []string{"Origin: https://evil.example"}, 403},
		{"a page without an origin", true, "POST /api/tasks", []string{"Origin: null"}, 403},
		{"two origins", true, "POST /api/tasks", []string{own, other}, 403},
		{"an origin that begins like ours", true, "POST /api/tasks", []string{own + ".evil.example"}, 403},
		{"an origin with a user", true, "POST /api/tasks", []string{own + "@evil.example"}, 403},
		{"the token from a foreign page", false, "POST /api/tasks", []string{token, other}, 403},
		{"sent by another port, as the browser says", true, "DELETE /api/agents/a", []string{own, "Sec-Fetch-Site: same-site"}, 403},
		{"read by another site", true, "GET /api/tasks", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"embedded by another port", true, "GET /", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403},
		{"a link that leads here", true, "GET /", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 200},
		{"a websocket of ours", true, "GET /api/ws", []string{"Upgrade: websocket", own}, 200},
		{"a websocket of another site", true, "GET /api/ws", []string{"Upgrade: websocket", other}, 403},
		{"a websocket from nowhere", true, "GET /api/ws", []string{"Upgrade: websocket"}, 403},
		{"a websocket of a program", false, "GET /api/ws", []string{"Upgrade: websocket", token}, 200},
		{"a name that was pointed here", false, "GET /api/tasks", []string{token, "Host: evil.example:8420"}, 421},
		{"another port", false, "GET /api/tasks", []string{token, "Host: 127.0.0.1:8421"}, 421},
		{"no port", false, "GET /api/tasks", []string{token, "Host: 127.0.0.1"}, 421},
		{"the identity under another name", false, "GET /api/webhooks/health", []string{"Host: evil.example"}, 421},
		{"the identity", false, "GET /api/webhooks/health", nil, 200},
		{"a webhook", false, "POST /api/webhooks/ci", nil, 200},
		{"a webhook's other routes", false, "POST /api/webhooks/ci/x", nil, 401},
		{"a webhook is sent", false, "GET /api/webhooks/ci", nil, 401},
		{"the identity is read", false, "POST /api/webhooks/health/", nil, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			w := h.ask(c.session, c.line, c.headers...)
			if w.Code != c.want {
				t.Errorf("%d, want %d: %s", w.Code, c.want, w.Body)
			}
			if (w.Code == 200) != strings.HasPrefix(w.Body.String(), "inside") {
				t.Errorf("%d, and the answer is %q", w.Code, w.Body)
			}
			if w.Header().Get("X-Frame-Options") != "DENY" || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("unprotected: %v", w.Header())
			}
			if problem := strings.Contains(c.line, " /api/") && w.Code != 200; problem && w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("no problem: %v", w.Header())
			}
		})
	}
}

// Browsers send a cookie to every port of the host that set it. The one that sets
// the session's is none that another program has, nor can one know its name.
func TestSessionsAreOfTheirOwnHost(t *testing.T) {
	h := newHouse(t)
	name, at, _ := strings.Cut(h.keys.Host(port), ":")
	if !strings.HasSuffix(name, ".localhost") || at != "8420" || strings.Contains(name, "p1") || len(name) > 63 {
		t.Errorf("the host is %s", h.keys.Host(port))
	}
	if again := newHouse(t).keys.Host(port); again != h.keys.Host(port) {
		t.Errorf("it changes: %s", again)
	}
	if other := NewKeys(strings.Repeat("ac", 32), "p1", h.keys.now).Host(port); other == h.keys.Host(port) {
		t.Error("it can be known without the token")
	}
	if c := h.keys.session(); c.Domain != "" {
		t.Errorf("hosts below get it as well: %v", c)
	}
	code := h.keys.NewLink()
	for _, host := range []string{"127.0.0.1:8420", "localhost:8420"} {
		w := h.ask(false, "GET /login?code="+url.QueryEscape(code), "Host: "+host)
		if w.Code != http.StatusMisdirectedRequest || len(w.Result().Cookies()) > 0 || strings.Contains(w.Body.String(), name) {
			t.Errorf("a link at %s: %d %s", host, w.Code, w.Body)
		}
	}
	if w := h.ask(false, "GET /login?code="+url.QueryEscape(code)); w.Code != 200 {
		t.Errorf("the link at its host: %d", w.Code)
	}
}

func TestSessionsEnd(t *testing.T) {
	h := newHouse(t)
	good := h.keys.session()
	try := func(c *http.Cookie) int {
		return h.ask(false, "GET /", "Cookie: "+c.Name+"="+c.Value).Code
	}
	if !good.HttpOnly || good.SameSite != http.SameSiteStrictMode || try(good) != 200 {
		t.Fatalf("%v: %d", good, try(good))
	}
	forged := *good
	forged.Value = "9" + forged.Value
	if try(&forged) != 401 {
		t.Error("a session that was made to last longer counts")
	}
	for _, value := range []string{"", ".", "..", "9999999999", "9999999999.x.", strings.Repeat(".", 1000)} {
		if try(&http.Cookie{Name: good.Name, Value: value}) != 401 {
			t.Errorf("%q is a session", value)
		}
	}
	other := NewKeys(strings.Repeat("ab", 32), "p2", h.keys.now).session()
	if try(&http.Cookie{Name: good.Name, Value: other.Value}) != 401 {
		t.Error("a session of another project counts")
	}
	h.now = h.now.Add(sessionLife - time.Second)
	if try(good) != 200 {
		t.Error("it ended too soon")
	}
	h.now = h.now.Add(time.Second)
	if try(good) != 401 {
		t.Error("it does not end")
	}
}

func TestLinksAreUsedOnceAndSoon(t *testing.T) {
	h := newHouse(t)
	trade := func(code string) *httptest.ResponseRecorder {
		return h.ask(false, "GET /login?code="+url.QueryEscape(code), "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
	}
	code := h.keys.NewLink()
	w := trade(code)
	if w.Code != 200 || strings.Contains(w.Body.String(), code) || w.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	c := w.Result().Cookies()
	if len(c) != 1 || h.ask(false, "GET /", "Cookie: "+c[0].Name+"="+c[0].Value).Code != 200 {
		t.Errorf("the link gave %v", c)
	}
	if w := trade(code); w.Code != 401 || len(w.Result().Cookies()) > 0 || !strings.Contains(w.Body.String(), "cmux open") {
		t.Errorf("used twice: %d %s", w.Code, w.Body)
	}
	back := h.keys.NewLink()
	noon := h.now
	h.now = noon.Add(-time.Hour)
	if trade(back).Code != 401 {
		t.Error("a clock that was set back makes links last")
	}
	late := h.keys.NewLink()
	h.now = h.now.Add(LinkLife)
	for _, code := range []string{late, "", "x"} {
		if trade(code).Code != 401 {
			t.Errorf("%q is good", code)
		}
	}
	first := h.keys.NewLink()
	for range maxLinks {
		code = h.keys.NewLink()
	}
	if trade(first).Code != 401 || trade(code).Code != 200 {
		t.Error("of too many links the oldest goes")
	}
}

// Who is not logged in cannot keep who is from being answered, nor the monitor.
func TestFloods(t *testing.T) {
	h := newHouse(t)
	h.gate.known.SetLimit(0) // however long this takes
	h.gate.unknown.SetLimit(0)
	refused := 0
	for range 300 {
		if h.ask(false, "GET /api/tasks").Code == 429 {
			refused++
		}
	}
	if refused != 200 {
		t.Errorf("%d of 300 were refused", refused)
	}
	if h.ask(true, "GET /api/tasks").Code != 200 || h.ask(false, "GET "+endpoint.HealthPath).Code != 200 {
		t.Error("the person is refused as well")
	}
	refused = 0
	for range 900 { // and one was asked already
		if w := h.ask(true, "GET /api/tasks"); w.Code == 429 {
			refused++
		}
	}
	if refused != 401 {
		t.Errorf("%d of 900 of the person's were refused", refused)
	}
}

// Pages at hosts that the person trusts are the dashboard's: browsers log in there.
// Every other host is refused, and the answer says what was expected, what came and
// what a person can do, but not the name of the page, which is a secret.
func TestTrustedHosts(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted []string
		line    string
		headers []string
		want    int
	}{
		{"a forwarded port", []string{"http://localhost:9000"}, "GET /api/tasks", []string{"Host: localhost:9000"}, 200},
		{"a change from its page", []string{"http://localhost:9000"}, "POST /api/tasks", []string{"Host: localhost:9000", "Origin: http://localhost:9000"}, 200},
		{"a websocket of its page", []string{"http://localhost:9000"}, "GET /api/ws", []string{"Host: localhost:9000", "Upgrade: websocket", "Origin: http://localhost:9000"}, 200},
		{"a tunnel with TLS", []string{"https://x-8420.app.github.dev"}, "POST /api/tasks", []string{"Host: x-8420.app.github.dev", "Origin: https://x-8420.app.github.dev"}, 200},
		{"a tunnel that sends another host", []string{"https://x-8420.app.github.dev", "http://localhost:8420"}, "POST /api/tasks", []string{"Host: localhost:8420", "Origin: https://x-8420.app.github.dev"}, 200},
		{"without TLS it is another page", []string{"https://x-8420.app.github.dev"}, "POST /api/tasks", []string{"Host: x-8420.app.github.dev", "Origin: http://x-8420.app.github.dev"}, 403},
		{"a foreign page at a trusted host", []string{"http://localhost:9000"}, "POST /api/tasks", []string{"Host: localhost:9000", "Origin: http://localhost:9001"}, 403},
		{"a host below it", []string{"https://app.github.dev"}, "GET /", []string{"Host: evil.app.github.dev"}, 421},
		{"another port of it", []string{"http://localhost:9000"}, "GET /", []string{"Host: localhost:9001"}, 421},
		{"it without its port", []string{"http://localhost:9000"}, "GET /", []string{"Host: localhost"}, 421},
		{"a name that was pointed here", []string{"http://localhost:9000"}, "GET /api/tasks", []string{"Host: evil.example:9000"}, 421},
		{"it was trusted once", nil, "GET /api/tasks", []string{"Host: localhost:9000"}, 421},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			h.gate.Trust(func() []string { return c.trusted })
			if w := h.ask(true, c.line, c.headers...); w.Code != c.want {
				t.Errorf("%d, want %d: %s", w.Code, c.want, w.Body)
			}
		})
	}

	// The file that the answer names is the one that is read.
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if path, err := settings.Path(); err != nil || os.ExpandEnv(settings.Shown()) != path {
		t.Errorf("%s is shown, and %s is read: %v", settings.Shown(), path, err)
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	h := newHouse(t)
	var trusted []string
	h.gate.Trust(func() []string { return trusted })
	code := h.keys.NewLink()
	secret, _, _ := strings.Cut(h.keys.Host(port), ".")
	for _, path := range []string{"/login?code=" + url.QueryEscape(code), "/api/tasks"} {
		w := h.ask(false, "GET "+path, "Host: localhost:9000")
		body := html.UnescapeString(w.Body.String())
		for _, want := range []string{"localhost:9000", "port 8420", "~/.config/cmux/config.yml", "hosts: ["} {
			if w.Code != 421 || !strings.Contains(body, want) {
				t.Errorf("%s: %d, and %q is missing in %s", path, w.Code, want, body)
			}
		}
		if strings.Contains(body, secret) {
			t.Errorf("%s: the name of the page is told: %s", path, body)
		}
	}
	trusted = []string{"http://localhost:9000"} // the way out that the answer names
	w := h.ask(false, "GET /login?code="+url.QueryEscape(code), "Host: localhost:9000")
	if w.Code != 200 || len(w.Result().Cookies()) != 1 {
		t.Errorf("the link at the host: %d %s", w.Code, w.Body)
	}
}
