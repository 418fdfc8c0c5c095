package wrapper_test

import (
	"strings"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
)

// limitRecords are the types of the records about limits, in order.
func (f *fixture) limitRecords() string {
	var all []string
	for _, r := range f.Records() {
		switch {
		case r.Type == run.Limited || r.Type == run.Freed:
			if r.Account != scripted.Name {
				f.T.Errorf("account %q", r.Account)
			}
			all = append(all, string(r.Type))
		case r.Type == run.Active && !r.Until.IsZero():
			all = append(all, "pauses")
		}
	}
	return strings.Join(all, ", ")
}

// The account's limit is recorded before the slot is given back, or another
// would get it and run into the same limit; and that it is over once the agent
// got something done.
func TestLimitIsTheAccounts(t *testing.T) {
	f := newFixture(t, scriptedNode("echo '{\"until\":\"2020-01-01T00:00:00Z\",\"text\":\"no more  today\"}' | "+hook+"limited; read -r line; cmux done ok; sleep 1000", nil))
	_, _, wait := f.start()
	if code := wait(); code != 0 || f.limitRecords() != "limited, pauses, freed" {
		t.Errorf("exit %d, %s\n%s", code, f.limitRecords(), f.Log())
	}
	if r := f.Last(run.Active); r.Detail != "" {
		t.Errorf("%+v: it works and is said to be limited", r)
	}
}

// With on_limit: ask, an agent goes on after a limit when a person says so.
func TestLimitThatAsks(t *testing.T) {
	f := newFixture(t, scriptedNode("echo '{\"until\":\"2020-01-01T00:00:00Z\",\"text\":\"no more today\"}' | "+hook+"limited; read -r line; cmux done \"$line\"; sleep 1000", func(n *dag.Node) { n.OnLimit = dag.AskToGoOn })).inPane()
	_, _, wait := f.start()
	c := f.Dial()
	f.becomes("needs input")
	if r := f.Last(run.Active); !strings.Contains(r.Detail, "no more today (answer `go on`") {
		t.Errorf("it asks %q", r.Detail)
	}
	if err := c.Answer(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 0 || f.limitRecords() != "limited, pauses, freed" {
		t.Errorf("exit %d, %s\n%s", code, f.limitRecords(), f.Log())
	}
}

// An attempt that was given its slot before another one met the limit starts
// its agent when the limit is over.
func TestLimitMetBeforeTheStart(t *testing.T) {
	f := newFixture(t, scriptedNode("cmux done ok; sleep 1000", nil))
	f.Append(run.Record{Type: run.Limited, Node: "other", Account: scripted.Name, Until: time.Now().Add(time.Hour)})
	_, _, wait := f.start()
	c := f.Dial()
	f.becomes("limited")
	if err := c.Ping(t.Context()); err != nil || strings.Contains(f.Log(), "ok") {
		t.Errorf("it was started: %v\n%s", err, f.Log())
	}
	if err := c.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 130 {
		t.Errorf("exit %d\n%s", code, f.Log())
	}
	// A limit that ends is waited for; on a slow machine it may have ended before.
	g := newFixture(t, scriptedNode("cmux done ok; sleep 1000", nil))
	g.Append(run.Record{Type: run.Limited, Account: scripted.Name, Until: time.Now().Add(300 * time.Millisecond)})
	_, _, wait = g.start()
	code, was := wait(), g.limitRecords()
	if code != 0 || was != "limited, pauses, freed" && was != "limited" {
		t.Errorf("exit %d, %s\n%s", code, was, g.Log())
	}
}

// Only the attempt that is on trial says that a limit is over: what another one
// gets done may be older than the limit.
func TestTrial(t *testing.T) {
	for _, trial := range []bool{true, false} {
		f := newFixture(t, scriptedNode("cmux done ok; sleep 1000", nil))
		f.Append(run.Record{Type: run.Limited, Account: scripted.Name, Until: time.Now().Add(-time.Second)})
		f.Spec.Trial = trial
		f.WriteSpec()
		_, _, wait := f.start()
		want := "limited"
		if trial {
			want = "limited, freed"
		}
		if code := wait(); code != 0 || f.limitRecords() != want {
			t.Errorf("trial %v: exit %d, %s\n%s", trial, code, f.limitRecords(), f.Log())
		}
	}
}

// A slot granted on trial comes with the duty too.
func TestGrantedOnTrial(t *testing.T) {
	f := newFixture(t, scriptedNode("cmux blocked q; read -r line; cmux done ok; sleep 1000", nil)).inPane()
	f.Append(run.Record{Type: run.Limited, Account: scripted.Name, Until: time.Now().Add(-time.Second)})
	runner, err := f.Run.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Unlock()
	_, _, wait := f.start()
	c := f.Dial()
	f.becomes("needs input")
	if err := c.Answer(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	f.becomes("needs input, wants")
	if err := c.Granted(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 0 || f.limitRecords() != "limited, freed" {
		t.Errorf("exit %d, %s\n%s", code, f.limitRecords(), f.Log())
	}
}

// Without a stated end those that meet the limit together wake together.
func TestLimitWithoutAnEnd(t *testing.T) {
	until := time.Now().Add(time.Hour).Round(0)
	f := newFixture(t, scriptedNode("read -r line; "+hook+"limited </dev/null; sleep 1000", nil)).inPane()
	_, _, wait := f.start()
	c := f.Dial()
	f.Eventually("it has begun", func() bool { return f.Last(run.Began) != nil })
	if err := c.Ping(t.Context()); err != nil { // it looks at its account before it serves
		t.Fatal(err)
	}
	f.Append(run.Record{Type: run.Limited, Account: scripted.Name, Until: until})
	f.Eventually("it takes an answer", func() bool { return c.Answer(t.Context(), "now") == nil })
	f.becomes("limited")
	if r := f.Last(run.Limited); r.Node != "a" || !r.Until.Equal(until) {
		t.Errorf("%+v, want until %v as the other", r, until)
	}
	if err := c.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait()
}
