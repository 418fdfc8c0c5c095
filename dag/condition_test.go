package dag

import (
	"testing"

	"cmux/agents/testkit/agenttest/fuzzing"

	"cmux/dag/keys"
)

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// FuzzCondition: every if: is either refused or evaluated. Evaluation gives the same result
// each time, also in the form that the State uses.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{
		"", "true", "success() && !failure()", "needs.a.result == 'done'", "needs.b-c.outputs.x matches '^[a-z]+$'", "${{ needs['b-c'].result in ['skipped'] }}",
		"int(needs.a.outputs.x) > 3", "needs.a.outputs.x[5:2] == ''", "len(needs) > 0", "1..1000000 == []", "1/0 > 1", "((((", "needs.b-c", "'needs.b-c.result'",
	} {
		f.Add(s, "12", uint8(1))
	}
	f.Fuzz(func(t *testing.T, text, value string, ends uint8) {
		g := &Graph{Nodes: []Node{{Name: "a", When: AllSuccess, Outputs: []string{"x"}}, {Name: "b-c", When: AllSuccess}, {Name: "d", When: AllDone, DependsOn: []string{"a", "b-c"}, If: text}}}
		if err := g.link(); err != nil {
			t.Fatal(err)
		}
		s := Rebuild(g, Facts{})
		if _, _, err := Parse("f.yml", []byte("session: s\nagents:\n  - {name: a, task: x, outputs: [x]}\n  - {name: b-c, task: x}\n  - {name: d, task: x, depends_on: [a, b-c], if: "+keys.Scalar(text)+"}\n"), ParseOptions{}); err == nil && text != "" {
			if c := g.condition(2); c.err != nil {
				t.Fatalf("Parse takes %q, of which the State says %v", text, c.err)
			}
		}
		s.Take(Change{Kind: Published, Node: 0, Attempt: 1, Output: "x", Value: value})
		for i := range 2 {
			out := []Outcome{Done, Failed, Cancelled, Override}[ends>>(2*i)&3]
			s.Take(Change{Kind: AttemptEnded, Node: i, Attempt: 1, Outcome: out})
		}
		ok, err := s.Condition(2)
		again, err2 := Rebuild(g, s.Facts()).Condition(2)
		if ok != again || (err == nil) != (err2 == nil) {
			t.Fatalf("%q: %v, %v and then %v, %v", text, ok, err, again, err2)
		}
		if s.Skipped(2) != (!ok && err == nil) {
			t.Fatalf("%q: %v, %v, skipped %v", text, ok, err, s.Skipped(2))
		}
	})
}

// A condition that cannot be evaluated does not keep its node from starting, where the
// error is reported.
func TestConditionThatCannotBeEvaluated(t *testing.T) {
	g, _, err := Parse("f.yml", []byte("session: s\nagents:\n  - {name: a, task: x, outputs: [x]}\n  - {name: b, task: x, depends_on: a, if: int(needs.a.outputs.x) > 3}\n"), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := Rebuild(g, Facts{})
	s.Take(Change{Kind: Published, Node: 0, Attempt: 1, Output: "x", Value: "many"}, Change{Kind: AttemptEnded, Node: 0, Attempt: 1, Outcome: Done})
	if _, err := s.Condition(1); err == nil || s.Skipped(1) || !s.Ready(1) {
		t.Errorf("%v; skipped %v, ready %v", err, s.Skipped(1), s.Ready(1))
	} else if got, want := err.Error(), "if: invalid operation: int(many)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
