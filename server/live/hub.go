package live

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
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
	// statusEvery is the minimum time between two checks of the organization's status, and
	// statusSlow the interval when nothing happens.
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
	Status   func(context.Context) (any, error) // the organization's status; nil: none is sent
	Unlogged []string                           // prefixes of routes whose changes are not in the log
	Failed   func(error)                        // gets errors; may be nil
}

// Hub sends events to its clients. It is safe for concurrent use.
type Hub struct {
	Options
	ctx     context.Context // of Run
	tasks   sync.WaitGroup
	reading sync.Mutex // held by the reader for all clients

	look chan struct{} // has room for one: the status must be checked
	news chan struct{} // has room for one: there is something in changed

	mu       sync.Mutex
	at       store.Position       // position that live clients have reached
	live     map[*client]struct{} // clients that get new events
	clients  int
	changed  map[string]bool // changed routes to report
	status   json.RawMessage // as last sent; nil: not since a client is live
	statusAt time.Time       // it stood so

	unfinished map[string]message // texts that members of rooms are writing, by ROOM.NAME
}

// NewHub returns a hub that serves clients until ctx ends.
func NewHub(ctx context.Context, o Options) *Hub {
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return &Hub{Options: o, ctx: ctx, at: o.Log.Head(), live: make(map[*client]struct{}), look: make(chan struct{}, 1), news: make(chan struct{}, 1), changed: make(map[string]bool), unfinished: make(map[string]message)}
}

// Run sends new events to clients until the hub's context ends, and returns when they have
// disconnected.
func (h *Hub) Run() {
	var telling sync.WaitGroup
	defer telling.Wait()
	if h.Status != nil {
		telling.Go(h.tellStatuses) // separate: a slow status must not delay events
	}
	telling.Go(h.tellChanged)
	for {
		changed := h.Log.Changed()
		if err := h.advance(h.ctx); err != nil && h.ctx.Err() == nil {
			h.Failed(err)
		}
		select {
		case <-changed:
			h.lookSoon()
		case <-h.ctx.Done():
			h.mu.Lock() // clients accepted before are counted now
			h.mu.Unlock()
			h.tasks.Wait()
			return
		}
	}
}

// advance sends new events to live clients.
func (h *Hub) advance(ctx context.Context) error {
	h.reading.Lock()
	defer h.reading.Unlock()
	for {
		head := h.Log.Head()
		h.mu.Lock()
		if head.Epoch != h.at.Epoch { // the seq numbers belong to another log
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

// tell sends messages to live clients. The caller holds the lock.
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

// leave is called with the lock held. Without live clients, the hub stops updating.
func (h *Hub) leave(c *client) {
	delete(h.live, c)
	if len(h.live) == 0 {
		h.status = nil
	}
}

// join makes a client live that has all events up to a position. It reports false if there
// are more to read first.
func (h *Hub) join(ctx context.Context, c *client, at store.Position) (bool, error) {
	for {
		h.mu.Lock()
		switch {
		case at == h.at:
			h.live[c] = struct{}{}
			c.push(noticeOf(notice{Type: "live", Epoch: at.Epoch, Seq: at.Seq}))
			if len(h.Unlogged) > 0 { // it missed reports about these while it was away
				c.push(changedRoutes(h.Unlogged, time.Now()))
			}
			if h.status != nil {
				c.push(heartbeat(h.status, h.statusAt))
			} else {
				h.lookSoon()
			}
			for key, m := range h.unfinished {
				c.replace(key, m)
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

// changedPause is how long changes are collected before they are sent to clients.
const changedPause = 30 * time.Millisecond

// Changed reports to live clients, soon, that these routes and those below them answer
// differently. It is not in the log: it says where to look, not what happened.
func (h *Hub) Changed(routes ...string) {
	h.mu.Lock()
	if len(h.live) > 0 {
		for _, r := range routes {
			h.changed[r] = true
		}
	}
	h.mu.Unlock()
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// tellChanged sends the changes collected by Changed to live clients, until the hub's
// context ends.
func (h *Hub) tellChanged() {
	for {
		select {
		case <-h.news:
		case <-h.ctx.Done():
			return
		}
		select {
		case <-time.After(changedPause):
		case <-h.ctx.Done():
			return
		}
		h.mu.Lock()
		if routes := slices.Sorted(maps.Keys(h.changed)); len(routes) > 0 {
			clear(h.changed)
			h.tell(changedRoutes(routes, time.Now()))
		}
		h.mu.Unlock()
	}
}

// lookSoon makes tellStatuses check the organization's status.
func (h *Hub) lookSoon() {
	select {
	case h.look <- struct{}{}:
	default:
	}
}

// tellStatuses sends the organization's status to live clients until the hub's context
// ends.
func (h *Hub) tellStatuses() {
	slow := time.NewTicker(statusSlow)
	defer slow.Stop()
	for {
		select {
		case <-h.look:
		case <-slow.C:
		case <-h.ctx.Done():
			return
		}
		h.tellStatus()
		select {
		case <-time.After(statusEvery):
		case <-h.ctx.Done():
			return
		}
	}
}

// tellStatus sends the organization's status to live clients if it has changed.
func (h *Hub) tellStatus() {
	h.mu.Lock()
	nobody := len(h.live) == 0
	h.mu.Unlock()
	if nobody {
		return
	}
	at := time.Now().UTC()
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
	if len(h.live) == 0 {
		return
	}
	fresh := !bytes.Equal(b, h.status)
	h.status, h.statusAt = b, at
	if fresh {
		h.tell(heartbeat(b, at))
	}
}
