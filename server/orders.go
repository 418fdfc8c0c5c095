package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"cmux/server/login"
)

const (
	// orderPatience bounds the time of one command.
	orderPatience = 10 * time.Minute
	// orderEnd bounds the wait, at the end, for interrupted commands. With endPatience it
	// is less than the monitor's wait for the server.
	orderEnd = 5 * time.Second
)

// orders tracks the running requests that change something. net/http cancels a request when
// its client disconnects, which would leave a command half done. Here it continues until it
// is done, takes too long or the server ends.
type orders struct {
	mu    sync.Mutex
	ctx   context.Context
	end   context.CancelFunc
	tasks sync.WaitGroup
}

func newOrders() *orders {
	o := new(orders)
	o.ctx, o.end = context.WithCancel(context.Background())
	return o
}

// carriedOut lets next complete commands even if the client disconnects.
func (o *orders) carriedOut(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		if !o.begin() {
			login.Refuse(w, r, http.StatusServiceUnavailable, "the server is ending", "")
			return
		}
		defer o.tasks.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), orderPatience)
		defer cancel()
		defer context.AfterFunc(o.ctx, cancel)()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// background runs f beside the requests, until the server ends.
func (o *orders) background(f func(context.Context)) bool {
	if !o.begin() {
		return false
	}
	go func() {
		defer o.tasks.Done()
		f(o.ctx)
	}()
	return true
}

// begin counts a command, unless the server is ending.
func (o *orders) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil {
		return false
	}
	o.tasks.Add(1)
	return true
}

// breakOff cancels running commands, and reports whether they ended within a while.
func (o *orders) breakOff(within time.Duration) bool {
	o.mu.Lock()
	o.end()
	o.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.tasks.Wait()
	}()
	select {
	case <-ended:
		return true
	case <-time.After(within):
		return false
	}
}
