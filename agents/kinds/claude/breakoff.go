package claude

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
)

// Carry implements agent.Carrier.
func (a *instance) Carry(hook, text string) agent.HookReply { return beside(hook, text) }

// CanRecall implements agent.Recaller.
func (a *instance) CanRecall() bool { return true }

// Written implements agent.Recaller.
func (a *instance) Written() string { return a.follow.current() }

// Recall implements agent.Recaller.
func (a *instance) Recall() []news.Read { return a.follow.recall() }

// CanBreakOff implements agent.Breaker: a key does in a pane, a request without one.
func (a *instance) CanBreakOff() bool { return true }

const (
	breaksWithin = 2 * time.Second  // of Escape, for the turn to end
	stopsWithin  = 10 * time.Second // of a request, which may have to end a command
	maxEscapes   = 5
)

// BreakOff implements agent.Breaker. Escape goes where a message could be typed:
// into an empty prompt, never into a dialog or a person's line.
func (a *instance) BreakOff(ctx context.Context) error {
	if a.start.Headless {
		return breakOffHeadless(ctx, a)
	}
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
		for began := time.Now(); time.Since(began) < breaksWithin && !isClosed(over); {
			if err := a.wait(ctx, lookAgain, over); err != nil {
				return err
			}
			// Before the model's first word nothing tells of the end but the screen.
			if s, _, err := p.look(ctx); err != nil {
				return err
			} else if s.Draft != "" && a.handedOver(s.Draft) != "" {
				a.interrupted()
				return nil
			}
		}
	}
	if a.Busy() {
		return errNotBroken
	}
	return nil
}

// breakOffHeadless breaks the turn off by a request. What tells of the end is the turn's
// result, or the transcript.
func breakOffHeadless(ctx context.Context, a *instance) error {
	defer a.breaksNoMore()
	over, busy := a.breaksOff()
	if !busy {
		return nil
	}
	a.interrupts.Add(1)
	err := writeLine(ctx, a, object{
		"type": "control_request", "request_id": fmt.Sprintf("cmux-%d", a.interrupts.Load()), "request": object{"subtype": "interrupt"},
	})
	if err != nil {
		return err
	}
	if err := a.wait(ctx, stopsWithin, over); err != nil {
		return err
	}
	if !isClosed(over) {
		return errNotBroken
	}
	return nil
}

var errNotBroken = errors.New("its turn could not be broken off")

// breaksOff is before a key that breaks the turn off, which is not a person's.
// over is closed when the turn has ended.
func (a *instance) breaksOff() (over <-chan struct{}, busy bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.listener.busy {
		return nil, false
	}
	a.breaking, a.brokeOff = true, true
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
	switch {
	case a.breaking:
	case a.start.Headless: // nobody else can, and the turn's result has told
		return nil
	default:
		return a.listener.interrupted()
	}
	a.breaking = false
	a.listener.asking = ""
	a.listener.rests()
	return nil
}

const (
	backWithin = 300 * time.Millisecond // of a turn's end, for the program to put its text back
	clearLooks = 20                     // at a prompt that is being cleared
)

// takeBack returns what the program put back into its prompt when its turn was broken
// off before the model had answered, and clears the prompt. The model has not seen it:
// it is to be handed over again. A line that cmux did not hand over stays.
func (a *instance) takeBack(ctx context.Context, p *pane) (text string, err error) {
	a.mu.Lock()
	broke, text := a.brokeOff, a.putBack
	a.mu.Unlock()
	if !broke {
		return text, nil
	}
	if err := a.wait(ctx, backWithin, nil); err != nil {
		return "", err
	}
	s, err := a.awaitLeave(ctx, p, nil, func(draft string) bool { return a.handedOver(draft) != "" })
	if err != nil || s.Draft == "" {
		return text, err
	}
	text = a.handedOver(s.Draft)
	if _, err := p.server.Exec(ctx, "send-keys", "-t", p.id, "C-c"); err != nil {
		return "", err
	}
	a.mu.Lock()
	a.brokeOff, a.putBack = false, text
	a.mu.Unlock()
	for range clearLooks {
		if err := a.wait(ctx, drawnAgain, nil); err != nil {
			return "", err
		}
		if s, _, err = p.look(ctx); err != nil || s.Draft == "" {
			break
		}
	}
	return text, err
}

// handedOver is the last text of cmux's that a draft shows; empty: it shows none.
func (a *instance) handedOver(draft string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, text := range slices.Backward(a.texts) {
		if ours(draft, text) {
			return text
		}
	}
	return ""
}
