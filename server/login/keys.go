package login

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// LinkLife is how long a one-time link can be used.
	LinkLife = time.Minute
	// sessionLife is how long a browser stays logged in.
	sessionLife = 30 * 24 * time.Hour
	// maxLinks bounds the unused links; the oldest is dropped first.
	maxLinks = 64
)

// Keys authenticate requests. They are safe for concurrent use.
type Keys struct {
	token  []byte
	cookie string
	now    func() time.Time

	mu     sync.Mutex
	links  []link
	logins string // signs sessions, together with the token
}

// link is a one-time link, known by the hash of its code.
type link struct {
	code  [sha256.Size]byte
	until time.Time
}

// NewKeys returns the keys of a project. Cookies ignore ports, so each project's cookie has
// its own name.
func NewKeys(token, project string, now func() time.Time) *Keys {
	return &Keys{token: []byte(token), cookie: "cmux_" + project, now: now}
}

// SetLogins sets the secret that signs logins. Sessions signed with another one are no
// longer valid.
func (k *Keys) SetLogins(logins string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logins = logins
	k.links = nil
}

// Host returns the host at which browsers are logged in. A browser sends a cookie to every
// port of its host, and so to servers of agents at localhost. This host name belongs to the
// project and is a secret: otherwise an agent could send the person to another port of it.
// Browsers resolve every name below localhost to this machine.
func (k *Keys) Host(port int) string {
	m := hmac.New(sha256.New, k.token)
	m.Write([]byte("host\x00" + k.cookie))
	return "cmux-" + hex.EncodeToString(m.Sum(nil)[:10]) + ".localhost:" + strconv.Itoa(port)
}

// NewLink makes a code that can be exchanged for a session, once and soon.
func (k *Keys) NewLink() (code string) {
	code = rand.Text()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.links) == maxLinks {
		k.links = k.links[1:]
	}
	k.links = append(k.links, link{sha256.Sum256([]byte(code)), k.now().Add(LinkLife)})
	return code
}

// trade uses up a code and reports whether it was valid.
func (k *Keys) trade(code string) bool {
	sum, now := sha256.Sum256([]byte(code)), k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	good := false
	kept := k.links[:0]
	for _, l := range k.links {
		switch {
		case !now.Before(l.until) || l.until.Sub(now) > LinkLife: // or the clock was set back
		case hmac.Equal(l.code[:], sum[:]):
			good = true
		default:
			kept = append(kept, l)
		}
	}
	k.links = kept
	return good
}

// session returns a cookie that logs a browser in. It has no Domain: the browser sends it
// only to the host that set it (see Host).
func (k *Keys) session() *http.Cookie {
	until := strconv.FormatInt(k.now().Add(sessionLife).Unix(), 10)
	text := until + "." + rand.Text()
	return &http.Cookie{
		Name: k.cookie, Value: text + "." + k.sign(text), Path: "/", MaxAge: int(sessionLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

func (k *Keys) sign(text string) string {
	k.mu.Lock()
	logins := k.logins
	k.mu.Unlock()
	m := hmac.New(sha256.New, k.token)
	m.Write([]byte("session\x00" + k.cookie + "\x00" + logins + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// hasToken reports whether a request holds the token.
func (k *Keys) hasToken(r *http.Request) bool {
	sent, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return false
	}
	a, b := sha256.Sum256([]byte(sent)), sha256.Sum256(k.token)
	return hmac.Equal(a[:], b[:])
}

// hasSession reports whether a request holds a session.
func (k *Keys) hasSession(r *http.Request) bool {
	for _, c := range r.CookiesNamed(k.cookie) {
		at := strings.LastIndexByte(c.Value, '.')
		if at < 0 {
			continue
		}
		text, code := c.Value[:at], c.Value[at+1:]
		until, _, _ := strings.Cut(text, ".")
		unix, err := strconv.ParseInt(until, 10, 64)
		if err == nil && hmac.Equal([]byte(code), []byte(k.sign(text))) && k.now().Before(time.Unix(unix, 0)) {
			return true
		}
	}
	return false
}
