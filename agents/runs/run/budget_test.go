package run

import (
	"errors"
	"testing"
	"time"

	"cmux/dag"
)

func historyOf(t *testing.T, config string, recs ...Record) *History {
	t.Helper()
	g, _, err := dag.Parse("x.yml", []byte(config), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := NewHistory(g)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range recs {
		recs[i].At = at.Add(time.Duration(i) * time.Second)
		h.Apply(&recs[i])
	}
	return h
}

const spenders = `
session: s
budget: {tokens: 1000}
agents:
  - {name: a, task: x, budget: {tokens: 100}}
  - {name: b, task: x}
  - {name: c, agent: command, task: "true"}
`

func started(node string, n int) Record { return Record{Type: Started, Node: node, Attempt: n} }

func conversed(node string, n int, id string) Record {
	return Record{Type: Conversed, Node: node, Attempt: n, Conversation: id}
}

func used(node string, n int, u dag.Usage) Record {
	return Record{Type: Used, Node: node, Attempt: n, Used: u}
}

func endedWith(node string, n int, u dag.Usage) Record {
	return Record{Type: AttemptEnd, Node: node, Attempt: n, End: &End{Outcome: dag.Done, Used: u}}
}

// Use is folded by attempt, node and run; a record counts once, however often
// and in whatever order it comes.
func TestHistoryOfUse(t *testing.T) {
	h := historyOf(t, spenders,
		started("a", 1), conversed("a", 1, "one"),
		used("a", 1, dag.Usage{Input: 1, CacheRead: 10}),
		used("a", 1, dag.Usage{Input: 3, CacheRead: 30}), used("a", 1, dag.Usage{Input: 3, CacheRead: 30}), used("a", 1, dag.Usage{Input: 2}),
		Record{Type: Vanished, Node: "a", Attempt: 1},
		started("a", 2), conversed("a", 2, "one"), conversed("a", 2, "one"),
		used("a", 2, dag.Usage{Output: 5}),
		conversed("a", 2, "two"), // a person began another conversation in it
		used("a", 2, dag.Usage{Output: 12}),
		endedWith("a", 2, dag.Usage{Output: 13, CacheCreate: 4}), endedWith("a", 2, dag.Usage{Output: 13, CacheCreate: 4}),
		Record{Type: Reset, Node: "a"},
		started("b", 1), used("b", 1, dag.Usage{Input: 50}),
		started("gone", 1), used("gone", 1, dag.Usage{Input: 600}), used("gone", 1, dag.Usage{Input: 700}), endedWith("gone", 1, dag.Usage{Input: 700}),
	)
	a := &h.Nodes[0]
	for _, c := range []struct {
		what      string
		got, want dag.Usage
	}{
		{"the first attempt", a.Attempts[0].Used, dag.Usage{Input: 3, CacheRead: 30}},
		{"the second attempt", a.Attempts[1].Used, dag.Usage{Output: 13, CacheCreate: 4}},
		{"the node, a reset changes nothing", a.Used, dag.Usage{Input: 3, Output: 13, CacheRead: 30, CacheCreate: 4}},
		{"its second conversation", a.UsedIn("two"), dag.Usage{Output: 8, CacheCreate: 4}},
		{"its first conversation, as of the attempt that had no other", a.UsedIn("one"), dag.Usage{Input: 3, CacheRead: 30}},
		{"the run, a removed node included", h.Used, dag.Usage{Input: 753, Output: 13, CacheRead: 30, CacheCreate: 4}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, c.got, c.want)
		}
	}
}

func TestOverBudget(t *testing.T) {
	over := func(h *History, i int) string {
		var b *BudgetError
		if err := h.OverBudget(i); errors.As(err, &b) {
			return err.Error()
		}
		return ""
	}
	const ofA, ofRun = "a has used 101 of its budget of 100 tokens", "the run has used 1001 of its budget of 1000 tokens"
	for _, c := range []struct {
		a, b dag.Usage
		want [3]string // a, b, and c, which uses no model
	}{
		{dag.Usage{Input: 100}, dag.Usage{Input: 900, CacheRead: 5000}, [3]string{}},
		{dag.Usage{Input: 101}, dag.Usage{Input: 899}, [3]string{ofA, "", ""}},
		{dag.Usage{Input: 100}, dag.Usage{Input: 901}, [3]string{ofRun, ofRun, ""}},
		{dag.Usage{Input: 101}, dag.Usage{Input: 900}, [3]string{ofA, ofRun, ""}},
	} {
		h := historyOf(t, spenders, started("a", 1), used("a", 1, c.a), started("b", 1), used("b", 1, c.b))
		for i, want := range c.want {
			if got := over(h, i); got != want {
				t.Errorf("%+v, %+v: node %d: %q, want %q", c.a, c.b, i, got, want)
			}
		}
	}
}
