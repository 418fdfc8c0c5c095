package attempt_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/attempt"
	"cmux/dag"
)

// slow is an agent whose program has each text, and may answer it, before Deliver returns.
type slow struct {
	metered
	texts    chan string
	returned chan struct{}
}

func (s *slow) Deliver(ctx context.Context, text string) error {
	s.texts <- text
	select {
	case <-s.returned:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// On a busy machine a whole turn may be over before Deliver returns. Its end counts, and
// that of the turn before does not.
func TestTurnIsOverBeforeItsTextIsDelivered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, dag.Node{Agent: "slow"})
	s := &slow{metered: metered{ended: make(chan struct{})}, texts: make(chan string), returned: make(chan struct{})}
	f.job.Kinds = agent.NewKinds(agent.Kind{Name: "slow", Judge: true,
		New: func(*agent.Stage) (agent.Agent, error) { return s, nil }})
	hook := func(event string, payload any) {
		t.Helper()
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		if r := f.say(attempt.Message{Op: attempt.OpHook, Token: f.job.Spec.Token, Event: event, Payload: b}); r.Error != "" {
			t.Fatal(r.Error)
		}
	}
	ended := func() { hook("turn-ended", struct{}{}) }
	turn := func(text string) {
		t.Helper()
		hook("prompt", map[string]string{"text": text})
		ended()
	}
	wait := f.start(t.Context())
	ended()
	for range 3 {
		text := <-s.texts
		ended() // that of the turn before
		turn(text)
		s.returned <- struct{}{}
	}
	if end, err := wait(); err != nil || end.Reason != dag.ReasonNoReport || !strings.Contains(end.Detail, "4 turns") {
		t.Errorf("ended with %+v, %v", end, err)
	}
}
