package login

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// PairPath is the page at which a browser of the local network is paired.
	PairPath = "/pair"
	// CodeLife is how long a code is valid.
	CodeLife = 2 * time.Minute
	// PairedLife is how long a paired browser stays logged in.
	PairedLife = 12 * time.Hour

	codeTries = 5 // wrong codes before a new one is made
	maxPaired = 16
	// pairCookie has a name prefix with which browsers restrict it to its host, its path
	// and TLS.
	pairCookie = "__Host-cmux_lan"
	// letters are the letters of codes: no two look alike.
	letters = "ACDEFGHJKLMNPQRTUVWXY34679"
)

// Pairing authenticates browsers of the local network, at one listener and as long as it is
// open: nothing is stored. It is safe for concurrent use.
//
// A session is valid only for the address that was paired. Browsers ignore ports in
// cookies: a server of an agent at another port of this machine may see the cookie, but
// cannot use it from here.
type Pairing struct {
	now   func() time.Time
	limit *rate.Limiter // of tried codes

	mu       sync.Mutex
	code     string
	until    time.Time
	tries    int
	sessions []paired // the oldest first
	count    int
}

// paired is the session of a browser, identified by the hash of its cookie.
type paired struct {
	secret [sha256.Size]byte
	from   string
	until  time.Time
}

// NewPairing returns a Pairing without paired browsers.
func NewPairing(now func() time.Time) *Pairing {
	return &Pairing{now: now, limit: rate.NewLimiter(rate.Every(3*time.Second), 10)}
}

// Code returns the code that pairs one browser, when it expires, and how many were paired.
// It makes a new one after the last was used, tried too often, or has expired.
func (p *Pairing) Code() (code string, until time.Time, count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.current() {
		p.code, p.until, p.tries = newCode(), p.now().Add(CodeLife), 0
	}
	return p.code[:4] + "-" + p.code[4:], p.until, p.count
}

// current reports whether the code is valid. A clock that is set back does not extend it.
func (p *Pairing) current() bool {
	left := p.until.Sub(p.now())
	return p.code != "" && left > 0 && left <= CodeLife
}

func newCode() string {
	code := make([]byte, 0, 8)
	for b := make([]byte, 1); len(code) < cap(code); {
		rand.Read(b)                                           // never fails
		if n := int(b[0]); n < 256/len(letters)*len(letters) { // each letter has the same probability
			code = append(code, letters[n%len(letters)])
		}
	}
	return string(code)
}

// trade uses up the code and returns a session for the sender of r; nil: wrong code.
func (p *Pairing) trade(r *http.Request, typed string) *http.Cookie {
	typed = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(typed))
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.current() {
		return nil
	}
	a, b := sha256.Sum256([]byte(typed)), sha256.Sum256([]byte(p.code))
	if !hmac.Equal(a[:], b[:]) {
		if p.tries++; p.tries == codeTries {
			p.code = ""
		}
		return nil
	}
	p.code = ""
	p.count++
	secret := rand.Text()
	if len(p.sessions) == maxPaired {
		p.sessions = p.sessions[1:]
	}
	p.sessions = append(p.sessions, paired{sha256.Sum256([]byte(secret)), from(r), p.now().Add(PairedLife)})
	return &http.Cookie{
		Name: pairCookie, Value: secret, Path: "/", MaxAge: int(PairedLife / time.Second),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// from returns the address of a request's sender.
func from(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// hasSession reports whether a request holds the session of a paired browser.
func (p *Pairing) hasSession(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range r.CookiesNamed(pairCookie) {
		sum := sha256.Sum256([]byte(c.Value))
		for _, s := range p.sessions {
			if hmac.Equal(s.secret[:], sum[:]) && s.from == from(r) && p.lasts(s) {
				return true
			}
		}
	}
	return false
}

func (p *Pairing) lasts(s paired) bool {
	left := s.until.Sub(p.now())
	return left > 0 && left <= PairedLife
}

// Prune removes expired sessions, and reports whether there were any.
func (p *Pairing) Prune() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.sessions[:0]
	for _, s := range p.sessions {
		if p.lasts(s) {
			kept = append(kept, s)
		}
	}
	pruned := len(kept) < len(p.sessions)
	p.sessions = kept
	return pruned
}

// Forget removes every session and the code.
func (p *Pairing) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions, p.code = nil, ""
}
