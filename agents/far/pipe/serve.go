package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"cmux/agents/far"
)

// Serve is the machine's side of one connection: it answers home's requests from w, and
// sends a heartbeat every beat. It returns after the connection has ended, nil if home
// closed it. Close of conn must end a blocked Read and Write.
func Serve(ctx context.Context, conn io.ReadWriteCloser, w far.Worker, beat time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{
		wire: newWire(conn), worker: w, beat: beat,
		kick: make(chan struct{}, 1), sent: map[uint64]time.Time{}, follows: map[uint64]*outgoing{},
	}
	s.all.Go(s.write)
	s.all.Go(func() { s.guard(beat) })
	s.all.Go(func() {
		<-ctx.Done()
		s.fail(context.Cause(ctx))
	})
	err := s.serve(ctx)
	s.fail(err)
	cancel()
	s.all.Wait()
	if errors.Is(s.err, io.EOF) || errors.Is(s.err, io.ErrClosedPipe) || errors.Is(s.err, syscall.EPIPE) {
		return nil
	}
	return s.err
}

// server is the machine's side of a connection.
type server struct {
	*wire
	worker far.Worker
	beat   time.Duration
	home   string
	all    sync.WaitGroup
	kick   chan struct{} // asks for a heartbeat now

	mu      sync.Mutex
	sent    map[uint64]time.Time // the heartbeats that home has not answered
	follows map[uint64]*outgoing
}

// outgoing is a Follow of home.
type outgoing struct {
	stop context.CancelFunc
	room chan struct{} // holds a token for each entry that home has not taken in
}

func (s *server) serve(ctx context.Context) error {
	if err := s.welcome(ctx); err != nil {
		return err
	}
	s.all.Go(func() { s.beats(ctx) })
	for {
		f, err := s.read()
		if err != nil {
			return err
		}
		switch f.Op {
		case opAccept:
			s.accepted(f)
		case opTook, opStop:
			s.steer(f)
		case opFollow:
			ctx, stop := context.WithCancel(ctx)
			o := &outgoing{stop: stop, room: make(chan struct{}, window)}
			s.mu.Lock()
			s.follows[f.ID] = o
			s.mu.Unlock()
			s.all.Go(func() {
				defer stop()
				s.follow(ctx, f, o)
			})
		default:
			s.all.Go(func() { s.answer(ctx, f) })
		}
	}
}

// welcome answers home's hello.
func (s *server) welcome(ctx context.Context) error {
	f, err := s.read()
	if err != nil {
		return err
	}
	if f.Op != opHello || f.Home == "" {
		return fmt.Errorf("the other side sent %q instead of hello", f.Op)
	}
	m, err := s.worker.Describe(ctx)
	if err == nil && f.Version != far.Version {
		err = fmt.Errorf("cmux %s at home speaks version %d of the protocol, and cmux %s on %s speaks version %d: install the same cmux on both",
			f.Cmux, f.Version, m.Cmux, m.Name, far.Version)
	}
	r := &frame{Op: opReply, ID: f.ID, Version: far.Version, Beat: s.beat, Machine: &m}
	r.failed(err)
	s.home = f.Home
	if e := s.send(ctx, r); e != nil || err == nil {
		return e
	}
	for { // home reads the refusal and closes the connection
		if _, e := s.read(); e != nil {
			return err
		}
	}
}

// beats sends heartbeats. It has no part in what else the connection does.
func (s *server) beats(ctx context.Context) {
	tick := time.NewTicker(s.beat)
	defer tick.Stop()
	for n := uint64(1); ; n++ {
		s.sendBeat(ctx, n)
		select {
		case <-tick.C:
		case <-s.kick:
		case <-ctx.Done():
			return
		}
	}
}

func (s *server) sendBeat(ctx context.Context, n uint64) {
	all, err := s.worker.Held(ctx, s.home)
	if err != nil {
		return // a machine that cannot read its disk renews nothing
	}
	f := &frame{Op: opBeat, ID: n, Held: list(all)}
	s.mu.Lock()
	s.sent[n] = time.Now()
	delete(s.sent, n-min(n, 2*patience))
	s.mu.Unlock()
	s.hurry(f) // if the ones before are not even written, the next will do
}

// accepted takes in home's answer to a heartbeat.
func (s *server) accepted(f *frame) {
	s.mu.Lock()
	sent, ok := s.sent[f.ID]
	delete(s.sent, f.ID)
	s.mu.Unlock()
	if ok && len(f.Refs) > 0 {
		s.worker.Renew(f.Refs, sent)
	}
}

// steer passes a word of home to a Follow.
func (s *server) steer(f *frame) {
	s.mu.Lock()
	o := s.follows[f.ID]
	s.mu.Unlock()
	switch {
	case o == nil: // it has ended meanwhile
	case f.Op == opStop:
		o.stop()
	default:
		select {
		case <-o.room:
		default:
		}
	}
}

// answer carries out a request and replies. It does not reply once the connection ends:
// home then repeats the request.
func (s *server) answer(ctx context.Context, f *frame) {
	r := &frame{Op: opReply, ID: f.ID}
	err := s.request(ctx, f, r)
	if ctx.Err() != nil {
		return
	}
	r.failed(err)
	s.reply(ctx, r)
	if f.Op == opOpen && err == nil {
		select {
		case s.kick <- struct{}{}: // the program starts when home accepts a heartbeat
		default:
		}
	}
}

// reply sends a reply, or in its place that it is too large.
func (s *server) reply(ctx context.Context, r *frame) {
	b, err := encode(r)
	if err != nil {
		b, err = encode(&frame{Op: opReply, ID: r.ID, Error: err.Error()})
	}
	if err == nil {
		s.sendLine(ctx, b) // fails with the connection
	}
}

func (s *server) request(ctx context.Context, f, r *frame) error {
	if f.Op == opDescribe {
		m, err := s.worker.Describe(ctx)
		r.Machine = &m
		return err
	}
	if f.Op == opHeld {
		all, err := s.worker.Held(ctx, s.home)
		r.Held = list(all)
		return err
	}
	if f.Ref == nil {
		return fmt.Errorf("%q names no attempt", f.Op)
	}
	if err := f.Ref.Check(); err != nil {
		return err
	}
	switch f.Op {
	case opOpen:
		if f.Need == nil || f.Job == nil {
			return errors.New("open has no job")
		}
		return s.worker.Open(ctx, s.home, *f.Ref, *f.Need, *f.Job)
	case opPut:
		return s.worker.Put(ctx, *f.Ref, f.Entries...)
	case opClose:
		return s.worker.Close(ctx, *f.Ref, f.Why)
	}
	return fmt.Errorf("this cmux does not know the request %q", f.Op)
}

// follow streams entries, and replies after the last.
func (s *server) follow(ctx context.Context, f *frame, o *outgoing) {
	defer func() {
		s.mu.Lock()
		delete(s.follows, f.ID)
		s.mu.Unlock()
	}()
	err := errors.New("follow names no attempt")
	if f.Ref != nil {
		if err = f.Ref.Check(); err == nil {
			err = s.worker.Follow(ctx, *f.Ref, f.From, func(e far.Entry) error {
				select {
				case o.room <- struct{}{}:
				case <-ctx.Done():
					return ctx.Err()
				}
				return s.send(ctx, &frame{Op: opEntry, ID: f.ID, Entry: &e})
			})
		}
	}
	if ctx.Err() != nil {
		return // home stopped it, or is gone
	}
	r := &frame{Op: opReply, ID: f.ID}
	r.failed(err)
	s.reply(ctx, r)
}

func list(all map[far.Ref]far.State) []held {
	var l []held
	for ref, state := range all {
		l = append(l, held{ref, state})
	}
	return l
}
