package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"cmux/server/login"
)

const (
	// orderPatience bounds what one order takes.
	orderPatience = 10 * time.Minute
	// orderEnd bounds the wait, at the end, for orders that were broken off. With
	// endPatience it is less than what the monitor waits for the server.
	orderEnd = 5 * time.Second
)

// orders are the requests under way that change something. net/http breaks a
// request off when its client hangs up; an order would then be carried out by
// half. It goes on until it is done, took too long or the server ends.
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

// carriedOut has next carry orders out whoever hangs up.
func (o *orders) carriedOut(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		if !o.begin() {
			login.Refuse(w, r, http.StatusServiceUnavailable, "the server ends", "")
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

// begin counts an order, unless the server ends.
func (o *orders) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil {
		return false
	}
	o.tasks.Add(1)
	return true
}

// breakOff breaks off what is under way, and reports whether it has ended within
// a while.
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
