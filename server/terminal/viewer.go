package terminal

import (
	"bytes"
	"sync"
)

const (
	// maxWaiting bounds the bytes that wait for a client.
	maxWaiting = 512 << 10
	// maxMessage bounds those of one message to it.
	maxMessage = 128 << 10
)

// frame is a message to a client.
type frame struct {
	text bool
	b    []byte
}

// viewer is what waits for a client. Its methods are for any goroutine.
type viewer struct {
	more chan struct{} // has room for one: there is something to do

	mu     sync.Mutex
	queue  []frame
	size   int
	behind bool // it misses something: the next thing it gets is a screen
}

func newViewer() *viewer { return &viewer{more: make(chan struct{}, 1), behind: true} }

func (v *viewer) wake() {
	select {
	case v.more <- struct{}{}:
	default:
	}
}

// print has output wait. Where too much does, all of it is dropped: a new screen
// takes its place.
func (v *viewer) print(b []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.behind:
		return
	case v.size+len(b) > maxWaiting:
		v.queue, v.size, v.behind = texts(v.queue), 0, true
	default:
		v.queue, v.size = append(v.queue, frame{b: b}), v.size+len(b)
	}
	v.wake()
}

// draw has a screen wait, in place of all output before it.
func (v *viewer) draw(head, screen []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.queue = append(texts(v.queue), frame{text: true, b: head}, frame{b: screen})
	v.size, v.behind = len(screen), false
	v.wake()
}

// tell has a message wait that is never dropped. There are few, as one that is like
// the one before it says nothing.
func (v *viewer) tell(b []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := len(v.queue) - 1; i >= 0; i-- {
		if f := v.queue[i]; f.text {
			if bytes.Equal(f.b, b) {
				return
			}
			break
		}
	}
	v.queue = append(v.queue, frame{text: true, b: b})
	v.wake()
}

// texts are the messages of a queue that outlast its output: all but its screens.
func texts(queue []frame) []frame {
	var kept []frame
	for _, f := range queue {
		if f.text && !bytes.HasPrefix(f.b, []byte(`{"type":"screen"`)) {
			kept = append(kept, f)
		}
	}
	return kept
}

// take is what is to be sent next, output that lies together in one message; nil:
// nothing waits. behind says that the client is to be drawn a screen.
func (v *viewer) take() (next *frame, behind bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.queue) == 0 {
		return nil, v.behind
	}
	f := v.queue[0]
	v.queue = v.queue[1:]
	if f.text {
		return &f, false
	}
	v.size -= len(f.b)
	b := f.b
	for len(v.queue) > 0 && !v.queue[0].text && len(b)+len(v.queue[0].b) <= maxMessage {
		b = append(b[:len(b):len(b)], v.queue[0].b...)
		v.size -= len(v.queue[0].b)
		v.queue = v.queue[1:]
	}
	return &frame{b: b}, false
}
