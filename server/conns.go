package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"cmux/server/login"
)

const (
	// maxKnown bounds the connections of authenticated clients.
	maxKnown = 768
	// maxUnknown bounds the connections of unauthenticated clients. One more closes the
	// oldest of them: so filling them locks nobody out, especially not the monitor, which
	// asks for the server's identity.
	maxUnknown = 256
	// leaveTime is how long a closing connection may still send one request, which is
	// answered. At most maxUnknown connections have it.
	leaveTime = time.Second
)

// conns is a listener that tracks its connections.
type conns struct {
	net.Listener
	maxKnown, maxUnknown int
	leaveTime            time.Duration

	mu      sync.Mutex
	unknown list.List // of *conn, the oldest first
	leaving list.List // likewise
	known   map[*conn]string
	shut    bool // no new connections
}

func newConns(l net.Listener) *conns {
	return &conns{Listener: l, maxKnown: maxKnown, maxUnknown: maxUnknown, leaveTime: leaveTime, known: make(map[*conn]string)}
}

// conn is a connection of such a listener.
type conn struct {
	net.Conn
	of *conns
	at *list.Element // in unknown or, with a timer, in leaving; nil: in neither

	timer  *time.Timer // ends it, as it is to leave
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
		leaves := c.unknown.Front().Value.(*conn)
		c.unknown.Remove(leaves.at)
		leaves.at = c.leaving.PushBack(leaves)
		leaves.timer = time.AfterFunc(c.leaveTime, func() { leaves.Close() })
	}
	if c.leaving.Len() > c.maxUnknown {
		oldest = c.leaving.Front().Value.(*conn)
	}
	c.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
	return next, nil
}

func (o *conn) Close() error {
	o.of.mu.Lock()
	o.leave()
	delete(o.of.known, o)
	o.closed = true
	o.of.mu.Unlock()
	return o.Conn.Close()
}

// leave removes a connection from its list, under the lock.
func (o *conn) leave() {
	if o.at == nil {
		return
	}
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
		o.of.leaving.Remove(o.at)
	} else {
		o.of.unknown.Remove(o.at)
	}
	o.at = nil
}

// know records how a connection was authenticated. It returns false if the server has
// shut down or already has as many authenticated connections as it allows.
func (c *conns) know(o *conn, by string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut {
		return false
	}
	if o.closed {
		return true // the connection has ended, so nothing would remove it again
	}
	if o.at != nil {
		if len(c.known) >= c.maxKnown {
			return false
		}
		o.leave()
	}
	c.known[o] = by
	return true
}

// end ends the connections that were authenticated in one way, except the one of ctx.
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

// endAll ends every connection and refuses new ones.
func (c *conns) endAll() {
	var all []*conn
	c.mu.Lock()
	c.shut = true
	for _, l := range []*list.List{&c.unknown, &c.leaving} {
		for e := l.Front(); e != nil; e = e.Next() {
			all = append(all, e.Value.(*conn))
		}
	}
	for o := range c.known {
		all = append(all, o)
	}
	c.mu.Unlock()
	for _, o := range all {
		o.Close()
	}
}

// connKey is the key of the connection in a request's context.
type connKey struct{}

func (c *conns) context(ctx context.Context, o net.Conn) context.Context {
	if t, ok := o.(*tls.Conn); ok {
		o = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, o)
}

// parting answers requests on closing connections: with 429, unless the request is
// authenticated.
func (c *conns) parting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o, ok := r.Context().Value(connKey{}).(*conn); ok && c.leaves(o) && r.Header.Get("Authorization") == "" && len(r.Cookies()) == 0 {
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			login.Refuse(w, r, http.StatusTooManyRequests, "too many connections that nobody has logged in on", "the same in a second")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (c *conns) leaves(o *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return o.timer != nil
}

// knowing keeps authenticated connections open.
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
