package control

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"cmux/agents/control/runs"
	"cmux/dag"
)

func TestWait(t *testing.T) {
	s := begun(t, chain)
	s.record(started("api"), asking("api", "Which one?"))
	s.hold()
	var told []string
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Runs().Wait(ctx, runs.Wait{Node: "web", Timeout: time.Hour, Person: func(node, why string) {
		told = append(told, node+" "+why)
		cancel()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	err = s.Runs().Wait(t.Context(), runs.Wait{Node: "web", Timeout: time.Millisecond})
	refused(t, err, "not ended after 1ms", "cmux agents status")
	if want := []string{"api needs input: Which one? (cmux agents answer api TEXT)"}; !reflect.DeepEqual(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	s.record(ended("api", dag.Done, ""))
	if err := s.Runs().Wait(t.Context(), runs.Wait{Node: "api"}); err != nil {
		t.Error(err)
	}
	s.record(started("web"), ended("web", dag.Failed, dag.ReasonTimeout))
	if err := s.Runs().Wait(t.Context(), runs.Wait{Node: "web"}); !errors.Is(err, runs.ErrUnfinished) || err.Error() != "web: failed (timeout): the run ended with a node not done" {
		t.Error(err)
	}
}
