package control

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/hint"
)

const chain = `
  - {name: api, task: "true"}
  - {name: web, task: "true", depends_on: [api]}
  - {name: look, role: gate, depends_on: [web]}
`

func TestNoRun(t *testing.T) {
	s := newScratch(t, "")
	_, err := s.Commands().Stop(t.Context())
	if !errors.Is(err, run.ErrNone) {
		t.Error(err)
	}
	if _, try := hint.Explain(err); try != "cmux agents start" {
		t.Errorf("try %q", try)
	}
}

func TestNodeThatIsNotThere(t *testing.T) {
	s := begun(t, chain)
	for name, try := range map[string]string{"apy": "api instead of apy", "lo": "look instead of lo", "zzz": ""} {
		_, err := s.Commands().Cancel(t.Context(), name)
		refused(t, err, "run "+s.run.Plan.ID+` has no node "`+name+`": it has api, web, look`, try)
		if !errors.Is(err, project.ErrUsage) {
			t.Errorf("%v is no error of usage", err)
		}
	}
}

func TestRetry(t *testing.T) {
	s := begun(t, chain)
	s.record(started("api"))
	_, err := s.Commands().Retry(t.Context(), commands.Retry{Node: "api"})
	refused(t, err, "api is still running: cmux agents stop api first", "")
	s.record(ended("api", dag.Failed, dag.ReasonExit), run.Record{Type: run.Blocked, Node: "web", Cause: "api"})
	_, err = s.Commands().Retry(t.Context(), commands.Retry{Node: "web"})
	refused(t, err, "web is blocked by api: cmux agents retry api", "")
	_, err = s.Commands().Retry(t.Context(), commands.Retry{Node: "look"}) // by web, which a retry would not help
	refused(t, err, "look is blocked by api: cmux agents retry api", "")

	res, err := s.Commands().Retry(t.Context(), commands.Retry{Node: "api"})
	if err != nil {
		t.Fatal(err)
	}
	want := &commands.Retried{Taken: commands.Taken{Note: "no runner: this takes effect at cmux agents resume"},
		Again: []commands.Was{{Node: "api", Label: dag.EndLabel(dag.Failed, dag.ReasonExit, 1)}},
		Unblocked: []commands.Was{{Node: "web", Label: dag.Label{State: dag.NodeBlocked, By: "api", Reason: dag.ReasonFailed}},
			{Node: "look", Label: dag.Label{State: dag.NodeBlocked, By: "web", Reason: dag.ReasonBlocked}}}}
	if !reflect.DeepEqual(res, want) {
		t.Errorf("%+v, want %+v", res, want)
	}
	if got := s.pending(); got != "retry api" {
		t.Errorf("left for the runner: %s", got)
	}
}

// A node that is done keeps its result where a retry would only block it.
func TestRetryOfWhatWouldBeBlocked(t *testing.T) {
	s := begun(t, chain)
	s.record(started("api"), ended("api", dag.Done, ""), started("web"), ended("web", dag.Done, ""),
		run.Record{Type: run.Reset, Node: "api"})
	again := started("api")
	again.Attempt = 2
	over := ended("api", dag.Failed, dag.ReasonExit)
	over.Attempt = 2
	s.record(again, over)
	_, err := s.Commands().Retry(t.Context(), commands.Retry{Node: "web"})
	refused(t, err, "web would be blocked by api, which has not succeeded since: cmux agents retry api first", "")
	if got := s.pending(); got != "" {
		t.Errorf("left for the runner: %s", got)
	}
	if _, err := s.Commands().Override(t.Context(), commands.Decision{Node: "api"}); err != nil {
		t.Fatal(err)
	}
	s.record(run.Record{Type: run.Overridden, Node: "api", How: run.HowOverride})
	if res, err := s.Commands().Retry(t.Context(), commands.Retry{Node: "web"}); err != nil || len(res.Again) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}

// An agent whose program ended without a report goes on, unless it is to begin
// afresh.
func TestRetryOfWhatWaits(t *testing.T) {
	s := begun(t, chain)
	left := asking("api", "it ended without a report")
	left.How = run.HowLeft
	s.record(started("api"), left)
	if _, err := s.Commands().Retry(t.Context(), commands.Retry{Node: "api", Fresh: true}); err == nil || !strings.Contains(err.Error(), "cmux agents stop api first") {
		t.Error(err)
	}
	res, err := s.Commands().Retry(t.Context(), commands.Retry{Node: "api"})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Again) > 0 || !reflect.DeepEqual(res.GoesOn, []commands.Was{{Node: "api", Label: dag.Label{State: dag.NodeNeedsInput, Detail: "it ended without a report"}}}) {
		t.Errorf("%+v", res)
	}
}

func TestOrderToALiveRunner(t *testing.T) {
	s := begun(t, chain)
	s.record(started("api"))
	s.hold("", "api is not running")
	got, err := s.Commands().Override(t.Context(), commands.Decision{Node: "api"})
	if err != nil || got != (commands.Taken{Done: true}) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = s.Commands().Release(t.Context(), commands.Decision{Node: "api"})
	refused(t, err, "api is not running", "")
}

// Who leaves while the runner has not answered leaves the order standing.
func TestOrderThatIsNotAwaited(t *testing.T) {
	s := begun(t, chain)
	s.record(started("api"))
	s.hold()
	ctx, cancel := context.WithCancel(t.Context())
	w := signals.Watch(t.Context(), s.run.Requests())
	defer w.Close()
	go func() {
		for range w.C {
			if qs, err := s.run.Pending(); err != nil || len(qs) > 0 {
				cancel()
			}
		}
	}()
	if _, err := s.Commands().Override(ctx, commands.Decision{Node: "api"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := s.pending(); got != "override api" {
		t.Errorf("left for the runner: %s", got)
	}
}

func TestApprove(t *testing.T) {
	s := begun(t, chain)
	_, err := s.Commands().Approve(t.Context(), commands.Decision{Node: "api"})
	refused(t, err, "api is a review, no gate", "cmux agents override api, which calls it done")
	s.record(started("api"), ended("api", dag.Done, ""))
	_, err = s.Commands().Approve(t.Context(), commands.Decision{Node: "api"})
	refused(t, err, "api is a review, no gate, and done already", "")
	_, err = s.Commands().Override(t.Context(), commands.Decision{Node: "api"})
	refused(t, err, "api is done already", "")
	if _, err := s.Commands().Approve(t.Context(), commands.Decision{Node: "look"}); err != nil {
		t.Error(err)
	}
	if got := s.pending(); got != "approve look" {
		t.Errorf("left for the runner: %s", got)
	}
	s.record(run.Record{Type: run.Overridden, Node: "look", How: run.HowApproved})
	_, err = s.Commands().Approve(t.Context(), commands.Decision{Node: "look"})
	refused(t, err, "look is done already", "")
}

// A gate that asks for a code is opened by nobody who has not proved to be a
// person.
func TestApproveWithACode(t *testing.T) {
	s := begun(t, "  - {name: api, task: 'true'}\n  - {name: look, role: gate, approve: code, depends_on: [api]}\n  - {name: end, task: 'true', depends_on: [look]}\n")
	for _, order := range []func(context.Context, commands.Decision) (commands.Taken, error){s.Commands().Approve, s.Commands().Override} {
		_, err := order(t.Context(), commands.Decision{Node: "look"})
		if _, try := hint.Explain(err); !strings.HasSuffix(try, " look, in a terminal that no agent can type in: no pane of cmux's tmux server") {
			t.Errorf("%v; try %q", err, try)
		}
		no := errors.New("that is not the code")
		var seen *commands.Opening
		_, err = order(t.Context(), commands.Decision{Node: "look", Prove: func(_ context.Context, o *commands.Opening) error { seen = o; return no }})
		if err != no {
			t.Error(err)
		}
		if want := "  after api: ready\n  before end: waiting\n"; !strings.HasSuffix(seen.String(), want) || !strings.HasPrefix(seen.String(), "gate look of run ") {
			t.Errorf("shown:\n%swant:\n%s", seen, want)
		}
	}
	if got := s.pending(); got != "" {
		t.Errorf("left for the runner: %s", got)
	}
	if _, err := s.Commands().Approve(t.Context(), commands.Decision{Node: "look", Prove: func(context.Context, *commands.Opening) error { return nil }}); err != nil {
		t.Error(err)
	}
	if qs, err := s.run.Pending(); err != nil || len(qs) != 1 || !qs[0].Coded {
		t.Errorf("%+v, %v", qs, err)
	}
}

func TestCancel(t *testing.T) {
	s := begun(t, chain)
	got, err := s.Commands().Cancel(t.Context(), "api")
	if err != nil || got.Done || got.Note == "" {
		t.Errorf("%+v, %v", got, err)
	}
	s.record(started("api"), ended("api", dag.Done, ""))
	_, err = s.Commands().Cancel(t.Context(), "api")
	refused(t, err, "api has ended already (done)", "")
}

func TestStop(t *testing.T) {
	s := begun(t, chain)
	got, err := s.Commands().Stop(t.Context())
	if err != nil || !reflect.DeepEqual(got, &commands.RunStopped{Run: s.run.Plan.ID, Try: "cmux agents resume"}) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = s.Commands().Stop(t.Context())
	refused(t, err, "run "+s.run.Plan.ID+" is not running (stopped)", "")
}

// What the runner of a headless run refuses, whoever carried it is told.
// asked are the ids of the requests that wait for a runner, in their order.
func (s *scratch) asked() (ids []string) {
	s.t.Helper()
	qs, err := s.run.Pending()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, q := range qs {
		ids = append(ids, q.ID)
	}
	return ids
}

func TestRefusedHeadless(t *testing.T) {
	s := worked(t)
	s.Start = true
	taken, err := s.Commands().Retry(t.Context(), commands.Retry{Node: "a"})
	if err != nil || taken.Done || taken.Launch == nil {
		t.Fatalf("%+v, %v", taken, err)
	}
	if err := taken.Refused(); err != nil {
		t.Errorf("nobody has answered: %v", err)
	}
	s.record(run.Record{Type: run.Requested, Request: "another", Detail: "not this one"})
	if err := taken.Refused(); err != nil {
		t.Error(err)
	}
	ids := s.asked()
	s.record(run.Record{Type: run.Requested, Request: ids[0], Node: "a", Detail: "a is held"})
	refused(t, taken.Refused(), "a is held", "")
}

// A start whose runner is not up yet may be faster than the runner that an order gives
// its run: what that one does with the order counts.
func TestOrderBesideAStart(t *testing.T) {
	s := worked(t)
	s.Start = true
	var orders []*commands.Retried
	for range 2 {
		taken, err := s.Commands().Retry(t.Context(), commands.Retry{Node: "a"})
		if err != nil || taken.Launch == nil {
			t.Fatalf("%+v, %v", taken, err)
		}
		orders = append(orders, taken)
	}
	ids := s.asked()
	lock, err := s.run.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	_, err = s.Commands().Carry(t.Context(), commands.Carry{Launch: *orders[0].Launch, Live: io.Discard, Tell: func(string) {}})
	if !commands.Overtaken(err) {
		t.Fatalf("beside the other runner: %v", err)
	}
	settled := make(chan error, 2)
	for i := range orders {
		go func() { settled <- orders[i].Settled(t.Context()) }()
	}
	s.record(run.Record{Type: run.Requested, Request: ids[0], Node: "a"})
	if err := <-settled; err != nil {
		t.Errorf("carried out: %v", err)
	}
	s.record(run.Record{Type: run.Requested, Request: ids[1], Node: "a", Detail: "a is held"})
	refused(t, <-settled, "a is held", "")
}
