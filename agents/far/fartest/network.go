package fartest

import (
	"errors"
	"io"
	"sync"
	"time"
)

// Network is connections in memory, between home and one machine, that can be cut after any
// byte, held up, and refused. Its connections suit a bubble of testing/synctest.
type Network struct {
	mu      sync.Mutex
	serve   func(io.ReadWriteCloser) // the machine's side; nil: it is down
	refused bool
	conns   map[*conn]bool // home's ends
	left    int            // bytes that still pass before a cut; negative: no cut
	until   time.Time      // nothing passes before
	all     sync.WaitGroup
}

// NewNetwork returns a network without a machine.
func NewNetwork() *Network { return &Network{conns: map[*conn]bool{}, left: -1} }

// Serve has each new connection answered by serve, which runs until its connection ends.
// nil has no connection answered, and cuts those that are.
func (n *Network) Serve(serve func(io.ReadWriteCloser)) {
	n.mu.Lock()
	n.serve = serve
	n.mu.Unlock()
	if serve == nil {
		n.Cut(0)
	}
}

// Wait waits until nobody answers any connection.
func (n *Network) Wait() { n.all.Wait() }

// Refuse has connections refused, or not any more.
func (n *Network) Refuse(refuse bool) {
	n.mu.Lock()
	n.refused = refuse
	n.mu.Unlock()
	if refuse {
		n.Cut(0)
	}
}

// Cut ends all connections after so many more bytes have passed in either direction.
func (n *Network) Cut(after int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left = after
	if after <= 0 {
		n.cut()
	}
}

func (n *Network) cut() {
	for c := range n.conns {
		c.in.end(errCut)
		c.out.end(errCut)
	}
	clear(n.conns)
	n.left = -1
}

var errCut = errors.New("connection reset by peer")

// Stall has nothing pass for a while.
func (n *Network) Stall(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.until = time.Now().Add(d)
}

// delay is how long nothing passes.
func (n *Network) delay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Until(n.until)
}

// pass returns how many of so many bytes pass before a cut.
func (n *Network) pass(size int) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.left < 0:
		return size, nil
	case size < n.left:
		n.left -= size
		return size, nil
	}
	some := n.left
	n.cut()
	return some, errCut
}

// Dial connects with the machine.
func (n *Network) Dial() (io.ReadWriteCloser, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.serve == nil || n.refused {
		return nil, errors.New("connection refused")
	}
	a, b := newStream(n), newStream(n)
	home, machine := &conn{in: a, out: b}, &conn{in: b, out: a}
	n.conns[home] = true
	serve := n.serve
	n.all.Go(func() { serve(machine) })
	return home, nil
}

// conn is one end of a connection.
type conn struct{ in, out *stream }

func (c *conn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }

func (c *conn) Close() error {
	c.in.end(io.ErrClosedPipe)
	c.out.end(io.EOF)
	return nil
}

// stream is one direction of a connection.
type stream struct {
	n     *Network
	mu    sync.Mutex
	b     []byte
	err   error         // after b
	ready chan struct{} // closed at the next change
}

func newStream(n *Network) *stream { return &stream{n: n, ready: make(chan struct{})} }

func (s *stream) tell() {
	close(s.ready)
	s.ready = make(chan struct{})
}

func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.tell()
	}
}

func (s *stream) read(b []byte) (int, error) {
	for {
		s.mu.Lock()
		n, err, ready := copy(b, s.b), s.err, s.ready
		s.b = s.b[n:]
		s.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case err != nil:
			return 0, err
		}
		<-ready
	}
}

func (s *stream) write(b []byte) (int, error) {
	for {
		s.mu.Lock()
		err, ready := s.err, s.ready
		s.mu.Unlock()
		if err != nil {
			return 0, io.ErrClosedPipe
		}
		wait := s.n.delay()
		if wait <= 0 {
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ready:
		}
		timer.Stop()
	}
	some, err := s.n.pass(len(b))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, b[:some]...)
	s.tell()
	return some, err
}
