// Package hosttest is a host as another machine is one: its attempts share no
// memory, no tmux, no folder and no repository with the run that they belong
// to. All that passes goes over pipes. It stands in no released binary; it
// proves that an attempt can live elsewhere, and shows what has to travel.
//
// What goes in, in this order: the node's spec with what it needs of its run,
// the environment on a channel of its own, the commits that it starts from as a
// bundle, the binary; then what is said to the attempt. A conversation is
// resumed where it was held: a node keeps its directory between attempts.
//
// What comes out: records, events, output, answers, leases that say that it
// lives; at the end a bundle of its commits and snapshots, and the end itself.
// The host commits the record and the marker.
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

// parcel is one line of JSON on the wire, with Size bytes behind it.
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

// work is what an attempt is started with.
type work struct {
	Graph  []byte       `json:"graph"` // settings, and the node alone
	Spec   run.Spec     `json:"spec"`
	Limits []run.Record `json:"limits,omitempty"` // what is on record of those of its account
	Hidden []string     `json:"hidden,omitempty"` // what a machine of its own would not have
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
