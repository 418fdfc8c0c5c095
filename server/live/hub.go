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
	// statusEvery is what lies at least between two looks at how the organization
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
	Status   func(context.Context) (any, error) // how the organization stands; nil: nobody is told
	Unlogged []string                           // beginnings of routes whose changes are not in the log
	Failed   func(error)                        // is told what went wrong; may be nil
}

// Hub tells its clients what happens. Its methods are for any goroutine.
type Hub struct {
	Options
	ctx     context.Context // of Run
	tasks   sync.WaitGroup
	reading sync.Mutex // held by who reads on for all

	look chan struct{} // has room for one: how the organization stands is to be looked at
	news chan struct{} // has room for one: there is something in changed

	mu       sync.Mutex
	at       store.Position       // up to where live clients were told
	live     map[*client]struct{} // that are told what is new
	clients  int
	changed  map[string]bool // routes that are to be told of
	status   json.RawMessage // as told last; nil: not since somebody listens
	statusAt time.Time       // it stood so
}

// NewHub is a hub, whose clients are told until ctx ends.
func NewHub(ctx context.Context, o Options) *Hub {
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return &Hub{Options: o, ctx: ctx, at: o.Log.Head(), live: make(map[*client]struct{}), look: make(chan struct{}, 1), news: make(chan struct{}, 1), changed: make(map[string]bool)}
}

// Run tells clients what is new until the hub's context ends, and returns when
// they have gone.
func (h *Hub) Run() {
	var telling sync.WaitGroup
	defer telling.Wait()
	if h.Status != nil {
		telling.Go(h.tellStatuses) // beside: one that takes long holds up no events
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

// leave is called with the lock held. What nobody hears of is not kept up to date.
func (h *Hub) leave(c *client) {
	delete(h.live, c)
	if len(h.live) == 0 {
		h.status = nil
	}
}

// join makes a client live that was told all up to a position. It reports false
// when there is more to be read first.
func (h *Hub) join(ctx context.Context, c *client, at store.Position) (bool, error) {
	for {
		h.mu.Lock()
		switch {
		case at == h.at:
			h.live[c] = struct{}{}
			c.push(noticeOf(notice{Type: "live", Epoch: at.Epoch, Seq: at.Seq}))
			if len(h.Unlogged) > 0 { // while it was away nobody told it of these
				c.push(changedRoutes(h.Unlogged, time.Now()))
			}
			if h.status != nil {
				c.push(heartbeat(h.status, h.statusAt))
			} else {
				h.lookSoon()
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

// changedPause is how long changes are gathered before clients are told of them.
const changedPause = 30 * time.Millisecond

// Changed tells live clients, soon, that these routes answer differently by now, and
// those that begin so. It is not in the log: it says where to look, not what happened.
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

// tellChanged tells live clients of what Changed gathers, until the hub's context
// ends.
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

// lookSoon has tellStatuses look at how the organization stands.
func (h *Hub) lookSoon() {
	select {
	case h.look <- struct{}{}:
	default:
	}
}

// tellStatuses tells live clients how the organization stands until the hub's
// context ends.
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

// tellStatus tells live clients how the organization stands, where that is new.
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
