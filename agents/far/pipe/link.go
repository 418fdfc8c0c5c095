package pipe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"cmux/agents/far"
)

// link is home's side of one connection. Its read must run until the connection is over.
type link struct {
	*wire
	beats func(all []held) []far.Ref // takes in a heartbeat, and returns what home accepts

	mu    sync.Mutex
	last  uint64                 // the last ID of a request
	calls map[uint64]chan *frame // what waits for frames with this ID
}

func newLink(conn io.ReadWriteCloser, beats func(all []held) []far.Ref) *link {
	return &link{wire: newWire(conn), beats: beats, calls: map[uint64]chan *frame{}}
}

// read distributes what comes. It waits for nobody.
func (l *link) read() {
	for {
		f, err := l.wire.read()
		if err != nil {
			l.fail(err)
			return
		}
		if f.Op == opBeat {
			if !l.hurry(&frame{Op: opAccept, ID: f.ID, Refs: l.beats(f.Held)}) {
				l.fail(errors.New("the machine reads nothing"))
				return
			}
			continue
		}
		l.mu.Lock()
		to := l.calls[f.ID]
		l.mu.Unlock()
		if to == nil {
			continue // its call has ended
		}
		select {
		case to <- f:
		default:
			l.fail(fmt.Errorf("the machine sent more of %d than it may", f.ID))
			return
		}
	}
}

// begin reserves an ID, whose frames come on the channel until end is called.
func (l *link) begin(room int) (id uint64, from chan *frame, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	id, from = l.last, make(chan *frame, room)
	l.calls[id] = from
	return id, from, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.calls, id)
	}
}

// errDown means that the connection ended before the answer came.
var errDown = errors.New("the connection has ended")

// call sends a request and waits for its reply. It fails with errDown if the connection
// ends, with ErrClosed if done is closed, and otherwise with what the machine replied.
func (l *link) call(ctx context.Context, done <-chan struct{}, f *frame) (*frame, error) {
	id, from, end := l.begin(1)
	defer end()
	f.ID = id
	b, err := encode(f)
	if err != nil {
		return nil, err
	}
	if err := l.sendLine(ctx, b); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, errDown
	}
	select {
	case r := <-from:
		return r, r.err()
	case <-l.down:
		return nil, errDown
	case <-done:
		return nil, far.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// follow calls f with the entries of an attempt from cur on, until the machine says that
// there are no more.
func (l *link) follow(ctx context.Context, done <-chan struct{}, ref far.Ref, cur *far.Cursor, f func(far.Entry) error) error {
	id, from, end := l.begin(window + 1)
	defer end()
	if err := l.send(ctx, &frame{Op: opFollow, ID: id, Ref: &ref, From: cur.At}); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return errDown
	}
	for {
		var r *frame
		select {
		case <-done:
			r = nil
		default:
			select {
			case r = <-from:
			case <-l.down:
				return errDown
			case <-ctx.Done():
				l.stop(id)
				return ctx.Err()
			case <-done:
			}
		}
		if r == nil {
			l.stop(id)
			return far.ErrClosed
		}
		if r.Op != opEntry || r.Entry == nil {
			return r.err()
		}
		next, err := cur.Take(r.Entry.Seq)
		if next && err == nil {
			err = f(*r.Entry)
		}
		if err != nil || r.Entry.Kind == far.End {
			l.stop(id)
			return err
		}
		if l.send(ctx, &frame{Op: opTook, ID: id}) != nil {
			continue // the next look at ctx and down says why
		}
	}
}

// stop tells the machine that home follows no more.
func (l *link) stop(id uint64) {
	f := &frame{Op: opStop, ID: id}
	if !l.hurry(f) {
		l.send(context.Background(), f) // ends with the connection, which guard bounds
	}
}

// mostNoise is how much a login shell may write before cmux does.
const mostNoise = 64 << 10

// hello agrees with the machine on the protocol, before read runs.
func (l *link) hello(ctx context.Context, home, cmux string) (far.Machine, time.Duration, error) {
	if err := l.send(ctx, &frame{Op: opHello, ID: 0, Version: far.Version, Home: home, Cmux: cmux}); err != nil {
		return far.Machine{}, 0, err
	}
	f, err := greeting(l.in)
	if err == nil {
		err = f.err()
	}
	switch {
	case err != nil:
	case f.Machine == nil || f.Machine.Name == "":
		err = errors.New("the machine does not say its name")
	case f.Version != far.Version:
		err = fmt.Errorf("cmux %s on %s speaks version %d of the protocol, and cmux %s at home speaks version %d: install the same cmux on both",
			f.Machine.Cmux, f.Machine.Name, f.Version, cmux, far.Version)
	default:
		return *f.Machine, f.Beat, nil
	}
	return far.Machine{}, 0, err
}

// greeting returns the first reply. Lines before that are no frames are what a login shell
// wrote; the last of them is in the error.
func greeting(in *bufio.Reader) (*frame, error) {
	var noise []byte
	for read := 0; ; {
		line, err := readLine(in)
		if err != nil {
			if len(noise) > 0 && errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("the connection ended after %.200q", noise)
			}
			return nil, err
		}
		f := &frame{}
		if json.Unmarshal(line, f) == nil && f.Op == opReply {
			return f, nil
		}
		noise = bytes.TrimSpace(line)
		if read += len(line) + 1; read > mostNoise {
			return nil, fmt.Errorf("the machine answers as no cmux does: %.200q", noise)
		}
	}
}
