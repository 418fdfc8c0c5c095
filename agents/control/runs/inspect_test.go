package runs

import (
	"fmt"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
)

func TestFittingOrders(t *testing.T) {
	v := runtest.Everything(t)
	for name, want := range map[string]string{
		"schema":  "[retry attach logs diff]",
		"api":     "[retry attach logs diff override]",
		"web":     "[answer attach logs diff override stop]",
		"docs":    "[retry]",
		"flaky":   "[attach logs diff answer override stop]",
		"release": "[approve stop]",
		"tests":   "[override stop]",
	} {
		if got := fmt.Sprint(Inspect(v, v.Run.Plan.Graph.Index(name)).Orders); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestInspect(t *testing.T) {
	v := runtest.Everything(t)
	v.Incidents = []run.Record{
		{Node: "api", How: run.IncidentRefused, Detail: "tried it"}, {Node: "web", How: run.IncidentRefused}, {Node: "api", How: run.IncidentMarker},
	}
	in := Inspect(v, v.Run.Plan.Graph.Index("api"))
	if len(in.Tries) != 1 || in.Tries[0].How != "failed (checks)" || len(in.Checks) != 1 || !in.Since.Equal(runtest.At(-7)) {
		t.Errorf("api: %+v", in)
	}
	if len(in.Refused) != 1 || in.Refused[0].Detail != "tried it" || len(in.After) != 1 || in.After[0].Name != "schema" || len(in.Before) != 2 {
		t.Errorf("api: %+v", in)
	}
	if q := Inspect(v, v.Run.Plan.Graph.Index("web")).Question; q == nil || q.String() != "Which colour?" {
		t.Errorf("web asks %v", q)
	}
	var need []string
	for _, i := range NeedPerson(v) {
		need = append(need, v.Nodes[i].Spec.Name)
	}
	if got := fmt.Sprint(need); got != "[web release]" {
		t.Errorf("a person is needed by %s", got)
	}
}
