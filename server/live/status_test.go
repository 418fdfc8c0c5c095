package live

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// beat hears until a heartbeat comes.
func (p *peer) beat() Frame {
	p.t.Helper()
	for {
		_, events := p.want("events")
		if e := events[len(events)-1]; e.Event == "heartbeat_update" {
			return e
		}
	}
}

// Who comes is told how the organization stands, and since when that is known:
// nothing that is from a time when nobody listened.
func TestHeartbeatsAreNotOld(t *testing.T) {
	var state atomic.Value
	state.Store("one")
	url, h := serve(t, newBook(), func(context.Context) (any, error) { return state.Load(), nil })
	first := dial(t, url)
	first.from("", 0)
	was := first.beat()
	if string(was.Data) != `"one"` {
		t.Fatalf("%+v", was)
	}
	second := dial(t, url)
	second.from("", 0)
	if e := second.beat(); string(e.Data) != `"one"` || !e.At.Equal(was.At) {
		t.Errorf("%+v, which is known since %s", e, was.At)
	}
	first.conn.CloseNow()
	second.conn.CloseNow()
	for end := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
		h.mu.Lock()
		left := len(h.live)
		h.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("they do not leave")
		}
	}
	state.Store("two")
	third := dial(t, url)
	third.from("", 0)
	if e := third.beat(); string(e.Data) != `"two"` {
		t.Errorf("it is told what was: %+v", e)
	}
}

// Events do not wait for a look at the organization that takes long.
func TestSlowStatusHoldsUpNothing(t *testing.T) {
	b := newBook()
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	url, _ := serve(t, b, func(context.Context) (any, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-answer
		return "stands", nil
	})
	defer close(answer)
	p := dial(t, url)
	p.from("", 0)
	p.want("live")
	<-asked
	b.add(1, nil)
	if _, events := p.want("events"); len(events) != 1 || events[0].Seq != 1 {
		t.Errorf("%+v", events)
	}
}
