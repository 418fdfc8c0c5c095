package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"

	"cmux/server/login"
)

const (
	// maxKnown bounds the connections of those who are logged in or have the token.
	maxKnown = 768
	// maxUnknown bounds those of anybody. One more ends the oldest of them: who fills
	// them keeps nobody out, the monitor least of all, which asks who the server is.
	maxUnknown = 256
)

// conns is a listener that knows its connections.
type conns struct {
	net.Listener
	maxKnown, maxUnknown int

	mu      sync.Mutex
	unknown list.List // of *conn, the oldest first
	known   map[*conn]string
	shut    bool // nobody is let in any more
}

func newConns(l net.Listener) *conns {
	return &conns{Listener: l, maxKnown: maxKnown, maxUnknown: maxUnknown, known: make(map[*conn]string)}
}

// conn is a connection of such a listener.
type conn struct {
	net.Conn
	of *conns
	at *list.Element // among the unknown; nil: it is not

	closed bool
}

func (c *conns) Accept() (net.Conn, error) {
	one, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	next := &conn{Conn: one, of: c}
	c.mu.Lock()
	next.at = c.unknown.PushBack(next)
	var oldest *conn
	if c.unknown.Len() > c.maxUnknown {
		oldest = c.unknown.Front().Value.(*conn)
	}
	c.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
	return next, nil
}

func (o *conn) Close() error {
	o.of.mu.Lock()
	if o.at != nil {
		o.of.unknown.Remove(o.at)
		o.at = nil
	}
	delete(o.of.known, o)
	o.closed = true
	o.of.mu.Unlock()
	return o.Conn.Close()
}

// know takes note of how a connection was let in. It reports whether there is room.
func (c *conns) know(o *conn, by string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut {
		return false
	}
	if o.closed {
		return true // its answer reaches nobody, and nobody would forget it again
	}
	if o.at != nil {
		if len(c.known) >= c.maxKnown {
			return false
		}
		c.unknown.Remove(o.at)
		o.at = nil
	}
	c.known[o] = by
	return true
}

// end ends the connections that were let in in a way, but for the one of ctx.
func (c *conns) end(ctx context.Context, by string) {
	mine, _ := ctx.Value(connKey{}).(*conn)
	var all []*conn
	c.mu.Lock()
	for o, how := range c.known {
		if how == by && o != mine {
			all = append(all, o)
		}
	}
	c.mu.Unlock()
	for _, o := range all {
		o.Close()
	}
}

// endAll ends every connection, and lets none stay from now on.
func (c *conns) endAll() {
	var all []*conn
	c.mu.Lock()
	c.shut = true
	for e := c.unknown.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*conn))
	}
	for o := range c.known {
		all = append(all, o)
	}
	c.mu.Unlock()
	for _, o := range all {
		o.Close()
	}
}

// connKey is where a request's context has its connection.
type connKey struct{}

func (c *conns) context(ctx context.Context, o net.Conn) context.Context {
	if t, ok := o.(*tls.Conn); ok {
		o = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, o)
}

// knowing has the connections of those who were let in stay.
func (c *conns) knowing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := login.How(r.Context())
		if o, ok := r.Context().Value(connKey{}).(*conn); ok && by != "" && !c.know(o, by) {
			w.Header().Set("Connection", "close")
			login.Refuse(w, r, http.StatusServiceUnavailable, "too many connections", "")
			return
		}
		next.ServeHTTP(w, r)
	})
}
