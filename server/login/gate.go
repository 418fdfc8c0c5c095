package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/time/rate"

	"cmux/agents/endpoint"
)

const (
	// MaxBody bounds the body of a request, in bytes.
	MaxBody = 1 << 20
	// Path is the page that trades a one-time link for a session.
	Path = "/login"
)

// Ways a request was let in.
const (
	ByToken   = "token"
	BySession = "session"
)

// Gate lets requests in. It is an http.Handler in front of another.
type Gate struct {
	keys    *Keys
	page    string   // the host that browsers are logged in under
	hosts   []string // all, of which the others are for who has the token
	next    http.Handler
	known   *rate.Limiter // of requests of the person
	unknown *rate.Limiter // of those of anybody: they cannot use up the person's
}

// NewGate guards next, which listens on a port. API paths are told apart by
// their beginning, /api/.
func NewGate(keys *Keys, port int, next http.Handler) *Gate {
	p, page := strconv.Itoa(port), keys.Host(port)
	return &Gate{
		keys: keys, next: next, page: page, hosts: []string{page, "127.0.0.1:" + p, "localhost:" + p},
		known: rate.NewLimiter(200, 500), unknown: rate.NewLimiter(20, 100),
	}
}

// how is where a request's context says how it was let in.
type how struct{}

// How says how a request was let in; empty: it was not asked who it is from.
func How(ctx context.Context) string {
	s, _ := ctx.Value(how{}).(string)
	return s
}

// open says that a request needs no login: the identity, the webhooks, which
// are signed, and the page of the links.
func open(r *http.Request) bool {
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
	if !slices.Contains(g.hosts, asked) {
		Refuse(w, r, http.StatusMisdirectedRequest, fmt.Sprintf("this server is not %.100q", r.Host), "use the address that cmux open opens")
		return
	}
	by := ""
	switch {
	case g.keys.hasToken(r):
		by = ByToken
	case asked == g.page && g.keys.hasSession(r): // elsewhere other programs may have it
		by = BySession
	}
	if reason := g.stranger(r, by); reason != "" {
		Refuse(w, r, http.StatusForbidden, reason, "")
		return
	}
	limit := g.known
	if by == "" {
		limit = g.unknown
	}
	if r.URL.Path != endpoint.HealthPath && !limit.Allow() { // its monitor may always ask
		w.Header().Set("Retry-After", "1")
		Refuse(w, r, http.StatusTooManyRequests, "too many requests", "")
		return
	}
	switch {
	case r.URL.Path == Path && open(r):
		if asked != g.page {
			Refuse(w, r, http.StatusMisdirectedRequest, fmt.Sprintf("nobody logs in at %.100q", r.Host), "use the address that cmux open opens")
			return
		}
		g.trade(w, r)
		return
	case by == "" && !open(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		Refuse(w, r, http.StatusUnauthorized, "you are not logged in", "cmux open")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), how{}, by)))
}

// stranger says why a request must be from a page that is not the server's;
// empty: it need not be.
func (g *Gate) stranger(r *http.Request, by string) string {
	const foreign = "a page of another site sent this request"
	origins := r.Header.Values("Origin")
	site := r.Header.Get("Sec-Fetch-Site")
	own := len(origins) == 1 && host(origins[0]) == g.page
	upgrade := r.Header.Get("Upgrade") != ""
	if safe := r.Method == http.MethodGet || r.Method == http.MethodHead; safe && !upgrade {
		// What is only looked at may not be embedded elsewhere, but a link leads here.
		navigates := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if len(origins) > 0 && !own && !navigates || !navigates && (site == "cross-site" || site == "same-site") {
			return foreign
		}
		return ""
	}
	switch {
	case len(origins) > 0 && !own, site != "" && site != "same-origin" && site != "none":
		return foreign
	case len(origins) == 0 && by == BySession:
		return "the request does not say which page sent it (Origin)"
	}
	return ""
}

// host is the host of an origin that this server can have.
func host(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Path != "" || u.RawQuery != "" {
		return ""
	}
	return strings.ToLower(u.Host)
}

// protect says to browsers what no answer of the server's is for.
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

// trade logs the browser in that has a link. It answers with a page and does
// not redirect: a browser sends no Strict cookie along with a redirect of a
// navigation that began elsewhere, and it begins in a file.
func (g *Gate) trade(w http.ResponseWriter, r *http.Request) {
	if !g.keys.trade(r.URL.Query().Get("code")) {
		page(w, http.StatusUnauthorized, "This link has been used, or is too old", "To open the dashboard, call", "cmux open", "")
		return
	}
	http.SetCookie(w, g.keys.session())
	page(w, http.StatusOK, "You are logged in", "This page leads on to", "/", "/")
}

// Refuse answers a request that is not carried out: an API's with a problem, a
// person's with a page.
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
