package codex

import (
	"context"
	"errors"

	"cmux/agents/kinds/news"
)

// CanCompact implements agent.Compacter.
func (a *instance) CanCompact() bool { return true }

// Compact implements agent.Compacter. It is a turn without a prompt.
func (a *instance) Compact(ctx context.Context, done <-chan struct{}) error {
	if err := a.Stage.Admit(ctx); err != nil {
		return err
	}
	a.mu.Lock()
	thread := a.thread
	a.mu.Unlock()
	if err := a.Call(ctx, "thread/compact/start", object{"threadId": thread}, nil); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-a.Ended():
		return errors.New("Codex has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// compacts takes in that it is at a summary of the conversation, or that this is
// complete. Which of them are by itself it does not say.
func (a *instance) compacts(complete bool) {
	if complete {
		a.Tell(news.Compacted{Trigger: "by the program"})
	} else {
		a.Tell(news.Compacts{Trigger: "by the program"})
	}
}

// fills takes in what of the context window the last request took up.
func (a *instance) fills(u tokenUsage) {
	last := u.Last.usage()
	if tokens := last.Counted() + last.CacheRead; tokens > 0 {
		a.Tell(news.Filled{Tokens: tokens, Window: max(0, u.Window)})
	}
}
