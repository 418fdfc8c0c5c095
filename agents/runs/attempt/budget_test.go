package attempt_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// metered is an agent without a program. Hooks report its usage, and it reports more after
// its end.
type metered struct {
	once  sync.Once
	ended chan struct{}
	final dag.Usage
}

func (*metered) Start(context.Context) error           { return nil }
func (*metered) Deliver(context.Context, string) error { return nil }
func (m *metered) Ended() <-chan struct{}              { return m.ended }
func (*metered) Exit() proc.Exit                       { return proc.Exit{Code: 143} }
func (m *metered) Used() dag.Usage                     { return m.final }

func (m *metered) Interrupt(context.Context, time.Duration) ([]proc.Process, error) {
	m.once.Do(func() { close(m.ended) })
	return nil, nil
}

// meteredFixture is a node of that agent whose final use is one output more
// than what it was told last.
func meteredFixture(t *testing.T, node dag.Node, note time.Duration) (*fixture, *metered) {
	node.Agent = "metered"
	f := newFixture(t, node)
	m := &metered{ended: make(chan struct{})}
	f.job.Kinds = agent.NewKinds(agent.Kind{Name: "metered", Judge: true,
		New: func(*agent.Stage) (agent.Agent, error) { return m, nil }})
	f.job.Limits.Note = note
	return f, m
}

func (f *fixture) uses(u dag.Usage) {
	f.t.Helper()
	b, err := json.Marshal(map[string]dag.Usage{"used": u})
	if err != nil {
		f.t.Fatal(err)
	}
	if r := f.say(attempt.Message{Op: attempt.OpHook, Token: f.job.Spec.Token, Event: "usage", Payload: b}); r.Error != "" {
		f.t.Fatal(r.Error)
	}
}

// recorded is what the Used records say, in order.
func (f *fixture) recorded() (all []dag.Usage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.records {
		if r.Type == run.Used {
			all = append(all, r.Used)
		}
	}
	return all
}

func TestUseIsRecordedAtOnceAndThenRarely(t *testing.T) {
	t.Parallel()
	f, m := meteredFixture(t, dag.Node{}, time.Hour)
	wait := f.start(t.Context())
	for i := range int64(50) {
		f.uses(dag.Usage{Input: 10 + i, CacheRead: 1000 * i})
	}
	if got := f.recorded(); len(got) != 1 || got[0] != (dag.Usage{Input: 10}) {
		t.Errorf("recorded %+v", got)
	}
	m.final = dag.Usage{Input: 59, Output: 7, CacheRead: 49_000}
	f.say(attempt.Message{Op: attempt.OpCancel})
	if end, err := wait(); err != nil || end.Used != m.final {
		t.Errorf("ended with %+v, %v", end.Used, err)
	}
}

func TestUseIsRecordedAfterAWhile(t *testing.T) {
	t.Parallel()
	f, _ := meteredFixture(t, dag.Node{}, 50*time.Millisecond)
	wait := f.start(t.Context())
	f.uses(dag.Usage{Input: 1})
	f.uses(dag.Usage{Input: 2})
	eventually(t, "the second is recorded without a third", func() bool {
		got := f.recorded()
		return len(got) == 2 && got[1] == dag.Usage{Input: 2}
	})
	f.say(attempt.Message{Op: attempt.OpCancel})
	if _, err := wait(); err != nil {
		t.Fatal(err)
	}
}

// An interrupted attempt loses no usage.
func TestUseOfAnInterruptedAttempt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*fixture, context.CancelFunc){
		"a signal": func(_ *fixture, cancel context.CancelFunc) { cancel() },
		"stop":     func(f *fixture, _ context.CancelFunc) { f.say(attempt.Message{Op: attempt.OpStop}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, m := meteredFixture(t, dag.Node{}, time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			wait := f.start(ctx)
			f.uses(dag.Usage{Input: 1})
			f.uses(dag.Usage{Input: 2})
			m.final = dag.Usage{Input: 3}
			end(f, cancel)
			if _, err := wait(); !errors.Is(err, attempt.ErrInterrupted) {
				t.Fatal(err)
			}
			if got := f.recorded(); len(got) != 2 || got[1] != m.final {
				t.Errorf("recorded %+v", got)
			}
		})
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	const ofTheRun = "the run has used 9 of its budget of 8 tokens"
	for _, c := range []struct {
		name    string
		earlier dag.Usage
		do      func(*fixture)
		want    run.End
	}{
		{"its own", dag.Usage{}, func(f *fixture) { f.uses(dag.Usage{Output: 101}) },
			run.End{Outcome: dag.Failed, Reason: dag.ReasonBudget, Detail: "a has used 101 of its budget of 100 tokens"}},
		{"with earlier attempts", dag.Usage{Input: 60}, func(f *fixture) { f.uses(dag.Usage{Output: 40}); f.uses(dag.Usage{Output: 41}) },
			run.End{Outcome: dag.Failed, Reason: dag.ReasonBudget, Detail: "a has used 101 of its budget of 100 tokens"}},
		{"of the run", dag.Usage{}, func(f *fixture) { f.say(attempt.Message{Op: attempt.OpBudget, Text: ofTheRun}) },
			run.End{Outcome: dag.Failed, Reason: dag.ReasonBudget, Detail: ofTheRun}},
		{"of a node that a person has decided", dag.Usage{}, func(f *fixture) {
			f.say(attempt.Message{Op: attempt.OpOverridden})
			f.uses(dag.Usage{Output: 101})
			f.say(attempt.Message{Op: attempt.OpBudget, Text: ofTheRun})
			f.say(attempt.Message{Op: attempt.OpDone, Token: "secret", Text: "all the same"})
		}, run.End{Outcome: dag.Done}},
		{"caches read", dag.Usage{CacheRead: 1 << 40}, func(f *fixture) {
			f.uses(dag.Usage{Output: 100, CacheRead: 1 << 40})
			f.say(attempt.Message{Op: attempt.OpDone, Token: "secret", Text: "cheap"})
		}, run.End{Outcome: dag.Done}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, _ := meteredFixture(t, dag.Node{Budget: dag.Budget{Tokens: 100}, Retries: dag.Retries{Max: 5}}, 0)
			f.job.Spec.Used = c.earlier
			wait := f.start(t.Context())
			c.do(f)
			end, err := wait()
			if err != nil || end.Outcome != c.want.Outcome || end.Reason != c.want.Reason || end.Detail != c.want.Detail {
				t.Errorf("%+v, %v", end, err)
			}
			if end.Outcome == dag.Failed && end.Retry {
				t.Error("the node will be retried")
			}
		})
	}
}
