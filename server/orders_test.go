package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// An order goes on when its client has hung up; what is only looked at does not.
func TestOrdersAreCarriedOutWhoeverHangsUp(t *testing.T) {
	for method, want := range map[string]error{http.MethodPost: nil, http.MethodDelete: nil, http.MethodGet: context.Canceled} {
		client, began, after := make(chan context.Context, 1), make(chan struct{}), make(chan error, 1)
		o := newOrders()
		inner := o.carriedOut(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(began)
			<-(<-client).Done() // net/http has seen that nobody is there
			after <- r.Context().Err()
		}))
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			client <- r.Context()
			inner.ServeHTTP(w, r)
		}))
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			<-began
			hangUp()
		}()
		r, err := http.NewRequestWithContext(ctx, method, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
			t.Errorf("%s was answered", method)
		}
		if err := <-after; err != want {
			t.Errorf("%s, and its client hung up: %v, want %v", method, err, want)
		}
		if !o.breakOff(time.Minute) {
			t.Errorf("%s: it goes on", method)
		}
		srv.Close()
	}
}

// At the end orders are broken off and waited for, and no more are taken.
func TestOrdersEndWithTheServer(t *testing.T) {
	o := newOrders()
	began, stuck, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h := o.carriedOut(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		<-stuck
	}))
	post := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/tasks", strings.NewReader("{}")))
		return w.Code
	}
	go func() {
		defer close(ended)
		post()
	}()
	<-began
	if o.breakOff(time.Millisecond) {
		t.Error("an order that is stuck has ended")
	}
	if code := post(); code != http.StatusServiceUnavailable {
		t.Errorf("an order at the end: %d", code)
	}
	close(stuck)
	if !o.breakOff(time.Minute) {
		t.Error("an order that was broken off goes on")
	}
	<-ended
}
