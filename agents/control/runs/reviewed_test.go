package runs

import (
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
	"cmux/dag"
)

// What a person decided, what the branches hold by then, and what a merge takes
// of it: each case is a line.
func TestStandings(t *testing.T) {
	const nodes = `
session: s
agents:
  - {name: a, task: x}
  - {name: look, role: review, task: x, depends_on: a}
  - {name: b, task: x, depends_on: look}
  - {name: c, task: x}
`
	tip := func(node string) string { return "tip of " + node }
	review := func(node string, verdict run.Verdict) run.Record {
		return run.Record{Type: run.Reviewed, Node: node, How: string(verdict), Tip: tip(node)}
	}
	approve := func(node string) run.Record { return review(node, run.VerdictApproved) }
	drop := func(node string) run.Record { return review(node, run.VerdictDropped) }
	again := func(node, comment string) []run.Record {
		return []run.Record{
			{Type: run.Reset, Node: node, Comment: comment},
			{Type: run.Started, Node: node, Attempt: 2},
			{Type: run.AttemptEnd, Node: node, Attempt: 2, End: &run.End{Outcome: dag.Done, Tip: tip(node), Commits: 1}},
		}
	}
	for _, c := range []struct {
		name    string
		recs    []run.Record
		tips    map[string]string // other than they ended with
		pending []run.Request
		want    string // of a, b, c: state; with the review required
		taken   string // by a merge that requires a review
		always  string // by one that does not
		count   int    // of those to review, as far as the records tell
	}{
		{"nobody decided", nil, nil, nil, "to review, to review, to review", "", "a b c", 3},
		{"all approved", []run.Record{approve("a"), approve("b"), approve("c")}, nil, nil, "approved, approved, approved", "a b c", "a b c", 0},
		{"built on what nobody approved", []run.Record{approve("b"), approve("c")}, nil, nil, "to review, approved, approved", "c", "a b c", 1},
		{"built on what was dropped", []run.Record{drop("a"), approve("b"), approve("c")}, nil, nil, "dropped, approved, approved", "c", "c", 0},
		{"the last word counts", []run.Record{drop("a"), approve("a"), approve("c"), drop("c")}, nil, nil, "approved, to review, dropped", "a", "a b", 1},
		{"a commit after the approval", []run.Record{approve("a"), approve("c")}, map[string]string{"c": "later"}, nil, "approved, to review, changed since it was approved", "a", "a b c", 1},
		{"a commit after it was dropped", []run.Record{drop("c")}, map[string]string{"c": "later"}, nil, "to review, to review, dropped", "", "a b", 2},
		{"approved as it was moved to", []run.Record{{Type: run.Reviewed, Node: "c", How: "approved", Tip: "later"}}, map[string]string{"c": "later"}, nil,
			"to review, to review, approved", "c", "a b c", 2},
		{"sent back and done again, with the same commit", append([]run.Record{approve("a"), approve("c")}, again("c", "more")...), nil, nil,
			"approved, to review, to review", "a", "a b c", 2},
		{"run again without a comment", append([]run.Record{approve("c")}, again("c", "")...), nil, nil, "to review, to review, to review", "", "a b c", 3},
		{"sent back while no runner is there", []run.Record{approve("a"), approve("b"), approve("c")}, nil, []run.Request{{Op: run.OpRetry, Node: "a", Text: "more"}},
			"sent back, approved, approved", "c", "c", 0},
		{"merged, with what was committed later", []run.Record{approve("b")}, map[string]string{"a": "merged a", "b": "merged b", "c": "merged c"}, nil, "merged, merged, merged", "a b c", "a b c", 2},
		{"approved as it was merged", []run.Record{{Type: run.Reviewed, Node: "c", How: "approved", Tip: "merged c"}}, map[string]string{"c": "merged c"}, nil, "to review, to review, merged", "c", "a b c", 2},
		{"merged, and dropped", []run.Record{drop("c")}, map[string]string{"c": "merged c"}, nil, "to review, to review, dropped", "", "a b", 2},
		{"it changed nothing", []run.Record{approve("b")}, map[string]string{"a": "start of a"}, nil, "nothing to review, approved, to review", "a b", "a b c", 2},
	} {
		for _, required := range []bool{true, false} {
			config := nodes
			if required {
				config = "review: required" + nodes
			}
			recs := []run.Record{}
			for _, n := range []string{"a", "look", "b", "c"} {
				end := &run.End{Outcome: dag.Done, Commits: 1}
				if n != "look" {
					end.Tip = tip(n)
				}
				recs = append(recs, run.Record{Type: run.Started, Node: n, Attempt: 1}, run.Record{Type: run.AttemptEnd, Node: n, Attempt: 1, End: end})
			}
			v := runtest.View(t, config, append(recs, c.recs...)...)
			v.Pending = c.pending
			all := stand(v, func(i int) (string, string, bool) {
				n := &v.Nodes[i]
				if moved := c.tips[n.Spec.Name]; moved != "" {
					return "start of " + n.Spec.Name, moved, strings.HasPrefix(moved, "merged")
				}
				return "start of " + n.Spec.Name, n.Tip, false
			})
			var states, taken []string
			for i := range all {
				if all[i].State == "" {
					continue
				}
				states = append(states, string(all[i].State))
				if all[i].Why == "" {
					taken = append(taken, v.Nodes[i].Spec.Name)
				}
			}
			want := c.always
			if required {
				want = c.taken
			}
			if got := strings.Join(states, ", "); got != c.want {
				t.Errorf("%s (required: %t): %s, want %s", c.name, required, got, c.want)
			}
			if got := strings.Join(taken, " "); got != want {
				t.Errorf("%s (required: %t): a merge takes %q, want %q", c.name, required, got, want)
			}
			if got := unreviewed(v); required && got != c.count || !required && got != 0 {
				t.Errorf("%s (required: %t): %d to review, want %d", c.name, required, got, c.count)
			}
			if got := strings.Join(all[2].builtOn, " "); got != "a" {
				t.Errorf("%s: b is built on %q", c.name, got)
			}
		}
	}
}
