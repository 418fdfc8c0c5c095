package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/control/terminals"
	"cmux/agents/platform/tmux"
	"cmux/signals"
	"cmux/worktree/hint"
)

const (
	// lookEvery is how often a pane that is watched is looked at: for its size, its
	// end, and who types in it.
	lookEvery = 250 * time.Millisecond
	// freshEvery lies at least between two screens that were drawn as somebody did
	// not keep up.
	freshEvery = 500 * time.Millisecond
	// history is how many lines a screen has that scrolled away.
	history = 2000
	// justNow is how long somebody who typed in tmux is taken to be typing.
	justNow = 3 * time.Second
	// patience bounds one order to tmux or an agent, and endPatience those at the end.
	patience    = 15 * time.Second
	endPatience = 3 * time.Second
)

// pane is a pane that is watched. All that is not a channel belongs to run.
type pane struct {
	hub    *Hub
	seat   *terminals.Seat
	client *tmux.Client
	number int // tells its pipes from those of others
	cancel context.CancelFunc
	done   chan struct{}
	users  int // under the hub's lock

	join, leave chan *viewer
	asks        chan ask
	printed     chan []byte

	viewers map[*viewer]state // with what each was told last
	screen  tmux.Screen       // without its text
	tap     *tap
	taps    int
	drawn   time.Time
	due     bool   // somebody is to be drawn a screen
	gone    string // why there is nothing to be seen; empty: there is

	holder  *viewer
	release func(ctx context.Context, typed bool) error
	typed   bool                 // the holder has
	before  map[string]time.Time // when others had typed, as the holder began
	lost    map[*viewer]string   // why a holder is none any more
}

// ask is what a client says.
type ask struct {
	of    *viewer
	kind  string // take, release, paste, type, screen
	bytes []byte
	how   string // it was let in
}

// state is a terminal's status as sent to a client.
type state struct {
	Type   string `json:"type"`
	Live   bool   `json:"live"`
	Holder string `json:"holder"`
	Why    string `json:"why"`
}

// tap is a named pipe that a pane's output comes by.
type tap struct {
	path  string
	file  *os.File
	stop  chan struct{}
	ended chan struct{}
}

// openTap makes a pipe, and sends what comes by it to out.
func openTap(path string, out chan<- []byte) (*tap, error) {
	f, err := signals.MakePipe(path, 0o600) // it has no end while we hold both
	if err != nil {
		return nil, fmt.Errorf("a pipe for a terminal: %w", err)
	}
	t := &tap{path: path, file: f, stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		buf := make([]byte, 32<<10)
		for {
			n, err := f.Read(buf)
			select {
			case <-t.stop:
				return
			default:
			}
			if err != nil {
				return
			}
			select {
			case out <- append([]byte(nil), buf[:n]...):
			case <-t.stop:
				return
			}
		}
	}()
	return t, nil
}

// close ends the pipe, and returns when nothing of it is sent any more.
func (t *tap) close() error {
	close(t.stop)
	if conn, err := t.file.SyscallConn(); err == nil { // where a pipe cannot be polled, a byte wakes its reader
		_ = conn.Control(func(fd uintptr) {
			_ = unix.SetNonblock(int(fd), true)
			_, _ = unix.Write(int(fd), []byte{0})
		})
	}
	<-t.ended
	return errors.Join(t.file.Close(), signals.RemoveFile(t.path))
}

func (p *pane) run(ctx context.Context) {
	defer close(p.done)
	defer p.end(ctx)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case v := <-p.join:
			p.viewers[v] = state{}
			p.fresh(ctx)
		case v := <-p.leave:
			if p.holder == v {
				p.letGo(ctx, "")
			}
			delete(p.viewers, v)
			delete(p.lost, v)
		case a := <-p.asks:
			if _, here := p.viewers[a.of]; here {
				p.hear(ctx, a)
			}
		case b := <-p.printed:
			for v := range p.viewers {
				v.print(b)
			}
			continue
		case <-tick.C:
			p.look(ctx)
		case <-ctx.Done():
			return
		}
		p.tell()
	}
}

// end gives back what the pane has.
func (p *pane) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	p.letGo(ctx, "")
	if p.tap != nil {
		if err := p.unpipe(ctx); err != nil && !errors.Is(err, tmux.ErrGone) {
			p.hub.Failed(err)
		}
		p.untap()
	}
}

// unpipe has tmux write no more to the tap, at the end of ctx too.
func (p *pane) unpipe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	return p.client.Untap(ctx, p.seat.Pane, p.tap.path)
}

func (p *pane) untap() {
	if p.tap == nil {
		return
	}
	if err := p.tap.close(); err != nil {
		p.hub.Failed(err)
	}
	p.tap = nil
}

// fresh draws all clients the screen, and follows it from there. What came by the
// pipe before is on it.
func (p *pane) fresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p.due, p.drawn = false, time.Now()
	p.taps++
	path := filepath.Join(p.hub.Dir, pipeName(p.number, p.taps))
	p.untap()
	t, err := openTap(path, p.printed)
	if err != nil {
		p.fail(err)
		return
	}
	p.tap = t
	s, err := p.client.Tap(ctx, p.seat.Pane, path, history)
	if err != nil {
		// It may have taken effect all the same.
		if uerr := p.unpipe(ctx); uerr != nil && !errors.Is(uerr, tmux.ErrGone) && !errors.Is(uerr, tmux.ErrNoServer) {
			err = errors.Join(err, uerr)
		}
		p.untap()
		p.fail(err)
		return
	}
	p.gone = ""
	head := must(struct {
		Type string `json:"type"`
		Cols int    `json:"cols"`
		Rows int    `json:"rows"`
	}{"screen", s.Width, s.Height})
	for v := range p.viewers {
		v.draw(head, s.Text)
	}
	s.Text = nil
	p.screen = s
}

// fail says why there is nothing to be seen. It is looked for again.
func (p *pane) fail(err error) {
	p.due = true
	switch {
	case errors.Is(err, tmux.ErrNotFound), errors.Is(err, tmux.ErrGone), errors.Is(err, tmux.ErrNoServer):
		p.gone = "its pane is gone"
	case errors.Is(err, context.Canceled): // it is the end
	case errors.Is(err, tmux.ErrTapped):
		p.gone = err.Error()
	default:
		p.gone = "tmux does not show it now"
		p.hub.Failed(err)
	}
	p.screen = tmux.Screen{}
}

// look takes in how the pane is now.
func (p *pane) look(ctx context.Context) {
	if len(p.viewers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := p.client.Look(ctx, p.seat.Pane)
	switch {
	case err != nil && p.gone == "":
		p.fail(err)
	case err != nil:
	case p.due || p.tap == nil || s.Tap != p.tap.path || s.Width != p.screen.Width || s.Height != p.screen.Height || s.PID != p.screen.PID:
		if time.Since(p.drawn) >= freshEvery {
			p.fresh(ctx)
		} else {
			p.due = true
		}
	default:
		p.screen = s
	}
	if p.holder == nil {
		return
	}
	if !p.live() {
		p.letGo(ctx, "it has ended")
		return
	}
	all, err := p.client.Sitters(ctx, p.seat.Pane)
	if err != nil {
		return
	}
	if name := typedSince(all, p.before); name != "" {
		p.typed = false // what is taken over from now on is theirs
		p.letGo(ctx, "somebody sits at it in tmux, at "+name)
	}
}

func (p *pane) live() bool { return p.gone == "" && !p.screen.Dead }

// typedSince is a terminal that has come, or where something was typed, since others had been there;
// empty: there is none.
func typedSince(now []tmux.Sitter, before map[string]time.Time) string {
	for _, s := range now {
		if at, was := before[s.Name]; !was || s.Typed.After(at) {
			return s.Name
		}
	}
	return ""
}

// hear carries out what a client says.
func (p *pane) hear(ctx context.Context, a ask) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if a.kind == "screen" {
		if time.Since(p.drawn) >= freshEvery {
			p.fresh(ctx)
		} else {
			p.due = true
		}
		return
	}
	var err error
	switch a.kind {
	case "take":
		err = p.take(ctx, a)
	case "release":
		if p.holder == a.of {
			p.letGo(ctx, "")
		}
	default:
		err = p.write(ctx, a)
	}
	if err != nil {
		refuse(a.of, err)
	}
}

// take has a client be the one who types.
func (p *pane) take(ctx context.Context, a ask) error {
	switch {
	case p.holder == a.of:
		return nil
	case p.holder != nil:
		return errors.New("another page types in it: release it there first")
	case !p.live():
		return errors.New("its program has ended")
	}
	all, err := p.client.Sitters(ctx, p.seat.Pane)
	if err != nil {
		return err
	}
	before := make(map[string]time.Time, len(all))
	for _, s := range all {
		if since := time.Since(s.Typed); since < justNow {
			return fmt.Errorf("somebody sits at it in tmux, at %s: take it when they are done", s.Name)
		}
		before[s.Name] = s.Typed
	}
	release, err := p.hub.Source.TakeSeat(ctx, p.seat, "terminal "+a.how)
	if err != nil {
		return err
	}
	p.holder, p.release, p.typed, p.before = a.of, release, false, before
	delete(p.lost, a.of)
	return nil
}

// letGo has nobody type any more; why is for who did.
func (p *pane) letGo(ctx context.Context, why string) {
	if p.holder == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience) // who goes last ends ctx
	defer cancel()
	if err := p.release(ctx, p.typed); err != nil {
		p.hub.Failed(fmt.Errorf("%s is not released: %w", p.seat.Name, err))
	}
	if why != "" {
		p.lost[p.holder] = why
	}
	p.holder, p.release, p.typed, p.before = nil, nil, false, nil
}

// write types what a client sent.
func (p *pane) write(ctx context.Context, a ask) error {
	if p.holder != a.of {
		return errors.New("take it before you type")
	}
	s, err := p.client.Look(ctx, p.seat.Pane)
	switch {
	case err != nil:
		return err
	case s.Dead:
		return errors.New("its program has ended")
	case s.InMode:
		return errors.New("its pane is in copy mode in tmux: q there leads out")
	}
	p.typed = true
	if a.kind == "paste" {
		return p.client.Paste(ctx, p.seat.Pane, string(a.bytes))
	}
	return p.client.Type(ctx, p.seat.Pane, a.bytes)
}

// tell sends the terminal's changes to clients.
func (p *pane) tell() {
	for v, told := range p.viewers {
		s := state{Type: "state", Live: p.live(), Why: p.gone}
		switch {
		case p.holder == v:
			s.Holder = "you"
		case p.holder != nil:
			s.Holder = "other"
		}
		if s.Why == "" {
			s.Why = p.lost[v]
		}
		if s.Why == "" && p.screen.InMode {
			s.Why = "its pane is in copy mode in tmux"
		}
		if s != told {
			v.tell(must(s))
			p.viewers[v] = s
		}
	}
}

// refuse tells a client why its request was refused.
func refuse(v *viewer, err error) {
	why, try := hint.Explain(err)
	v.tell(must(struct {
		Type   string `json:"type"`
		Detail string `json:"detail"`
		Try    string `json:"try,omitempty"`
	}{"refused", why, try}))
}

// must is a message as JSON, which those of this package can be.
func must(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
