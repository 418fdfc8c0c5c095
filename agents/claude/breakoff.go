package claude

import (
	"context"
	"errors"
	"time"

	"cmux/agents/agent"
	"cmux/agents/news"
)

// Carry implements agent.Carrier.
func (a *instance) Carry(hook, text string) agent.HookReply { return beside(hook, text) }

// CanRecall implements agent.Recaller.
func (a *instance) CanRecall() bool { return true }

// Written implements agent.Recaller.
func (a *instance) Written() string { return a.follow.current() }

// Recall implements agent.Recaller.
func (a *instance) Recall() []news.Read { return a.follow.recall() }

// CanBreakOff implements agent.Breaker: a key does, in a pane.
func (a *instance) CanBreakOff() bool { return !a.start.Headless }

const (
	breaksWithin = 2 * time.Second // of Escape, for the turn to end
	maxEscapes   = 5
)

// BreakOff implements agent.Breaker. Escape goes where a message could be typed:
// into an empty prompt, never into a dialog or a person's line.
func (a *instance) BreakOff(ctx context.Context) error {
	p, err := a.pane()
	if err != nil {
		return err
	}
	defer a.breaksNoMore()
	for range maxEscapes {
		if !a.Busy() {
			return nil
		}
		if _, err := a.awaitLeave(ctx, p, nil, func(string) bool { return false }); err != nil {
			return err
		}
		over, busy := a.breaksOff()
		if !busy {
			return nil // it has ended meanwhile: Escape would only clear the prompt
		}
		if _, err := p.server.Exec(ctx, "send-keys", "-t", p.id, "Escape"); err != nil {
			return err
		}
		if err := a.wait(ctx, breaksWithin, over); err != nil {
			return err
		}
	}
	if a.Busy() {
		return errors.New("its turn could not be broken off")
	}
	return nil
}

// breaksOff is before a key that breaks the turn off, which is not a person's.
// over is closed when the turn has ended.
func (a *instance) breaksOff() (over <-chan struct{}, busy bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.listener.busy {
		return nil, false
	}
	a.breaking = true
	if a.listener.over == nil {
		a.listener.over = make(chan struct{})
	}
	return a.listener.over, true
}

// breaksNoMore says that an interruption which the transcript tells of from here on
// is a person's.
func (a *instance) breaksNoMore() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.breaking = false
}

// interrupted is what it means that the transcript tells of a turn that was broken
// off: by a person, unless cmux did it.
func (a *instance) interrupted() []news.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.breaking {
		return a.listener.interrupted()
	}
	a.breaking = false
	a.listener.asking = ""
	a.listener.rests()
	return nil
}
