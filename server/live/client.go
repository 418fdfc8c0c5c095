package live

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"cmux/server/login"
	"cmux/server/store"
)

const (
	// pingEvery is the interval of pings to a client.
	pingEvery = 30 * time.Second
	// writePatience bounds the wait for a client to accept a message, or to answer.
	writePatience = 20 * time.Second
	// A client may send so many messages in so long.
	maxSent    = 100
	sentWithin = 10 * time.Second
)

// ask is a client's message: the position from which it wants events.
type ask struct {
	Type  string `json:"type"`  // from
	Epoch string `json:"epoch"` // of the last event that it has; empty: only new events
	Seq   int64  `json:"seq"`
}

// client is a connected client. Its queue is protected by its lock.
type client struct {
	hub  *Hub
	conn *websocket.Conn
	asks chan struct{} // has room for one: there is an ask

	mu      sync.Mutex
	asked   *ask // the newest that was not taken
	queue   []message
	waiting int // events in it
	behind  bool
	more    chan struct{} // has room for one: there is something in the queue
	sent    int64         // seq of the last event that it was sent

	latest map[string]message // to be sent behind the queue; what comes for the same key meanwhile replaces it
}

// push queues a message for the client. If too much waits, push returns false: the client
// gets a notice after the queue, and nothing more until it asks again.
func (c *client) push(m message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.behind:
		return false
	case m.events > 0 && c.waiting > 0 && c.waiting+m.events > MaxWaiting:
		c.behind = true
	default:
		c.queue = append(c.queue, m)
		c.waiting += m.events
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
	return !c.behind
}

// replace queues a message for the client in the place of one that waits for the same key,
// so that a slow client keeps nothing waiting.
func (c *client) replace(key string, m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil {
		c.latest = make(map[string]message)
	}
	c.latest[key] = m
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// take returns the queue of the client, and what is sent behind it.
func (c *client) take() (all []message, latest map[string]message, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, c.queue = c.queue, nil
	latest, c.latest = c.latest, nil
	return all, latest, c.behind
}

// taken records that events of the queue were sent.
func (c *client) taken(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting -= n
}

// ServeHTTP serves a websocket. The caller has checked the login.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	full := h.clients >= maxClients || h.ctx.Err() != nil
	if !full {
		h.clients++
		h.tasks.Add(1)
	}
	h.mu.Unlock()
	if full {
		login.Refuse(w, r, http.StatusServiceUnavailable, "the server has too many clients", "")
		return
	}
	defer func() {
		h.mu.Lock()
		h.clients--
		h.mu.Unlock()
		h.tasks.Done()
	}()
	// The gate has checked the origin: through a tunnel it may differ from the requested
	// host.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled, InsecureSkipVerify: true})
	if err != nil {
		return // it was answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(MaxMessage)
	c := &client{hub: h, conn: conn, asks: make(chan struct{}, 1), more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancelCause(h.ctx)
	read := make(chan struct{})
	go func() {
		defer close(read)
		cancel(c.read(ctx))
	}()
	cancel(c.write(ctx))
	code, why := closing(context.Cause(ctx), h.ctx.Err() != nil)
	conn.Close(code, why)
	<-read
	h.mu.Lock()
	h.leave(c)
	h.mu.Unlock()
}

// errFlood means that a client sends too much.
var errFlood = errors.New("more than 100 messages in 10 s")

// closing is how a connection is closed, and why.
func closing(err error, over bool) (websocket.StatusCode, string) {
	switch {
	case over:
		return websocket.StatusGoingAway, "the server ends"
	case errors.Is(err, errFlood):
		return websocket.StatusPolicyViolation, err.Error()
	}
	return websocket.StatusNormalClosure, ""
}

// read receives the client's messages until it disconnects. Cancelling a read would close
// the connection without a close message.
func (c *client) read(ctx context.Context) error {
	var at [maxSent]time.Time
	for n := 0; ; n++ {
		kind, b, err := c.conn.Read(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		now := time.Now()
		if first := at[n%maxSent]; !first.IsZero() && now.Sub(first) < sentWithin {
			return errFlood
		}
		at[n%maxSent] = now
		var a ask
		if kind != websocket.MessageText || json.Unmarshal(b, &a) != nil || a.Type != "from" || a.Seq < 0 {
			c.push(noticeOf(notice{Type: "error", Detail: `say {"type":"from","epoch":EPOCH,"seq":SEQ}`}))
			continue
		}
		c.ask(a)
	}
}

// ask stores the client's newest request, without waiting, because the reader must also
// receive pongs.
func (c *client) ask(a ask) {
	c.mu.Lock()
	c.asked = &a
	c.mu.Unlock()
	select {
	case c.asks <- struct{}{}:
	default:
	}
}

// takeAsk returns the client's request; nil: it was taken already.
func (c *client) takeAsk() *ask {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.asked
	c.asked = nil
	return a
}

// write sends messages to the client until it disconnects.
func (c *client) write(ctx context.Context) error {
	head := c.hub.Log.Head()
	if err := c.send(ctx, noticeOf(notice{Type: "hello", Epoch: head.Epoch, Seq: head.Seq, Instance: c.hub.Instance})); err != nil {
		return err
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-c.asks:
			if a := c.takeAsk(); a != nil {
				if err := c.begin(ctx, *a); err != nil {
					return err
				}
			}
		case <-c.more:
			if err := c.drain(ctx); err != nil {
				return err
			}
		case <-ping.C:
			ctx, cancel := context.WithTimeout(ctx, writePatience)
			err := c.conn.Ping(ctx)
			cancel()
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drain sends the queue.
func (c *client) drain(ctx context.Context) error {
	all, latest, behind := c.take()
	for _, m := range all {
		if err := c.send(ctx, m); err != nil {
			return err
		}
		c.taken(m.events)
	}
	for _, m := range latest {
		if err := c.send(ctx, m); err != nil {
			return err
		}
	}
	if behind {
		c.mu.Lock()
		empty, seq := len(c.queue) == 0, c.sent
		c.mu.Unlock()
		if empty {
			return c.send(ctx, noticeOf(notice{Type: "behind", Seq: seq}))
		}
	}
	return nil
}

// begin sends all events after the client's position and then makes it live.
func (c *client) begin(ctx context.Context, a ask) error {
	h := c.hub
	h.mu.Lock()
	h.leave(c)
	h.mu.Unlock()
	c.mu.Lock()
	c.queue, c.latest, c.waiting, c.behind = nil, nil, 0, false
	c.mu.Unlock()
	head := h.Log.Head()
	at := store.Position{Epoch: a.Epoch, Seq: a.Seq}
	if a.Epoch == "" {
		at = head
	}
	c.mu.Lock()
	c.sent = at.Seq
	c.mu.Unlock()
	for {
		if head = h.Log.Head(); at.Epoch != head.Epoch || at.Seq > head.Seq {
			return c.send(ctx, noticeOf(notice{Type: "reload", Epoch: head.Epoch, Seq: head.Seq}))
		}
		if at.Seq == head.Seq {
			joined, err := h.join(ctx, c, at)
			if joined {
				return nil
			}
			if err != nil {
				return c.failed(ctx, err)
			}
		}
		events, err := h.Log.After(ctx, at.Seq, batch)
		if err != nil {
			return c.failed(ctx, err)
		}
		for _, m := range messages(events) {
			if err := c.send(ctx, m); err != nil {
				return err
			}
			at.Seq = m.last
		}
	}
}

// failed tells the client that the log cannot be read now. It asks again.
func (c *client) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.hub.Failed(err)
	return c.send(ctx, noticeOf(notice{Type: "behind", Seq: c.sent, Detail: "the log cannot be read now: ask again"}))
}

// send sends a message. At the end of the server it finishes the message if that is quick:
// an interrupted one would close the connection without a close message.
func (c *client) send(ctx context.Context, m message) error {
	over := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writePatience)
	defer cancel()
	defer context.AfterFunc(over, func() { time.AfterFunc(time.Second, cancel) })()
	if err := c.conn.Write(ctx, websocket.MessageText, m.text); err != nil {
		return err
	}
	if m.last > 0 {
		c.mu.Lock()
		c.sent = m.last
		c.mu.Unlock()
	}
	return nil
}
