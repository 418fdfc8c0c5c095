// Package hosttest is a Host that behaves like another machine: its attempts share no
// memory, no tmux, no folder and no repository with their run. Everything passes through
// pipes. It is only in tests; it proves that an attempt can run on another machine, and
// shows what has to be transferred.
//
// The input, in this order: the node's spec with what it needs of its run, the environment
// on a separate channel, its base commits as a bundle, the binary; then messages to the
// attempt. A conversation is resumed where it was held: a node keeps its directory between
// attempts.
//
// The output: records, events, output, replies, and signs of life; at the end a bundle of
// its commits and snapshots, and the end itself. The host writes the end record and the
// marker.
package hosttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
)

// parcel is one line of JSON on the wire, followed by Size bytes.
type parcel struct {
	What    what             `json:"what"`
	Work    *work            `json:"work,omitempty"`
	Record  *run.Record      `json:"record,omitempty"` // also the end
	Message *attempt.Message `json:"message,omitempty"`
	Reply   *attempt.Reply   `json:"reply,omitempty"`
	ID      int              `json:"id,omitempty"`   // of a message and its reply
	Line    json.RawMessage  `json:"line,omitempty"` // an event
	Error   string           `json:"error,omitempty"`
	Size    int64            `json:"size,omitempty"`
}

type what string

const (
	hasWork   what = "work"
	hasBundle what = "bundle"
	hasBinary what = "binary"
	hasSaid   what = "say"

	hasRecord what = "record"
	hasEvent  what = "event"
	hasOutput what = "output"
	hasReply  what = "reply"
	hasLease  what = "lease"
	hasEnd    what = "end" // Record is the end, or how it vanished
)

// work is the input of an attempt.
type work struct {
	Graph  []byte       `json:"graph"` // settings, and only this node
	Spec   run.Spec     `json:"spec"`
	Limits []run.Record `json:"limits,omitempty"` // recorded limits of its account
	Hidden []string     `json:"hidden,omitempty"` // folders that another machine would not have
}

// wire sends and receives parcels.
type wire struct {
	in  *bufio.Reader
	mu  sync.Mutex // of out
	out io.Writer
}

func newWire(in io.Reader, out io.Writer) *wire { return &wire{in: bufio.NewReader(in), out: out} }

func (w *wire) send(f parcel, content []byte) error {
	f.Size = int64(len(content))
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.out.Write(append(append(b, '\n'), content...))
	return err
}

func (w *wire) receive() (f parcel, content []byte, err error) {
	line, err := w.in.ReadBytes('\n')
	if err != nil {
		return f, nil, err
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return f, nil, fmt.Errorf("%.80q: %w", line, err)
	}
	content = make([]byte, f.Size)
	_, err = io.ReadFull(w.in, content)
	return f, content, err
}

// expect receives a parcel of one kind.
func (w *wire) expect(is what) (parcel, []byte, error) {
	f, content, err := w.receive()
	if err == nil && f.What != is {
		err = fmt.Errorf("received %q, want %q", f.What, is)
	}
	return f, content, err
}
