package endpoint

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmux/signals"
)

func TestTokenIsMadeOnceAndForItsOwnerAlone(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(root); !errors.Is(err, ErrNoToken) {
		t.Errorf("a token before there is one: %v", err)
	}
	token, err := MakeToken(root)
	if err != nil || len(token) != 64 {
		t.Fatalf("%q, %v", token, err)
	}
	path := file(root, TokenFile)
	if err := os.Chmod(path, 0o644); err != nil { // somebody was careless
		t.Fatal(err)
	}
	again, err := MakeToken(root)
	if err != nil || again != token {
		t.Errorf("another one: %q, %v", again, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := MakeToken(root); err == nil {
		t.Errorf("a broken token is %q", token)
	}
}

func TestPlace(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	if p, err := Read(root); err != nil || p != (Place{}) {
		t.Errorf("%v, %v", p, err)
	}
	want := Place{Port: 8421, PID: 7, StartedAt: time.Now().UTC().Round(0), Project: ProjectID(root), Instance: "i", Epoch: "e"}
	if err := Write(root, want); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(root); err != nil || got != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if info, err := os.Stat(file(root, File)); err != nil || info.Mode() != 0o600&fs.ModePerm {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if Lives(root) {
		t.Error("nobody holds the lock")
	}
}

// The client sends the token only to a server that has proven that it knows it.
func TestForeignServersGetNoToken(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	token, err := MakeToken(root)
	if err != nil {
		t.Fatal(err)
	}
	var id func(challenge string) Identity
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if auth := r.Header.Get("Authorization"); strings.Contains(auth, token) && r.URL.Path != LinksPath {
			t.Errorf("%s was sent the token", r.URL)
		}
		if r.URL.Path == LinksPath {
			if r.Header.Get("Authorization") != "Bearer "+token {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			json.NewEncoder(w).Encode(Link{URL: "u", Seconds: 60})
			return
		}
		json.NewEncoder(w).Encode(id(r.URL.Query().Get("challenge")))
	}))
	defer s.Close()
	u, _ := url.Parse(s.URL)
	port, _ := strconv.Atoi(u.Port())
	place := Place{Port: port, Project: ProjectID(root), Instance: "i"}
	if err := Write(root, place); err != nil {
		t.Fatal(err)
	}
	proven := func(token string, port int) func(string) Identity {
		return func(c string) Identity {
			return Identity{Healthy, place.Project, place.Instance, Prove(token, c, port)}
		}
	}
	for name, foreign := range map[string]func(string) Identity{
		"another program":                func(string) Identity { return Identity{} },
		"one that knows what all know":   func(string) Identity { return Identity{Healthy, place.Project, place.Instance, ""} },
		"one with another token":         proven(NewSecret(), port),
		"one that passes questions on":   proven(token, port+1),
		"another project of this person": func(c string) Identity { return Identity{Healthy, "p", "i", Prove(token, c, port)} },
	} {
		id = foreign
		if _, err := Dial(t.Context(), root); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	id = proven(token, port)
	c, err := Dial(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var link Link
	if err := c.Post(t.Context(), LinksPath, nil, &link); err != nil || link.Seconds != 60 || c.Place() != place {
		t.Errorf("%v, %v", link, err)
	}
}
