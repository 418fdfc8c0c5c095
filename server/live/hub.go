package live

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"cmux/server/store"
)

const (
	// MaxWaiting is how many events wait for a client at most.
	MaxWaiting = 1000
	// maxClients bounds the clients.
	maxClients = 256
	// batch is how many events are read at once.
	batch = 500
	// statusEvery is how often at most clients are told how the organisation
	// stands, and statusSlow how often it is looked at when nothing happens.
	statusEvery = time.Second
	statusSlow  = 30 * time.Second
)

// Log is the log of events.
type Log interface {
	Head() store.Position
	After(ctx context.Context, seq int64, most int) ([]store.Event, error)
	Changed() <-chan struct{}
}

// Options is what a Hub is made of.
type Options struct {
	Log      Log
	Instance string
	Status   func(context.Context) (any, error) // how the organisation stands; nil: nobody is told
	Failed   func(error)                        // is told what went wrong; may be nil
}

// Hub tells its clients what happens. Its methods are for any goroutine.
type Hub struct {
	Options
	ctx     context.Context // of Run
	tasks   sync.WaitGroup
	reading sync.Mutex // held by who reads on for all

	mu      sync.Mutex
	at      store.Position       // up to where live clients were told
	live    map[*client]struct{} // that are told what is new
	clients int
	status  json.RawMessage // as told last
}

// NewHub is a hub, whose clients are told until ctx ends.
func NewHub(ctx context.Context, o Options) *Hub {
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return &Hub{Options: o, ctx: ctx, at: o.Log.Head(), live: make(map[*client]struct{})}
}

// Run tells clients what is new until the hub's context ends, and returns when
// they have gone.
func (h *Hub) Run() {
	slow := time.NewTicker(statusSlow)
	defer slow.Stop()
	soon := time.NewTimer(0)
	defer soon.Stop()
	due := false // to say how the organisation stands
	for {
		changed := h.Log.Changed()
		if err := h.advance(h.ctx); err != nil && h.ctx.Err() == nil {
			h.Failed(err)
		}
		select {
		case <-changed:
			if !due {
				due = true
				soon.Reset(statusEvery)
			}
		case <-soon.C:
			due = false
			h.tellStatus()
		case <-slow.C:
			h.tellStatus()
		case <-h.ctx.Done():
			h.mu.Lock() // who was let in before is counted now
			h.mu.Unlock()
			h.tasks.Wait()
			return
		}
	}
}

// advance tells live clients what is new.
func (h *Hub) advance(ctx context.Context) error {
	h.reading.Lock()
	defer h.reading.Unlock()
	for {
		head := h.Log.Head()
		h.mu.Lock()
		if head.Epoch != h.at.Epoch { // the numbers mean other events now
			for c := range h.live {
				h.leave(c)
				c.push(noticeOf(notice{Type: "reload", Epoch: head.Epoch, Seq: head.Seq}))
			}
		}
		if len(h.live) == 0 {
			h.at = head
		}
		at := h.at
		h.mu.Unlock()
		if at.Seq >= head.Seq {
			return nil
		}
		events, err := h.Log.After(ctx, at.Seq, batch)
		if err != nil || len(events) == 0 {
			return err
		}
		all := messages(events)
		h.mu.Lock()
		h.at.Seq = events[len(events)-1].Seq
		h.tell(all...)
		h.mu.Unlock()
	}
}

// tell pushes messages to live clients. It is called with the lock held.
func (h *Hub) tell(all ...message) {
	for c := range h.live {
		for _, m := range all {
			if !c.push(m) {
				h.leave(c)
				break
			}
		}
	}
}

func (h *Hub) leave(c *client) { delete(h.live, c) }

// join makes a client live that was told all up to a position. It reports false
// when there is more to be read first.
func (h *Hub) join(ctx context.Context, c *client, at store.Position) (bool, error) {
	for {
		h.mu.Lock()
		switch {
		case at == h.at:
			h.live[c] = struct{}{}
			c.push(noticeOf(notice{Type: "live", Epoch: at.Epoch, Seq: at.Seq}))
			if h.status != nil {
				c.push(heartbeat(h.status, time.Now().UTC()))
			}
			h.mu.Unlock()
			return true, nil
		case at.Epoch != h.at.Epoch, at.Seq < h.at.Seq:
			h.mu.Unlock()
			return false, nil
		}
		h.mu.Unlock()
		if err := h.advance(ctx); err != nil { // it has read further than the others
			return false, err
		}
	}
}

// tellStatus tells live clients how the organisation stands, where that is new.
func (h *Hub) tellStatus() {
	h.mu.Lock()
	nobody := len(h.live) == 0
	h.mu.Unlock()
	if nobody || h.Status == nil {
		return
	}
	s, err := h.Status(h.ctx)
	var b []byte
	if err == nil {
		b, err = json.Marshal(s)
	}
	if err != nil {
		if h.ctx.Err() == nil {
			h.Failed(err)
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !bytes.Equal(b, h.status) {
		h.status = b
		h.tell(heartbeat(b, time.Now().UTC()))
	}
}
