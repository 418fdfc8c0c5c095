package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/signals"
)

// maxSocketPath is what every system takes as the address of a unix socket.
const maxSocketPath = 100

// reach calls f with an address for the socket at path, however long path is.
func reach(path string, f func(address string) error) error {
	if err := signals.Expect(path, fs.ModeSocket); err != nil {
		return err
	}
	if len(path) <= maxSocketPath {
		return f(path)
	}
	dir, release, err := shortDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer release()
	return f(filepath.Join(dir, filepath.Base(path)))
}

// ErrListening says that somebody already answers at a socket.
var ErrListening = errors.New("somebody already listens")

// server hands what comes in at a socket to the attempt.
type server struct {
	path  string
	l     *net.UnixListener
	door  *door // nil: everything comes in
	inbox chan attempt.Message

	over  chan struct{} // closed by close
	conns sync.WaitGroup
	mu    sync.Mutex
	open  map[net.Conn]bool
}

// listen takes the socket at path. A socket that nobody answers is a dead
// wrapper's and is replaced; the caller holds the node's lock.
func listen(ctx context.Context, path string, d *door) (*server, error) {
	s := &server{path: path, door: d, inbox: make(chan attempt.Message), over: make(chan struct{}), open: map[net.Conn]bool{}}
	err := reach(path, func(address string) (err error) {
		if c, err := (&net.Dialer{}).DialContext(ctx, "unix", address); err == nil {
			c.Close()
			return ErrListening
		}
		if err := signals.RemoveFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.l, err = net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
		if err != nil {
			return err
		}
		s.l.SetUnlinkOnClose(false) // the address may be gone by then
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		if s.l != nil {
			s.l.Close()
		}
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	s.conns.Add(1)
	go s.accept()
	return s, nil
}

func (s *server) accept() {
	defer s.conns.Done()
	for {
		c, err := s.l.Accept()
		if err != nil {
			select {
			case <-s.over:
				return
			default:
			}
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, most likely: others may close some.
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-s.over:
				return
			}
		}
		if s.admit(c) {
			go s.serve(c)
		}
	}
}

// admit takes a connection in, or ends one that comes too late: close has been
// through the open ones then, and waits for them.
func (s *server) admit(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.over:
		c.Close()
		return false
	default:
	}
	s.open[c] = true
	s.conns.Add(1)
	return true
}

// maxRequest bounds one request: a hook's payload or the files of a message, and
// what stands around them. What is not read is never held.
const maxRequest = maxPayload + 1<<20

// errTooLong says that a request has more than maxRequest bytes.
var errTooLong = fmt.Errorf("it has more than %d bytes", maxRequest)

// readAhead reads requests until one cannot be read, or left is closed. They are
// read ahead so that the end of the connection is seen while one is waiting for
// its reply.
func readAhead(c net.Conn, requests chan<- request, left <-chan struct{}) error {
	bound := &io.LimitedReader{R: c}
	dec := json.NewDecoder(bound)
	for {
		var q request
		bound.N = maxRequest
		err := dec.Decode(&q.raw)
		if err != nil && bound.N <= 0 {
			return errTooLong
		}
		if err == nil {
			err = json.Unmarshal(q.raw, &q.Message)
		}
		if err != nil {
			return err
		}
		select {
		case requests <- q:
		case <-left:
			return nil
		}
	}
}

func (s *server) serve(c net.Conn) {
	defer s.conns.Done()
	defer func() {
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
		c.Close()
	}()
	from := s.door.whose(c)
	enc := json.NewEncoder(c)
	requests, gone, left := make(chan request), make(chan struct{}), make(chan struct{})
	var fault error
	go func() {
		defer close(gone)
		fault = readAhead(c, requests, left)
	}()
	defer func() { c.Close(); close(left); <-gone }()
	for {
		var q request
		select {
		case q = <-requests:
		case <-gone:
			var syntax *json.SyntaxError
			var wrong *json.UnmarshalTypeError
			if errors.As(fault, &syntax) || errors.As(fault, &wrong) || errors.Is(fault, errTooLong) {
				enc.Encode(attempt.Reply{Error: "not a request: " + fault.Error()})
			}
			return
		}
		if err := s.door.admit(q, from); err != nil {
			if enc.Encode(attempt.Reply{Error: err.Error()}) != nil {
				return
			}
			continue
		}
		if q.Op == attempt.OpTried {
			var r attempt.Reply
			if err := s.door.tried(q, from); err != nil {
				r.Error = err.Error()
			}
			if enc.Encode(r) != nil {
				return
			}
			continue
		}
		reply, sent := make(chan attempt.Reply, 1), make(chan error, 1)
		r := attempt.Reply{Error: "the attempt has ended"}
		give := func(r attempt.Reply) error {
			reply <- r
			return <-sent
		}
		select {
		case s.inbox <- q.WithReply(give).WithGone(gone):
			select {
			case r = <-reply:
			case <-s.over:
				select {
				case r = <-reply:
				default:
				}
			}
		case <-s.over:
		}
		err := enc.Encode(r)
		sent <- err
		if err != nil {
			return
		}
		select {
		case <-s.over:
			return
		default:
		}
	}
}

// close ends all connections and removes the socket.
func (s *server) close() error {
	close(s.over)
	err := errors.Join(s.l.Close(), signals.RemoveFile(s.path))
	s.mu.Lock()
	for c := range s.open {
		// A pending request still gets its answer; reading is over.
		c.SetReadDeadline(time.Unix(1, 0))
	}
	s.mu.Unlock()
	s.conns.Wait()
	return err
}
