package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/coder/websocket"
	"github.com/rogpeppe/go-internal/testscript"

	"cmux/agents/platform/endpoint"
	"cmux/agents/testkit/agenttest/until"
)

// request is the script command
//
//	http [KEY=VALUE...] METHOD URL [BODY]
//
// which writes status, headers and body of the answer to stdout. A key is a
// header; Token=yes sends the token of the project that the script is in, and
// Until=REGEXP asks until the answer matches. An URL
// that begins with a slash is that of the project's server, and @FILE is the one that
// stands in a file. A body @FILE is what stands there.
func request(ts *testscript.TestScript, neg bool, args []string) {
	header := http.Header{}
	var wanted *regexp.Regexp
	root := ts.MkAbs(".")
	for ; len(args) > 0 && strings.Contains(args[0], "="); args = args[1:] {
		k, v, _ := strings.Cut(args[0], "=")
		if k == "Token" {
			token, err := endpoint.Token(root)
			ts.Check(err)
			k, v = "Authorization", "Bearer "+token
		}
		if k == "Until" {
			re, err := regexp.Compile(v)
			ts.Check(err)
			wanted = re
			continue
		}
		header.Set(k, v)
	}
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: http [HEADER=VALUE...] METHOD URL [BODY]")
	}
	url, body := args[1], ""
	if name, ok := strings.CutPrefix(url, "@"); ok {
		url = strings.TrimSpace(ts.ReadFile(name))
	}
	if strings.HasPrefix(url, "/") {
		place, err := endpoint.Read(root)
		ts.Check(err)
		url = place.URL() + url
	}
	if len(args) == 3 {
		body = args[2]
		if name, ok := strings.CutPrefix(body, "@"); ok {
			body = ts.ReadFile(name)
		}
		header.Set("Content-Type", "application/json")
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	// Browsers take every name below localhost for this machine, as we do here.
	local := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if host, port, err := net.SplitHostPort(addr); err == nil && strings.HasSuffix(host, ".localhost") {
			addr = net.JoinHostPort("127.0.0.1", port)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	defer local.CloseIdleConnections()
	client := &http.Client{Transport: local, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var resp *http.Response
	var b []byte
	ask := func() bool {
		req, err := http.NewRequestWithContext(ctx, args[0], url, strings.NewReader(body))
		ts.Check(err)
		req.Header = header
		req.Host = header.Get("Host")
		resp, err = client.Do(req)
		ts.Check(err)
		defer resp.Body.Close()
		b, err = io.ReadAll(resp.Body)
		ts.Check(err)
		return wanted == nil || wanted.Match(b)
	}
	if !ask() && !until.True(ctx, ask) {
		ts.Fatalf("%s is not in the answer after %s: %s", wanted, deadline, b)
	}
	fmt.Fprintln(ts.Stdout(), resp.Status)
	var head strings.Builder
	resp.Header.Write(&head)
	fmt.Fprint(ts.Stdout(), strings.ReplaceAll(head.String(), "\r", ""))
	fmt.Fprintf(ts.Stdout(), "\n%s\n", b)
}

// typeIn is the script command
//
//	terminal PATH TEXT WANT
//
// which takes a terminal over through the project's server, types TEXT and Enter,
// waits until the terminal shows WANT, and leaves. RUN in the path is the newest run.
func typeIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: terminal PATH TEXT WANT")
	}
	root := ts.MkAbs(".")
	token, err := endpoint.Token(root)
	ts.Check(err)
	place, err := endpoint.Read(root)
	ts.Check(err)
	path := args[0]
	if runs, err := filepath.Glob(filepath.Join(root, ".cmux/runs/2*")); err == nil && len(runs) > 0 {
		path = strings.Replace(path, "RUN", filepath.Base(runs[len(runs)-1]), 1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	c, _, err := websocket.Dial(ctx, place.URL()+path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	ts.Check(err)
	defer c.CloseNow()
	c.SetReadLimit(1 << 20)
	ts.Check(c.Write(ctx, websocket.MessageText, []byte(`{"type":"take"}`)))
	shown := ""
	for typed := false; !typed || !strings.Contains(shown, args[2]); {
		kind, b, err := c.Read(ctx)
		if err != nil {
			ts.Fatalf("%v; it shows %q", err, shown)
		}
		if kind == websocket.MessageBinary {
			shown += string(b)
			continue
		}
		fmt.Fprintf(ts.Stdout(), "%s\n", b)
		if !typed && strings.Contains(string(b), `"holder":"you"`) {
			typed, shown = true, ""
			ts.Check(c.Write(ctx, websocket.MessageBinary, []byte(args[1]+"\r")))
		}
	}
	ts.Check(c.Close(websocket.StatusNormalClosure, ""))
}
