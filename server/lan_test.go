package server

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/platform/endpoint"
	"cmux/server/login"
	"cmux/signals"
)

// outside is a listener of the local network and a browser there.
type outside struct {
	t    *testing.T
	net  *network
	lan  endpoint.LAN
	host string
	now  atomic.Int64 // what was added to the clock
}

func newOutside(t *testing.T) *outside {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	o := &outside{t: t}
	o.net = newNetwork(root, 0, func() time.Time { return time.Now().Add(time.Duration(o.now.Load())) }, log.New(io.Discard))
	s := &site{log: log.New(io.Discard)}
	o.net.serve(func(gate http.Handler, open *conns) *http.Server { return s.httpServer(t.Context(), gate, open) },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "inside "+login.How(r.Context())) }))
	t.Cleanup(o.net.end)
	o.open()
	return o
}

func (o *outside) open() {
	o.t.Helper()
	var err error
	if o.lan, err = o.net.Open("127.0.0.1"); err != nil {
		o.t.Fatal(err)
	}
	u, err := url.Parse(o.lan.URL)
	if err != nil {
		o.t.Fatal(err)
	}
	o.host = u.Host
}

// ask sends a request with headers as KEY: VALUE; a form is sent when it is not empty.
func (o *outside) ask(method, path, form string, cookie *http.Cookie, headers ...string) (*http.Response, string) {
	o.t.Helper()
	r, err := http.NewRequestWithContext(o.t.Context(), method, "https://"+o.host+path, strings.NewReader(form))
	if err != nil {
		o.t.Fatal(err)
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, kv := range headers {
		k, v, _ := strings.Cut(kv, ": ")
		if k == "Host" {
			r.Host = v
		} else {
			r.Header.Set(k, v)
		}
	}
	if cookie != nil {
		r.AddCookie(cookie)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := c.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return resp, string(b)
}

// code is the one that the terminal shows.
func (o *outside) code() string {
	lan, ok := o.net.Renew(o.lan.Lease)
	if !ok {
		o.t.Fatal("it is closed")
	}
	return lan.Code
}

func (o *outside) pair(code string, headers ...string) (int, *http.Cookie) {
	o.t.Helper()
	resp, _ := o.ask("POST", login.PairPath, "code="+url.QueryEscape(code), nil, append([]string{"Origin: https://" + o.host}, headers...)...)
	if c := resp.Cookies(); len(c) == 1 {
		return resp.StatusCode, c[0]
	}
	return resp.StatusCode, nil
}

func TestPairing(t *testing.T) {
	o := newOutside(t)
	resp, body := o.ask("GET", login.PairPath, "", nil)
	if resp.StatusCode != 200 || !strings.Contains(body, `<form method="post" action="/pair">`) || resp.Header.Get("Referrer-Policy") != "same-origin" ||
		!strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") {
		t.Errorf("%s %v %s", resp.Status, resp.Header, body)
	}
	code := o.code()
	for name, headers := range map[string][]string{
		"another host":   {"Host: evil.example"},
		"another port":   {"Host: 127.0.0.1:1"},
		"another site":   {"Origin: https://evil.example"},
		"plain http":     {"Origin: http://" + o.host},
		"no origin":      {"Origin: null"},
		"no origin said": {"Origin: "},
		"another port's": {"Sec-Fetch-Site: same-site"},
	} {
		if status, c := o.pair(code, headers...); status != 403 && status != 421 || c != nil {
			t.Errorf("%s: %d", name, status)
		}
	}
	if resp, _ := o.ask("POST", login.PairPath+"?code="+code, "x=y", nil, "Origin: https://"+o.host); resp.StatusCode != 401 {
		t.Errorf("a code in the address: %s", resp.Status)
	}
	status, cookie := o.pair(strings.ToLower(strings.ReplaceAll(code, "-", " ")))
	if status != 200 || cookie == nil || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Domain != "" || cookie.MaxAge != 12*3600 {
		t.Fatalf("%d %v", status, cookie)
	}
	if resp, body := o.ask("GET", "/", "", cookie); resp.StatusCode != 200 || body != "inside pairing" {
		t.Errorf("%s %s", resp.Status, body)
	}
	for name, c := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"a change":                    {"POST", "/api/tasks", []string{"Origin: https://" + o.host}, 200},
		"a change of another site":    {"POST", "/api/tasks", []string{"Origin: https://evil.example"}, 403},
		"a change from nowhere":       {"POST", "/api/tasks", nil, 403},
		"a websocket of another site": {"GET", "/api/ws", []string{"Upgrade: websocket", "Origin: https://evil.example"}, 403},
		"another host":                {"GET", "/api/tasks", []string{"Host: localhost"}, 421},
		"a link to the machine":       {"POST", endpoint.LinksPath, []string{"Origin: https://" + o.host}, 403},
		"another listener":            {"POST", endpoint.LANPath, []string{"Origin: https://" + o.host}, 403},
	} {
		if resp, body := o.ask(c.method, c.path, "", cookie, c.headers...); resp.StatusCode != c.want {
			t.Errorf("%s: %s %s", name, resp.Status, body)
		}
	}
	if status, c := o.pair(code); status != 401 || c != nil {
		t.Errorf("the code again: %d", status)
	}
	for path, want := range map[string]int{"/": 401, "/api/tasks": 401, endpoint.HealthPath: 401, "/login": 401} {
		if resp, body := o.ask("GET", path, "", nil); resp.StatusCode != want || strings.Contains(body, "inside") {
			t.Errorf("%s for anybody: %s", path, resp.Status)
		}
	}
	o.now.Add(int64(login.PairedLife))
	if resp, _ := o.ask("GET", "/", "", cookie); resp.StatusCode != 401 {
		t.Errorf("after its end: %s", resp.Status)
	}
}

func TestPairingCodesEnd(t *testing.T) {
	o := newOutside(t)
	code := o.code()
	o.now.Add(int64(login.CodeLife))
	if status, _ := o.pair(code); status != 401 {
		t.Errorf("an old code: %d", status)
	}
	if again := o.code(); again == code {
		t.Error("there is no new one")
	}
	code = o.code()
	for range 5 {
		if status, _ := o.pair("AAAA-AAAA"); status != 401 {
			t.Errorf("a guess: %d", status)
		}
	}
	if status, _ := o.pair(code); status != 401 {
		t.Errorf("the code after too many guesses: %d", status)
	}
	if o.code() == code {
		t.Error("the code stays after too many guesses")
	}
	limited := false
	for range 12 {
		status, _ := o.pair("AAAA-AAAA")
		limited = limited || status == 429
	}
	if !limited {
		t.Error("guesses are not limited")
	}
	o.now.Add(int64(time.Minute))
	_, cookie := o.pair(o.code())
	if cookie == nil {
		t.Fatal("the new code pairs nobody")
	}
	o.net.logOut(context.Background())
	if resp, _ := o.ask("GET", "/", "", cookie); resp.StatusCode != 401 {
		t.Errorf("after logout-all: %s", resp.Status)
	}
	// The cookie is not valid at the next listener either.
	_, cookie = o.pair(o.code())
	if _, err := o.net.Open("127.0.0.1"); err == nil {
		t.Error("there are two listeners")
	}
	if !o.net.Close(o.lan.Lease) {
		t.Error("it was not open")
	}
	print := o.lan.Fingerprint
	o.open()
	if resp, _ := o.ask("GET", "/", "", cookie); cookie == nil || resp.StatusCode != 401 {
		t.Errorf("a session of the listener before: %s", resp.Status)
	}
	if o.lan.Fingerprint != print {
		t.Error("the certificate was made again")
	}
	r, err := http.Get("http://" + o.host + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, _ := io.ReadAll(r.Body); r.StatusCode != 400 || !strings.Contains(string(b), "HTTPS") {
		t.Errorf("plain http: %s %s", r.Status, b)
	}
	for _, address := range []string{"0.0.0.0", "203.0.113.4", "::", "localhost", ""} {
		if _, err := o.net.Open(address); err == nil || !strings.Contains(err.Error(), "not a private address") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// Who opened the listener and does not ask for it any more has gone, and so does it.
func TestLeaseOfTheNetworkEnds(t *testing.T) {
	o := newOutside(t)
	o.net.mu.Lock()
	cur := o.net.cur
	o.net.mu.Unlock()
	cur.lease.Reset(time.Millisecond)
	<-cur.done
	if _, ok := o.net.Renew(o.lan.Lease); ok {
		t.Error("it is still open")
	}
	if _, err := tls.Dial("tcp", o.host, &tls.Config{InsecureSkipVerify: true}); err == nil {
		t.Error("it still listens")
	}
	o.open()
	o.net.end()
	if _, err := o.net.Open("127.0.0.1"); err == nil {
		t.Error("it opens while the server ends")
	}
}

// On this machine a paired browser's session is none, and on the network neither
// the token nor a session of this machine is.
func TestLoginsOfEachSide(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	place, end := up(t, root)
	defer end()
	client, err := endpoint.Dial(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	o := &outside{t: t}
	if err := client.Post(t.Context(), endpoint.LANPath, endpoint.LANAddress{Address: "127.0.0.1"}, &o.lan); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(o.lan.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.host = u.Host
	_, paired := o.pair(o.lan.Code)
	if paired == nil {
		t.Fatal("nobody is paired")
	}
	if resp, _ := o.ask("GET", "/api/prefs", "", paired); resp.StatusCode != 200 {
		t.Errorf("the paired browser: %s", resp.Status)
	}
	var link endpoint.Link
	if err := client.Post(t.Context(), endpoint.LinksPath, nil, &link); err != nil {
		t.Fatal(err)
	}
	l, err := url.Parse(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	here := func(path string, cookie *http.Cookie) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", place.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = l.Host
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
	local := here(l.RequestURI(), nil).Cookies()
	if len(local) != 1 || here("/api/prefs", local[0]).StatusCode != 200 {
		t.Fatalf("%v", local)
	}
	if r := here("/api/prefs", paired); r.StatusCode != 401 {
		t.Errorf("the paired one on this machine: %s", r.Status)
	}
	if r, _ := o.ask("GET", "/api/prefs", "", local[0]); r.StatusCode != 401 {
		t.Errorf("the one of this machine on the network: %s", r.Status)
	}
	token, err := endpoint.Token(root)
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := o.ask("GET", "/api/prefs", "", nil, "Authorization: Bearer "+token); r.StatusCode != 401 {
		t.Errorf("the token on the network: %s", r.Status)
	}
	if err := client.Get(t.Context(), endpoint.LANPath+"?lease=x", &o.lan); err == nil || !strings.Contains(err.Error(), "no longer listens on the local network") {
		t.Errorf("another lease: %v", err)
	}
	var out struct{ Done bool }
	if err := client.Post(t.Context(), endpoint.LogOutPath, nil, &out); err != nil {
		t.Fatal(err)
	}
	if r, _ := o.ask("GET", "/api/prefs", "", paired); r.StatusCode != 401 {
		t.Errorf("after logout-all: %s", r.Status)
	}
	private(t, root, []string{token, paired.Value})
}
