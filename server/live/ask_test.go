package live

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// What a client says is read on while nobody takes what it asks for: the answer to
// a ping may lie behind it.
func TestAsksHoldUpNoReading(t *testing.T) {
	read := make(chan *client, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		c := &client{conn: conn, asks: make(chan struct{}, 1), more: make(chan struct{}, 1)}
		_ = c.read(t.Context()) // until the other side goes
		read <- c
	}))
	defer s.Close()
	p := dial(t, s.URL)
	for seq := range int64(3) {
		p.from("one", seq+1)
	}
	p.conn.Close(websocket.StatusNormalClosure, "")
	select {
	case c := <-read:
		if a := c.takeAsk(); a == nil || a.Seq != 3 || c.takeAsk() != nil || len(c.asks) != 1 {
			t.Errorf("it asks for %+v", a)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not read on")
	}
}
