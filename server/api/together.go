package api

import (
	"context"
	"sync"
	"time"
)

// together makes one answer for all who ask at a time: ten pages hear of an
// event and ask the same. Who asks while one is made gets the next, as that one
// may hold less than what made them ask. What they get they share: nobody may
// change it.
type together[T any] struct {
	mu   sync.Mutex
	now  *shared[T] // being made, or made last; nil: none was
	next *shared[T] // to be made after it; nil: nobody waits
}

type shared[T any] struct {
	done  chan struct{} // closed once it is there
	valid bool          // false: whoever made it gave up
	took  time.Duration // by whoever made it
	value T
	err   error
}

// ask returns what f returns, called after ask was. What it costs those who wait
// is what f took, without the waiting.
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

// make makes a after the one before it.
func (t *together[T]) make(ctx context.Context, a, before *shared[T], f func(context.Context) (T, error)) (T, error) {
	defer close(a.done) // also where f panics: the others ask again
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
