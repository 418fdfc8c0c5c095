package wrapper_test

import (
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// leaves is an agent that ends without a word at first, and reports when it is
// told to go on.
const leaves = "if [ ! -e left ]; then touch left; exit 0; fi; read -r line; echo \"told: $line\"; cmux done again; sleep 1000"

func TestNoReportIsAPersonsToDecide(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(f *fixture)
		code   int
		log    string
	}{
		"retry":    {func(f *fixture) { check(f, f.Dial().Retry(f.T.Context())) }, 0, "told: Your program was ended before you reported"},
		"answer":   {func(f *fixture) { check(f, f.Dial().Answer(f.T.Context(), "use the left one")) }, 0, "A person says: use the left one"},
		"stop":     {func(f *fixture) { check(f, f.Dial().Cancel(f.T.Context())) }, 130, ""},
		"override": {func(f *fixture) { check(f, f.Dial().Overridden(f.T.Context())) }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, scriptedNode(leaves, func(n *dag.Node) { n.Verify = []string{"test -e left"} })).inPane()
			_, _, wait := f.start()
			f.becomes("checking, running, needs input")
			if a := f.Last(run.Active); a.How != run.HowLeft || a.Detail != "ended without a report (exit 0): its checks pass" {
				t.Errorf("%+v", a)
			}
			if err := f.Dial().Release(t.Context()); err == nil {
				t.Error("it was released")
			}
			c.decide(f)
			if code := wait(); code != c.code || !strings.Contains(f.Log(), c.log) {
				t.Errorf("exit %d\n%s", code, f.Log())
			}
		})
	}
}

func check(f *fixture, err error) {
	f.T.Helper()
	if err != nil {
		f.T.Error(err)
	}
}
