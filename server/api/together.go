package api

import (
	"context"
	"sync"
	"time"
)

// together computes one answer for all concurrent callers: ten pages get an event and
// request the same. A caller that arrives during a computation gets the next one, because
// the current one may be older than its event. Callers share the answer and must not change
// it.
type together[T any] struct {
	mu   sync.Mutex
	now  *shared[T] // current or last; nil: none
	next *shared[T] // after it; nil: nobody waits
}

type shared[T any] struct {
	done  chan struct{} // closed when it is ready
	valid bool          // false: the computing caller gave up
	took  time.Duration // time of the computation
	value T
	err   error
}

// ask returns a result of f from after the call. own is the time of f, without waiting.
func (t *together[T]) ask(ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	began := time.Now()
	for {
		t.mu.Lock()
		a, before := t.next, t.now
		mine := a == nil
		if mine {
			a = &shared[T]{done: make(chan struct{})}
			t.next = a
		}
		t.mu.Unlock()
		if mine {
			value, err := t.make(ctx, a, before, f)
			waitedSince(ctx, began, a.took)
			return value, err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
		if a.valid {
			waitedSince(ctx, began, a.took)
			return a.value, a.err
		}
	}
}

// make computes a after the previous one.
func (t *together[T]) make(ctx context.Context, a, before *shared[T], f func(context.Context) (T, error)) (T, error) {
	defer close(a.done) // also if f panics: the others try again
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
		}
	}
	t.mu.Lock()
	t.next = nil
	if ctx.Err() == nil {
		t.now = a
	}
	t.mu.Unlock()
	if a.err = ctx.Err(); a.err == nil {
		began := time.Now()
		a.value, a.err = f(ctx)
		a.took = time.Since(began)
		a.valid = ctx.Err() == nil
	}
	return a.value, a.err
}
