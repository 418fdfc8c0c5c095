package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/time/rate"

	"cmux/agents/platform/endpoint"
	"cmux/agents/platform/settings"
)

const (
	// MaxBody bounds the body of a request, in bytes.
	MaxBody = 1 << 20
	// MaxUpload bounds the body of a request that uploads a file to a room, in bytes. It is
	// above what a file may have, so that the answer can name a file that is too large.
	MaxUpload = 10<<20 + 64<<10
	// Path is the page that exchanges a one-time link for a session.
	Path = "/login"
)

// Ways in which a request is authenticated.
const (
	ByToken   = "token"
	BySession = "session"
	ByPairing = "pairing" // only at the listener of the local network
)

// Gate authenticates requests. It is an http.Handler in front of another.
type Gate struct {
	keys    *Keys
	pairing *Pairing // of the local network, where no key counts; nil: loopback
	scheme  string
	page    string          // the host that browsers are logged in under
	hosts   []string        // all hosts; those other than page are only for holders of the token
	trusted func() []string // origins of additional trusted hosts
	next    http.Handler
	known   *rate.Limiter // of authenticated requests
	unknown *rate.Limiter // of all others: they cannot use up the person's limit
}

// NewGate guards next, which listens on a port. API paths begin with /api/.
func NewGate(keys *Keys, port int, next http.Handler) *Gate {
	p, page := strconv.Itoa(port), keys.Host(port)
	return &Gate{
		keys: keys, next: next, scheme: "http", trusted: func() []string { return nil }, page: page, hosts: []string{page, "127.0.0.1:" + p, "localhost:" + p},
		known: rate.NewLimiter(200, 500), unknown: rate.NewLimiter(20, 100),
	}
}

// NewPairedGate guards next, which listens with TLS at an address of the local network. It
// accepts only paired browsers, neither the token nor a session of this machine. Only the
// pairing page is open.
func NewPairedGate(pairing *Pairing, address string, next http.Handler) *Gate {
	return &Gate{
		pairing: pairing, next: next, scheme: "https", trusted: func() []string { return nil }, page: address, hosts: []string{address},
		known: rate.NewLimiter(200, 500), unknown: rate.NewLimiter(20, 100),
	}
}

// Trust makes the gate answer at additional hosts and log browsers in there: those of
// origins, such as "http://localhost:9000" for a forwarded port. It calls origins at each
// request, so that a change has effect at once. Only exact hosts count: a name that
// somebody points at this machine does not.
func (g *Gate) Trust(origins func() []string) { g.trusted = origins }

// trusts reports whether a host is that of a trusted origin.
func (g *Gate) trusts(host string) bool {
	return slices.ContainsFunc(g.trusted(), func(origin string) bool {
		_, at, _ := strings.Cut(origin, "://")
		return at == host
	})
}

// pages reports whether browsers can log in at a host.
func (g *Gate) pages(host string) bool { return host == g.page || g.trusts(host) }

// how is the key of the way of authentication in a request's context.
type how struct{}

// How returns how a request was authenticated; empty: it needed no login.
func How(ctx context.Context) string {
	s, _ := ctx.Value(how{}).(string)
	return s
}

// open reports whether a request needs no login: the identity, signed webhooks, and the
// page of one-time links.
func (g *Gate) open(r *http.Request) bool {
	if g.pairing != nil {
		return r.URL.Path == PairPath && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodPost)
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return r.URL.Path == endpoint.HealthPath || r.URL.Path == Path
	case http.MethodPost:
		source, ok := strings.CutPrefix(r.URL.Path, "/api/webhooks/")
		return ok && source != "" && !strings.Contains(source, "/")
	}
	return false
}

func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	asked := strings.ToLower(r.Host)
	if !slices.Contains(g.hosts, asked) && !g.trusts(asked) {
		g.misdirected(w, r, asked)
		return
	}
	by := g.who(r, asked)
	if reason := g.stranger(r, by); reason != "" {
		Refuse(w, r, http.StatusForbidden, reason, "")
		return
	}
	limit := g.known
	if by == "" {
		limit = g.unknown
	}
	monitor := g.pairing == nil && r.URL.Path == endpoint.HealthPath // it is never limited
	if !monitor && !limit.Allow() {
		w.Header().Set("Retry-After", "1")
		Refuse(w, r, http.StatusTooManyRequests, "too many requests", "")
		return
	}
	switch {
	case g.pairing != nil && r.URL.Path == PairPath && g.open(r):
		g.pair(w, r)
		return
	case g.pairing != nil && by == "" && !strings.HasPrefix(r.URL.Path, "/api/"):
		pairPage(w, http.StatusUnauthorized, "")
		return
	case g.pairing != nil && strings.HasPrefix(r.URL.Path, "/api/login/") && r.URL.Path != endpoint.LogOutPath:
		Refuse(w, r, http.StatusForbidden, "logins are made on the machine of the server", "cmux open --lan")
		return
	case g.pairing == nil && r.URL.Path == Path && g.open(r):
		if !g.pages(asked) {
			g.misdirected(w, r, asked)
			return
		}
		g.trade(w, r)
		return
	case by == "" && !g.open(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		Refuse(w, r, http.StatusUnauthorized, "you are not logged in", "cmux open")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, most(r))
	g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), how{}, by)))
}

// most bounds the body of a request, in bytes.
func most(r *http.Request) int64 {
	if ok, _ := path.Match("/api/rooms/*/files", r.URL.Path); ok && r.Method == http.MethodPost {
		return MaxUpload
	}
	return MaxBody
}

// who returns how a request to a host is authenticated.
func (g *Gate) who(r *http.Request, asked string) string {
	switch {
	case g.pairing != nil:
		if g.pairing.hasSession(r) {
			return ByPairing
		}
	case g.keys.hasToken(r):
		return ByToken
	case g.pages(asked) && g.keys.hasSession(r): // elsewhere other programs may have the cookie
		return BySession
	}
	return ""
}

// stranger returns why a request must come from one of the server's pages; empty: it need
// not.
func (g *Gate) stranger(r *http.Request, by string) string {
	const foreign = "a page of another site sent this request"
	origins := r.Header.Values("Origin")
	site := r.Header.Get("Sec-Fetch-Site")
	own := len(origins) == 1 && (g.host(origins[0]) == g.page || slices.Contains(g.trusted(), strings.ToLower(origins[0])))
	upgrade := r.Header.Get("Upgrade") != ""
	if safe := r.Method == http.MethodGet || r.Method == http.MethodHead; safe && !upgrade {
		// A page that only reads must not be embedded elsewhere, but links may lead here.
		navigates := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if len(origins) > 0 && !own && !navigates || !navigates && (site == "cross-site" || site == "same-site") {
			return foreign
		}
		return ""
	}
	switch {
	case len(origins) > 0 && !own, site != "" && site != "same-origin" && site != "none":
		return foreign
	case len(origins) == 0 && (by == BySession || g.pairing != nil):
		return "the request does not say which page sent it (Origin)"
	}
	return ""
}

// host returns the host of an origin if this server can have it.
func (g *Gate) host(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != g.scheme || u.User != nil || u.Path != "" || u.RawQuery != "" {
		return ""
	}
	return strings.ToLower(u.Host)
}

// protect sets headers that forbid browsers what no page of the server needs.
func protect(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	h.Set("Cache-Control", "no-store")
}

// AllowStyle lets an answer have one inline style: the text of a page's <style>.
func AllowStyle(h http.Header, style string) {
	sum := sha256.Sum256([]byte(style))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
}

// trade logs in the browser that has a one-time link. It answers with a page and does not
// redirect: browsers send no Strict cookie with a redirect of a navigation that began
// elsewhere, and this one began in a file.
func (g *Gate) trade(w http.ResponseWriter, r *http.Request) {
	if !g.keys.trade(r.URL.Query().Get("code")) {
		page(w, http.StatusUnauthorized, "This link has been used, or is too old", "To open the dashboard, call", "cmux open", "")
		return
	}
	http.SetCookie(w, g.keys.session())
	page(w, http.StatusOK, "You are logged in", "This page leads on to", "/", "/")
}

// maxForm bounds a form with a code, in bytes.
const maxForm = 4 << 10

// pair shows the page that asks for the code, and logs in a browser with the right one.
func (g *Gate) pair(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		pairPage(w, http.StatusOK, "")
		return
	}
	if !g.pairing.limit.AllowN(g.pairing.now(), 1) {
		w.Header().Set("Retry-After", "3")
		pairPage(w, http.StatusTooManyRequests, "Too many codes were tried. Wait a moment.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		pairPage(w, http.StatusBadRequest, "The form could not be read.")
		return
	}
	cookie := g.pairing.trade(r, r.PostForm.Get("code"))
	if cookie == nil {
		pairPage(w, http.StatusUnauthorized, "This is not the code, or it is too old. Type the one that the terminal shows now.")
		return
	}
	http.SetCookie(w, cookie)
	page(w, http.StatusOK, "This browser is paired", "This page leads on to", "/", "/")
}

// misdirected refuses a request to a host at which the server does not answer or log in. It
// says what the server expects, without the name of its own host, which is a secret, and
// how a person adds a host.
func (g *Gate) misdirected(w http.ResponseWriter, r *http.Request, asked string) {
	const status = http.StatusMisdirectedRequest
	if g.pairing != nil {
		Refuse(w, r, status, fmt.Sprintf("this server is not %.100q", r.Host), "use the address that cmux open opens")
		return
	}
	if len(asked) > 100 {
		asked = asked[:100]
	}
	_, port, _ := strings.Cut(g.page, ":")
	detail := fmt.Sprintf("the dashboard answers at the address that cmux open --print prints, at port %s, and this request is for %q", port, asked)
	way := fmt.Sprintf("hosts: [%q]", asked)
	if strings.HasPrefix(r.URL.Path, "/api/") {
		Refuse(w, r, status, detail, "cmux open --print; where you trust this host, in "+settings.Shown()+": "+way)
		return
	}
	page(w, status, "Not the address of this dashboard", "T"+detail[1:]+". If a port or name of yours leads here, add it to "+settings.Shown()+" on the machine of the dashboard, then open the link of cmux open --print at it:", way, "")
}

// Refuse answers a refused request: an API request with a problem, a person's with a page.
func Refuse(w http.ResponseWriter, r *http.Request, status int, detail, try string) {
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		page(w, status, strings.ToUpper(detail[:1])+detail[1:], "To open the dashboard, call", "cmux open", "")
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Try    string `json:"try,omitempty"`
	}{http.StatusText(status), status, detail, try})
}
