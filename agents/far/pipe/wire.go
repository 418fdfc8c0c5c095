package pipe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"cmux/agents/far"
)

// maxFrame bounds a frame, which is one line of JSON.
const maxFrame = 4 << 20

// window is how many entries of one Follow home lets a machine send ahead.
const window = 16

// op is what a frame is for.
type op string

const (
	// Home's requests. A reply with the same ID follows.
	opHello    op = "hello"
	opDescribe op = "describe"
	opOpen     op = "open"
	opPut      op = "put"
	opFollow   op = "follow" // entries with the same ID come before the reply
	opHeld     op = "held"
	opClose    op = "close"

	opTook   op = "took"   // home has taken in an entry of the Follow with this ID
	opStop   op = "stop"   // home stops the Follow with this ID
	opAccept op = "accept" // home accepts the heartbeat with this ID for Refs

	// A machine's.
	opReply op = "reply"
	opEntry op = "entry" // of a Follow
	opBeat  op = "beat"  // heartbeat: Held are the attempts of home
)

// frame is one message in either direction. Which fields it has depends on its Op.
type frame struct {
	Op      op            `json:"op"`
	ID      uint64        `json:"id,omitempty"`
	Version int           `json:"version,omitempty"` // hello: of the protocol
	Home    string        `json:"home,omitempty"`    // hello
	Cmux    string        `json:"cmux,omitempty"`    // hello: version of home's cmux
	Beat    time.Duration `json:"beat,omitempty"`    // reply to hello: how often the machine sends a heartbeat
	Ref     *far.Ref      `json:"ref,omitempty"`
	Need    *far.Need     `json:"need,omitempty"`
	Job     *far.Job      `json:"job,omitempty"`
	Entries []far.Entry   `json:"entries,omitempty"`
	Entry   *far.Entry    `json:"entry,omitempty"`
	From    uint64        `json:"from,omitempty"`
	Why     far.Why       `json:"why,omitempty"`
	Machine *far.Machine  `json:"machine,omitempty"`
	Held    []held        `json:"held,omitempty"`
	Refs    []far.Ref     `json:"refs,omitempty"`
	Fault   fault         `json:"fault,omitempty"` // reply: which error of package far Error is
	Error   string        `json:"error,omitempty"` // reply: empty if the request succeeded
}

// held is an attempt that a machine has.
type held struct {
	Ref   far.Ref   `json:"ref"`
	State far.State `json:"state"`
}

// fault names an error that both sides compare.
type fault string

const (
	isClosed  fault = "closed"
	isUnknown fault = "unknown"
)

// failed puts err into a reply.
func (f *frame) failed(err error) {
	if err == nil {
		return
	}
	f.Error = err.Error()
	switch {
	case errors.Is(err, far.ErrClosed):
		f.Fault = isClosed
	case errors.Is(err, far.ErrUnknown):
		f.Fault = isUnknown
	}
}

// err returns the error of a reply.
func (f *frame) err() error {
	switch {
	case f.Fault == isClosed:
		return far.ErrClosed
	case f.Fault == isUnknown:
		return far.ErrUnknown
	case f.Error != "":
		return errors.New(f.Error)
	}
	return nil
}

// encode returns the line of a frame.
func encode(f *frame) ([]byte, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	if len(b) >= maxFrame {
		return nil, fmt.Errorf("a message of %d bytes is too large: at most %d travel at once", len(b), maxFrame)
	}
	return append(b, '\n'), nil
}

// readLine returns the next line without its end. A longer line than maxFrame is an error.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxFrame {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxFrame)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// readFrame returns the next frame.
func readFrame(in *bufio.Reader) (*frame, error) {
	line, err := readLine(in)
	if err != nil {
		return nil, err
	}
	f := &frame{}
	if err := json.Unmarshal(line, f); err != nil {
		return nil, fmt.Errorf("%.80q is no message of cmux: %w", line, err)
	}
	return f, nil
}

// wire is one connection. Its write must run until the connection is over.
type wire struct {
	conn   io.ReadWriteCloser
	in     *bufio.Reader
	urgent chan []byte // heartbeats and their answers, which pass everything else
	normal chan []byte
	down   chan struct{} // closed once the connection is over

	once sync.Once
	err  error // why it is over; set before down is closed

	mu    sync.Mutex
	heard time.Time // when the last frame came
}

func newWire(conn io.ReadWriteCloser) *wire {
	return &wire{
		conn: conn, in: bufio.NewReaderSize(conn, 64<<10),
		urgent: make(chan []byte, 64), normal: make(chan []byte), down: make(chan struct{}), heard: time.Now(),
	}
}

// fail ends the connection. The first reason counts.
func (w *wire) fail(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.down)
		w.conn.Close() // whoever reads or writes now learns of it
	})
}

// afterWrite is how long the reader has to learn why the connection is over after a Write
// failed.
const afterWrite = time.Second

// write writes what is sent until the connection is over.
func (w *wire) write() {
	for {
		var b []byte
		select {
		case b = <-w.urgent:
		default:
			select {
			case b = <-w.urgent:
			case b = <-w.normal:
			case <-w.down:
				return
			}
		}
		if _, err := w.conn.Write(b); err != nil {
			select {
			case <-w.down: // the reader was told the reason
			case <-time.After(afterWrite):
				w.fail(err)
			}
			return
		}
	}
}

// send hands a frame to write.
func (w *wire) send(ctx context.Context, f *frame) error {
	b, err := encode(f)
	if err != nil {
		return err
	}
	return w.sendLine(ctx, b)
}

func (w *wire) sendLine(ctx context.Context, b []byte) error {
	select {
	case w.normal <- b:
		return nil
	case <-w.down:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hurry hands a frame to write before all others, and does not wait. false: the other side
// reads nothing.
func (w *wire) hurry(f *frame) bool {
	b, err := encode(f)
	if err != nil {
		return false
	}
	select {
	case w.urgent <- b:
		return true
	default:
		return false
	}
}

// read returns the next frame.
func (w *wire) read() (*frame, error) {
	f, err := readFrame(w.in)
	if err == nil {
		w.mu.Lock()
		w.heard = time.Now()
		w.mu.Unlock()
	}
	return f, err
}

// silent is how long no frame came.
func (w *wire) silent() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.heard)
}

// patience is how many heartbeats a side misses before it takes the connection for broken.
const patience = 4

// guard ends the connection when the other side is silent for too long.
func (w *wire) guard(beat time.Duration) {
	most := patience * beat
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-w.down:
			return
		}
		left := most - w.silent()
		if left <= 0 {
			w.fail(fmt.Errorf("silent for %s", most))
			return
		}
		timer.Reset(left)
	}
}
