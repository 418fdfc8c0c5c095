package control

import (
	"testing"

	"cmux/agents/control/commands"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// Whoever stops a run whose runner is killed before it has done so stops it all
// the same, and what they asked for stops nothing later.
func TestStopOfAKilledRunner(t *testing.T) {
	s := begun(t, chain)
	lock, err := s.run.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	s.record(run.Record{Type: run.RunnerUp})
	w := signals.Watch(t.Context(), s.run.Requests())
	defer w.Close()
	stopped := make(chan error, 1)
	go func() {
		_, err := s.Commands().Stop(t.Context())
		stopped <- err
	}()
	for s.pending() != "stop" {
		if _, open := <-w.C; !open {
			t.Fatal("nothing was asked of the runner")
		}
	}
	if err := lock.Unlock(); err != nil { // it is killed
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	v, err := s.Runs().View(t.Context())
	if err != nil || v.RunState != dag.RunStopped {
		t.Errorf("%s, %v", v.RunState, err)
	}
	if got := s.pending(); got != "" {
		t.Errorf("left for the next runner: %s", got)
	}
}

// An order to stop that nobody has carried out stops no run that a person
// resumes later, by whatever order.
func TestResumeAfterAnOrderToStop(t *testing.T) {
	s := begun(t, chain)
	leave := func() {
		t.Helper()
		for _, q := range []run.Request{{Op: run.OpStop}, {Op: run.OpLeave}, {Op: run.OpStop, Node: "web"}} {
			if _, err := s.run.Ask(q); err != nil {
				t.Fatal(err)
			}
		}
	}
	wait := func(want string) {
		t.Helper()
		if got := s.pending(); got != want {
			t.Errorf("left for the runner: %s; want %s", got, want)
		}
		qs, err := s.run.Pending()
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range qs {
			if err := s.run.Answered(q); err != nil {
				t.Error(err)
			}
		}
	}
	leave()
	v, err := s.Commands().Resumable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commands().Resume(v); err != nil {
		t.Fatal(err)
	}
	wait("stop web")

	leave()
	s.Start = true
	if taken, err := s.Commands().Override(t.Context(), commands.Decision{Node: "api"}); err != nil || taken.Launch == nil {
		t.Fatalf("%+v, %v", taken, err)
	}
	wait("stop web, override api")

	leave()
	plan, err := s.Commands().PlanStart(t.Context(), commands.Start{Headless: true, Binary: "/bin/true"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := plan.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait("stop web")
}
