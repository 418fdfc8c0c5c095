package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cmux/agents/control/project"
	"cmux/worktree/hint"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"cmux/agents/control/terminals"
	"cmux/agents/platform/tmux"
	"cmux/server/login"
	"cmux/signals"
)

const (
	// AgentPath and NodePath are where the websockets of terminals are.
	AgentPath = "/api/agents/{name}/terminal"
	NodePath  = "/api/runs/{id}/nodes/{node}/terminal"

	// maxClients bounds the clients.
	maxClients = 64
	// maxSent bounds one message of a client's, and maxTyped one of what is typed: keys,
	// and no text, which is pasted.
	maxSent  = 256 << 10
	maxTyped = 4 << 10
	// A client may send so many messages a second, and so many at once.
	sentRate, sentBurst = 100, 400

	// A program that was just started has its pane a moment later, and is looked for so
	// often.
	paneTries = 20
	paneSoon  = 50 * time.Millisecond

	pingEvery     = 30 * time.Second
	writePatience = 20 * time.Second
)

// Source knows the terminals. It is a [terminals.Terminals].
type Source interface {
	AgentSeat(ctx context.Context, name string) (*terminals.Seat, error)
	NodeSeat(ctx context.Context, id, node string) (*terminals.Seat, error)
	TakeSeat(ctx context.Context, s *terminals.Seat, by string) (release func(ctx context.Context, typed bool) error, err error)
	SeatLog(ctx context.Context, s *terminals.Seat, w io.Writer) error
}

// Options is what a Hub is made of.
type Options struct {
	Source Source
	Dir    string      // for named pipes, in a project's folder; an earlier server may have left some
	Failed func(error) // is told what went wrong; may be nil
}

// Hub shows terminals. Its methods are for any goroutine.
type Hub struct {
	Options
	ctx   context.Context
	tasks sync.WaitGroup

	mu      sync.Mutex
	clients int
	panes   map[string]*pane
	made    int
	servers map[string]*server // by socket
}

// server is the connection to a server of tmux: one, as tmux 3.3a dies of the end of
// many.
type server struct {
	turn   chan struct{} // holds one while somebody connects
	client *tmux.Client  // under the hub's lock
}

// NewHub is a hub that shows terminals until ctx ends.
func NewHub(ctx context.Context, o Options) *Hub {
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return &Hub{Options: o, ctx: ctx, panes: make(map[string]*pane), servers: make(map[string]*server)}
}

// Routes adds the websockets to mux.
func (h *Hub) Routes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+AgentPath, func(w http.ResponseWriter, r *http.Request) {
		h.serve(w, r, func(ctx context.Context) (*terminals.Seat, error) {
			return h.Source.AgentSeat(ctx, r.PathValue("name"))
		})
	})
	mux.HandleFunc("GET "+NodePath, func(w http.ResponseWriter, r *http.Request) {
		h.serve(w, r, func(ctx context.Context) (*terminals.Seat, error) {
			return h.Source.NodeSeat(ctx, r.PathValue("id"), r.PathValue("node"))
		})
	})
}

// Run returns when the hub's context has ended and everybody has gone.
func (h *Hub) Run() {
	<-h.ctx.Done()
	h.mu.Lock() // who was let in before is counted now
	servers := h.servers
	h.mu.Unlock()
	h.tasks.Wait()
	for _, on := range servers {
		if on.client != nil {
			on.client.Close()
		}
	}
	if h.made > 0 { // else the folder is none of ours
		if err := leave(h.Dir); err != nil {
			h.Failed(err)
		}
	}
}

// serve shows a terminal to who asks for a websocket. Whether it may, was decided
// before.
func (h *Hub) serve(w http.ResponseWriter, r *http.Request, find func(context.Context) (*terminals.Seat, error)) {
	h.mu.Lock()
	full := h.clients >= maxClients || h.ctx.Err() != nil
	if !full {
		h.clients++
		h.tasks.Add(1)
	}
	h.mu.Unlock()
	if full {
		login.Refuse(w, r, http.StatusServiceUnavailable, "too many terminals are watched", "close one of them")
		return
	}
	defer func() {
		h.mu.Lock()
		h.clients--
		h.mu.Unlock()
		h.tasks.Done()
	}()
	seat, err := find(r.Context())
	if err != nil {
		why, try := hint.Explain(err)
		status := http.StatusInternalServerError
		if errors.Is(err, project.ErrMissing) || try != "" {
			status = http.StatusNotFound
		}
		login.Refuse(w, r, status, why, try)
		return
	}
	// The gate has checked the origin: through a tunnel it need not be the host that is asked.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled, InsecureSkipVerify: true})
	if err != nil {
		return // it was answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxSent)
	ctx, cancel := context.WithCancelCause(h.ctx)
	defer cancel(nil)
	c := &client{hub: h, conn: conn, viewer: newViewer(), how: login.How(r.Context())}
	found, read := make(chan *pane, 1), make(chan struct{})
	go func() { // from now on, so that its going ends the search
		defer close(read)
		cancel(c.read(ctx, found))
	}()
	p, err := h.search(ctx, seat)
	if err != nil && ctx.Err() == nil {
		h.Failed(err)
	}
	if p != nil {
		select {
		case p.join <- c.viewer: // what it asks for counts from here
		case <-p.done:
		}
	}
	found <- p
	if p != nil {
		cancel(c.show(ctx, p))
		h.unwatch(p)
	} else {
		cancel(c.showLog(ctx, seat))
	}
	code, why := websocket.StatusNormalClosure, ""
	switch cause := context.Cause(ctx); {
	case h.ctx.Err() != nil:
		code, why = websocket.StatusGoingAway, "the server ends"
	case errors.Is(cause, errFlood):
		code, why = websocket.StatusPolicyViolation, cause.Error()
	}
	conn.Close(code, why)
	<-read
}

// search watches the pane of a seat, which may come a moment later; nil: it has none.
func (h *Hub) search(ctx context.Context, s *terminals.Seat) (*pane, error) {
	for tries := 0; ; tries++ {
		p, err := h.watch(ctx, s)
		if p != nil || err != nil || !s.Live || s.Server == nil || tries == paneTries {
			return p, err
		}
		select {
		case <-time.After(paneSoon):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// watch is the pane of a seat, which is watched from now on; nil: it has none.
func (h *Hub) watch(ctx context.Context, s *terminals.Seat) (*pane, error) {
	if s.Server == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	on, err := h.connect(ctx, s.Server)
	if err != nil || on == nil {
		return nil, err
	}
	h.mu.Lock()
	c := on.client
	h.mu.Unlock()
	at, err := c.Marked(ctx, s.Pane, s.Owner, s.Name)
	if err != nil || at == "" {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c = on.client // another one meanwhile, perhaps
	found := *s
	found.Pane, s = at, &found
	key := s.Server.Socket + " " + string(s.Pane)
	p := h.panes[key]
	if p == nil || p.client != c {
		if err := h.folder(); err != nil {
			return nil, err
		}
		h.made++
		life, cancel := context.WithCancel(h.ctx)
		p = &pane{hub: h, seat: s, client: c, number: h.made, cancel: cancel, done: make(chan struct{}),
			join: make(chan *viewer), leave: make(chan *viewer), asks: make(chan ask), printed: make(chan []byte),
			viewers: make(map[*viewer]state), lost: make(map[*viewer]string)}
		h.panes[key] = p
		go p.run(life)
	}
	p.users++
	return p, nil
}

// connect is the connection to a server of tmux; nil: it does not run. A server that
// hangs holds up nobody but those who want it.
func (h *Hub) connect(ctx context.Context, s *tmux.Server) (*server, error) {
	h.mu.Lock()
	on := h.servers[s.Socket]
	if on == nil {
		on = &server{turn: make(chan struct{}, 1)}
		h.servers[s.Socket] = on
	}
	h.mu.Unlock()
	select {
	case on.turn <- struct{}{}:
		defer func() { <-on.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	h.mu.Lock()
	old := on.client
	h.mu.Unlock()
	if old != nil && old.Err() == nil {
		return on, nil
	}
	if _, err := s.Exec(ctx, "list-sessions"); err != nil { // a connection would start it
		if errors.Is(err, tmux.ErrNoServer) {
			err = nil
		}
		return nil, err
	}
	if old != nil {
		old.Close()
	}
	c, err := s.Connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	on.client = c
	h.mu.Unlock()
	return on, nil
}

// folder makes the folder of pipes, which is empty of them at first.
func (h *Hub) folder() error {
	if err := signals.MkdirAll(h.Dir, 0o700); err != nil || h.made > 0 {
		return err
	}
	return sweep(h.Dir)
}

// pipeName is the name of a pane's pipe.
func pipeName(pane, tap int) string { return fmt.Sprintf("%d-%d", pane, tap) }

// sweep removes the pipes that an earlier server left, and nothing else: the folder
// may come from somebody else, with anything in it.
func sweep(dir string) error {
	all, err := signals.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range all {
		var pane, tap int
		if n, _ := fmt.Sscanf(e.Name(), "%d-%d", &pane, &tap); n != 2 || e.Name() != pipeName(pane, tap) || e.Type() != fs.ModeNamedPipe {
			continue
		}
		if gone := signals.RemoveFile(filepath.Join(dir, e.Name())); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// leave removes the folder of pipes, unless something else is in it.
func leave(dir string) error {
	err := sweep(dir)
	if gone := signals.RemoveDir(dir); !errors.Is(gone, fs.ErrNotExist) && !errors.Is(gone, fs.ErrExist) { // ENOTEMPTY is the latter
		err = errors.Join(err, gone)
	}
	return err
}

// unwatch ends the watching of a pane by one client.
func (h *Hub) unwatch(p *pane) {
	h.mu.Lock()
	p.users--
	last := p.users == 0
	if key := p.seat.Server.Socket + " " + string(p.seat.Pane); last && h.panes[key] == p {
		delete(h.panes, key)
	}
	h.mu.Unlock()
	if last {
		p.cancel()
		<-p.done
	}
}

// client is who watches a terminal.
type client struct {
	hub    *Hub
	conn   *websocket.Conn
	viewer *viewer
	how    string
}

// errFlood says that a client sends too much.
var errFlood = errors.New("too many messages")

// read takes in what the client says until it goes. The pane, or nil, is found
// meanwhile.
func (c *client) read(ctx context.Context, found <-chan *pane) error {
	limit := rate.NewLimiter(sentRate, sentBurst)
	var p *pane
	for {
		kind, b, err := c.conn.Read(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		if !limit.Allow() {
			return errFlood
		}
		if found != nil {
			select {
			case p = <-found:
				found = nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		a := ask{of: c.viewer, kind: "type", bytes: b, how: c.how}
		if kind == websocket.MessageText {
			var said struct{ Type, Text string }
			if json.Unmarshal(b, &said) != nil || said.Type != "take" && said.Type != "release" && said.Type != "paste" {
				refuse(c.viewer, errors.New("say take, release or paste"))
				continue
			}
			a.kind, a.bytes = said.Type, []byte(said.Text)
		}
		if a.kind == "type" && len(b) > maxTyped {
			refuse(c.viewer, fmt.Errorf("%d bytes are too many to type at once, and none was typed: paste them", len(b)))
			continue
		}
		if p == nil {
			refuse(c.viewer, errors.New("it has no pane: its log is shown, and nothing can be typed"))
			continue
		}
		select {
		case p.asks <- a:
		case <-ctx.Done():
			return ctx.Err()
		case <-p.done:
			return nil
		}
	}
}

// show shows a pane until the client goes.
func (c *client) show(ctx context.Context, p *pane) error {
	defer func() {
		select {
		case p.leave <- c.viewer:
		case <-p.done:
		}
	}()
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-c.viewer.more:
		case <-ping.C:
			if err := c.ping(ctx); err != nil {
				return err
			}
			continue
		case <-ctx.Done():
			return ctx.Err()
		case <-p.done:
			return nil
		}
		behind, err := c.drain(ctx)
		if err != nil {
			return err
		}
		if behind {
			select {
			case p.asks <- ask{of: c.viewer, kind: "screen"}:
			case <-ctx.Done():
			case <-p.done:
			}
		}
	}
}

// drain sends what waits. behind: the client is to be drawn a screen next.
func (c *client) drain(ctx context.Context) (behind bool, err error) {
	for {
		f, behind := c.viewer.take()
		if f == nil {
			return behind, nil
		}
		if err := c.send(ctx, *f); err != nil {
			return false, err
		}
	}
}

func (c *client) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	return c.conn.Ping(ctx)
}

// send sends a message. At the end of all it is finished, if that is soon: one that
// is broken off would close the connection without a word.
func (c *client) send(ctx context.Context, f frame) error {
	over := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writePatience)
	defer cancel()
	defer context.AfterFunc(over, func() { time.AfterFunc(time.Second, cancel) })()
	kind := websocket.MessageBinary
	if f.text {
		kind = websocket.MessageText
	}
	return c.conn.Write(ctx, kind, f.b)
}

// showLog shows the log of what has no pane until the client goes.
func (c *client) showLog(ctx context.Context, s *terminals.Seat) error {
	if err := c.send(ctx, frame{text: true, b: []byte(`{"type":"screen","log":true}`)}); err != nil {
		return err
	}
	ended := make(chan error, 1)
	following, stop := context.WithCancel(ctx)
	defer stop()
	c.hub.tasks.Go(func() { ended <- c.hub.Source.SeatLog(following, s, logWriter{ctx, c}) })
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case err := <-ended:
			ended = nil
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				refuse(c.viewer, err)
			}
			c.viewer.tell([]byte(`{"type":"ended"}`))
		case <-c.viewer.more:
			if _, err := c.drain(ctx); err != nil {
				return err
			}
		case <-ping.C:
			if err := c.ping(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// logWriter sends a log to a client, with line ends as a terminal needs them.
type logWriter struct {
	ctx context.Context
	c   *client
}

func (w logWriter) Write(b []byte) (int, error) {
	text := strings.ReplaceAll(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n", "\r\n")
	for rest := []byte(text); len(rest) > 0; {
		part := rest[:min(maxMessage, len(rest))]
		rest = rest[len(part):]
		if err := w.c.send(w.ctx, frame{b: part}); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
