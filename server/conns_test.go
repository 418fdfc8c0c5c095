package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"cmux/agents/platform/endpoint"
	"cmux/server/login"
)

// Who fills the connections keeps nobody out: neither the monitor, which asks who
// the server is, nor who is let in, before or after.
func TestConnectionsFilledByAnybody(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	c := newConns(l)
	c.maxKnown, c.maxUnknown, c.leaveTime = 3, 4, time.Hour
	keys := login.NewKeys(strings.Repeat("ab", 32), "p", time.Now)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") })
	srv := &http.Server{Handler: c.parting(login.NewGate(keys, port, c.knowing(mux))), ConnContext: c.context}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(c) }()
	defer func() {
		srv.Close()
		<-served
	}()
	dial := func() net.Conn {
		t.Helper()
		one, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { one.Close() })
		one.SetDeadline(time.Now().Add(time.Minute))
		return one
	}
	// ask is the status of a request on a connection; 0: it was ended.
	ask := func(one net.Conn, path, header string) int {
		io.WriteString(one, "GET "+path+" HTTP/1.1\r\nHost: "+l.Addr().String()+"\r\n"+header+"\r\n")
		r, err := http.ReadResponse(bufio.NewReader(one), nil)
		if err != nil {
			return 0
		}
		defer r.Body.Close()
		io.Copy(io.Discard, r.Body)
		return r.StatusCode
	}
	token := "Authorization: Bearer " + strings.Repeat("ab", 32) + "\r\n"
	mine := dial()
	if code := ask(mine, "/", token); code != 200 {
		t.Fatal(code)
	}
	var idle []net.Conn
	for range 20 {
		idle = append(idle, dial())
		if code := ask(dial(), endpoint.HealthPath, ""); code != 200 {
			t.Fatalf("the monitor's question: %d", code)
		}
	}
	if code := ask(mine, "/", token); code != 200 {
		t.Errorf("who was let in: %d", code)
	}
	if code := ask(idle[0], endpoint.HealthPath, ""); code != 0 {
		t.Errorf("the oldest is open: %d", code)
	}
	// Those that leave are answered, and whoever was let in stays.
	if code := ask(idle[16], endpoint.HealthPath, ""); code != 429 {
		t.Errorf("one that leaves: %d", code)
	}
	if code := ask(idle[17], "/", token); code != 200 {
		t.Errorf("one that leaves, with the token: %d", code)
	}
	if code := ask(dial(), "/", token); code != 200 {
		t.Errorf("another one: %d", code)
	}
	if code := ask(dial(), "/", token); code != 503 {
		t.Errorf("one too many: %d", code)
	}
	if code := ask(dial(), endpoint.HealthPath, ""); code != 200 {
		t.Errorf("the monitor's question: %d", code)
	}
	c.end(context.Background(), login.ByToken)
	if code := ask(mine, "/", token); code != 0 {
		t.Errorf("an ended one: %d", code)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) != 0 {
		t.Errorf("%d are known", len(c.known))
	}
}

// A connection that its client ended while it was being let in is forgotten.
func TestKnownWhenClosed(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := newConns(l)
	dialled, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialled.Close()
	o, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	c.know(o.(*conn), login.ByToken)
	if len(c.known) != 0 || c.unknown.Len() != 0 {
		t.Errorf("%d are known, %d are not", len(c.known), c.unknown.Len())
	}
}

// A connection that leaves and asks nothing is ended after a moment, and closed as
// others are: its client reads the end, and no reset.
func TestConnectionsThatLeave(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newConns(l)
	c.maxUnknown, c.leaveTime = 1, time.Millisecond
	srv := &http.Server{Handler: c.parting(http.NotFoundHandler()), ConnContext: c.context}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(c) }()
	defer func() {
		srv.Close()
		<-served
	}()
	var all []net.Conn
	for range 10 {
		one, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		all = append(all, one)
	}
	for i, one := range all[:9] {
		one.SetDeadline(time.Now().Add(time.Minute))
		if _, err := one.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%d: %v", i, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving.Len() != 0 || c.unknown.Len() != 1 {
		t.Errorf("%d leave, %d stay", c.leaving.Len(), c.unknown.Len())
	}
}
