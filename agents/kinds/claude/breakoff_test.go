package claude

import (
	"encoding/json"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
)

// A turn that ended by itself as it was to be broken off leaves nothing behind: the
// next Escape is a person's.
func TestPersonsEscapeAfterOneThatWasNotNeeded(t *testing.T) {
	for _, hook := range []string{"Stop", "UserPromptSubmit", ""} {
		a := &instance{stage: new(agent.Stage), greeted: make(chan struct{}), silence: newSilence(time.Now()), follow: new(follower)}
		a.stage.Terminal = &agent.Terminal{Tmux: "none", Pane: "%0"}
		a.listener.own, a.listener.busy = a.isOwn, true
		a.breaksOff()
		if hook != "" {
			if _, _, err := a.Hook(hook, json.RawMessage(`{"prompt":"<task-notification>"}`)); err != nil {
				t.Fatal(err)
			}
		} else { // BreakOff returns, and the turn is over
			a.listener.rests()
			if err := a.BreakOff(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		a.listener.busy = true
		if events := a.interrupted(); len(events) == 0 {
			t.Errorf("behind %q a person's Escape is not heard of", hook)
		}
	}
	// One that is under way is cmux's own.
	a := new(instance)
	a.listener.busy = true
	a.breaksOff()
	if events := a.interrupted(); len(events) != 0 || a.listener.busy {
		t.Errorf("the Escape of cmux: %v", events)
	}
}
