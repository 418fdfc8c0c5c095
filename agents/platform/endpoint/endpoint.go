// Package endpoint finds the server of a project, verifies its identity, and lets a holder
// of the project's token call it.
//
// The server writes `.cmux/server.json`; while the server's lock is free, that file belongs
// to an earlier server. The token is in `.cmux/token`. The client sends the token to a port
// only after the server there has proven that it knows the token too.
package endpoint

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cmux/signals"
)

const (
	// File is the file with the server's endpoint, in .cmux.
	File = "server.json"
	// TokenFile holds the token, in .cmux.
	TokenFile = "token"
	// LoginsFile holds the secret that signs the browsers' logins, in .cmux.
	LoginsFile = "logins"
	// FirstPort is the first port that a server tries.
	FirstPort = 8420
	// HealthPath returns the identity of a server, without a token.
	HealthPath = "/api/webhooks/health"
	// LinksPath creates one-time links to the dashboard.
	LinksPath = "/api/login/links"
	// LogOutPath ends all logins.
	LogOutPath = "/api/login/logout-all"
	// LANPath makes the server listen on the local network too.
	LANPath = "/api/login/lan"
	// CertificateFile holds the certificate for the local network and its key, in .cmux.
	CertificateFile = "lan.pem"

	maxFile = 64 << 10
)

// Place is the endpoint of a server that runs or has ended.
type Place struct {
	Port      int       `json:"port"` // 0: none
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
	Project   string    `json:"project"`             // see ProjectID
	Instance  string    `json:"instance"`            // id of this start of the server
	Epoch     string    `json:"epoch"`               // of its event log
	OnDemand  bool      `json:"on_demand,omitempty"` // started without a monitor: it ends with the last page and run

	EndedAt *time.Time `json:"ended_at,omitempty"` // when its monitor saw it end
	Why     string     `json:"why,omitempty"`      // why it ended or did not start
}

// Addr returns the address of the server of a port.
func Addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// URL returns the address of the server in a browser.
func (p *Place) URL() string { return "http://" + Addr(p.Port) }

// ProjectID identifies the project at root without revealing its path.
func ProjectID(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:8])
}

func file(root, name string) string { return filepath.Join(root, signals.Folder, name) }

// PageFile redirects a browser to a one-time link, in .cmux.
const PageFile = "open.html"

// Secrets returns the files of the project at root that let their reader act as the
// project's person, or redirect the person's requests.
func Secrets(root string) []string {
	return []string{file(root, TokenFile), file(root, LoginsFile), file(root, PageFile), file(root, File), CertificatePath(root)}
}

// CertificatePath returns the path of CertificateFile.
func CertificatePath(root string) string { return file(root, CertificateFile) }

// LockPath returns the path of the lock that the project's server holds while it runs.
func LockPath(root string) string {
	return filepath.Join(root, signals.Folder, signals.Locks, ".server")
}

// Read returns the newest endpoint of the project's server; zero: there was none.
func Read(root string) (p Place, err error) {
	b, err := signals.ReadFile(file(root, File), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return Place{}, fmt.Errorf("%s: %w", file(root, File), err)
	}
	return p, nil
}

// Write writes the endpoint. The caller must hold the server's lock, or know that its
// holder has ended.
func Write(root string, p Place) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return signals.WriteFile(file(root, File), append(b, '\n'), 0o600)
}

// Lives reports whether a server holds the project's lock.
func Lives(root string) bool {
	_, held, err := signals.ReadHolder(LockPath(root))
	return err == nil && held
}

// ErrNoToken means that the project has no token yet.
var ErrNoToken = errors.New("the project has no token: its server has not run yet")

// Token reads the project's token.
func Token(root string) (string, error) {
	b, err := signals.ReadFile(file(root, TokenFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoToken
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != tokenSize {
		return "", fmt.Errorf("%s does not hold a token; remove it, and cmux restart makes another", file(root, TokenFile))
	}
	return token, nil
}

const tokenSize = 32

// MakeToken returns the project's token and creates it if it is missing. It restricts the
// file to its owner, and leaves it in its place: a fence covers it there.
func MakeToken(root string) (string, error) {
	if _, err := Token(root); errors.Is(err, ErrNoToken) {
		if err := ensure(root, TokenFile, NewSecret()+"\n"); err != nil {
			return "", err
		}
	}
	token, err := Token(root)
	if err != nil {
		return "", err
	}
	f, err := signals.Open(file(root, TokenFile))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return token, f.Chmod(0o600)
}

// EnsureSecrets creates those files of Secrets that are missing and would be worth reading
// once they are there: a fence covers what exists. They stay in their places from then on.
func EnsureSecrets(root string) error {
	return errors.Join(ensure(root, TokenFile, NewSecret()+"\n"), ensure(root, LoginsFile, NewSecret()+"\n"), ensure(root, PageFile, ""))
}

// ensure creates a file in .cmux unless it exists.
func ensure(root, name, text string) error {
	err := signals.WriteNew(file(root, name), []byte(text), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// WritePage writes PageFile, for its owner alone, and returns its path. The file stays in
// its place.
func WritePage(root, text string) (string, error) {
	return file(root, PageFile), rewrite(root, PageFile, text)
}

// rewrite replaces the content of a file in .cmux in its place.
func rewrite(root, name, text string) error {
	if err := ensure(root, name, ""); err != nil {
		return err
	}
	f, err := signals.OpenFile(file(root, name), os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Chmod(0o600), f.Close())
}

// Logins returns the secret that signs the browsers' logins, and creates it if it is
// missing.
func Logins(root string) (string, error) {
	b, err := signals.ReadFile(file(root, LoginsFile), maxFile)
	if text := strings.TrimSpace(string(b)); err == nil && text != "" {
		return text, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return EndLogins(root)
}

// EndLogins replaces that secret, which ends all logins.
func EndLogins(root string) (string, error) {
	text := NewSecret()
	return text, rewrite(root, LoginsFile, text+"\n")
}

// NewSecret returns 32 random bytes as text.
func NewSecret() string {
	b := make([]byte, tokenSize)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Identity is what a server reveals to everybody.
type Identity struct {
	API      string `json:"api" enum:"healthy" doc:"Status of the server"`
	Project  string `json:"project" doc:"Id of the project"`
	Instance string `json:"instance" doc:"Id of this start of the server"`
	Proof    string `json:"proof,omitempty" doc:"Proof that the server knows the project's token, if the request had a challenge"`
}

// Healthy is the state of a server that answers.
const Healthy = "healthy"

// Prove returns the proof that the server on a port knows a token.
func Prove(token, challenge string, port int) string {
	m := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(m, "cmux server\x00%d\x00%s", port, challenge)
	return hex.EncodeToString(m.Sum(nil))
}

// ErrForeign means that another program uses the port of the project's server.
var ErrForeign = errors.New("something else than this project's server answers there")

// Client calls the server of a project.
type Client struct {
	place Place
	token string
	http  *http.Client
}

// Dial finds the server of the project at root and verifies its identity.
func Dial(ctx context.Context, root string) (*Client, error) {
	p, err := Read(root)
	if err != nil {
		return nil, err
	}
	token, err := Token(root)
	if err != nil {
		return nil, err
	}
	c := &Client{place: p, token: token, http: &http.Client{
		Transport:     &http.Transport{DisableCompression: true}, // no proxy: the token must reach only the server
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if err := c.Check(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Place returns the server's endpoint.
func (c *Client) Place() Place { return c.place }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Check verifies the server's identity; the error is ErrForeign if it is another program.
func (c *Client) Check(ctx context.Context) error {
	challenge := NewSecret()
	var id Identity
	path := HealthPath + "?challenge=" + url.QueryEscape(challenge)
	if err := c.do(ctx, http.MethodGet, path, nil, &id, false); err != nil {
		return err
	}
	if id.API != Healthy || id.Project != c.place.Project || id.Instance != c.place.Instance || !hmac.Equal([]byte(id.Proof), []byte(Prove(c.token, challenge, c.place.Port))) {
		return fmt.Errorf("%s: %w", c.place.URL(), ErrForeign)
	}
	return nil
}

// Post sends a request with the token and decodes the response into out.
func (c *Client) Post(ctx context.Context, path string, in, out any) error {
	return c.do(ctx, http.MethodPost, path, in, out, true)
}

// Get sends a GET request with the token and decodes the response into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, nil, out, true)
}

func (c *Client) do(ctx context.Context, method, path string, in, out any, sign bool) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = strings.NewReader(string(b))
	}
	req, err := http.NewRequestWithContext(ctx, method, c.place.URL()+path, body)
	if err != nil {
		return err
	}
	if sign {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxFile))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		var said struct{ Detail string }
		if json.Unmarshal(b, &said) == nil && said.Detail != "" {
			return fmt.Errorf("%s: the server answers %s: %s", c.place.URL(), resp.Status, said.Detail)
		}
		return fmt.Errorf("%s: the server answers %s", c.place.URL(), resp.Status)
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("%s: %w", c.place.URL(), ErrForeign)
	}
	return nil
}

// Link is a one-time link to the dashboard.
type Link struct {
	URL string `json:"url" doc:"Opens the dashboard, once"`

	Others  []string `json:"others,omitempty" doc:"The same link at trusted hosts; only one of all links can be used"`
	Seconds int      `json:"seconds" doc:"How long the link is valid"`
}

// LAN is the server's listener on the local network.
type LAN struct {
	Lease       string    `json:"lease" doc:"Id of this opening; its owner renews it regularly to keep it open"`
	URL         string    `json:"url" doc:"The page that pairs a browser"`
	Fingerprint string    `json:"fingerprint" doc:"SHA-256 of the certificate"`
	Code        string    `json:"code" doc:"Pairs one browser"`
	Until       time.Time `json:"until" doc:"When the code expires"`
	Paired      int       `json:"paired" doc:"How many browsers were paired"`
}

// LANAddress is a request to open that listener.
type LANAddress struct {
	Address string `json:"address" doc:"A private or loopback address of this machine"`
}
