package runs

import (
	"fmt"
	"slices"
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

// A node shows what its fence refused, with the line that allows it, which counts what the
// configuration has already.
func TestInspectFenced(t *testing.T) {
	v := runtest.Everything(t)
	i := v.Run.Plan.Graph.Index("api")
	n := &v.Nodes[i]
	n.Spec.Fence.Write, n.Spec.Scope = []string{"~/.cache/go"}, []string{"api/"}
	n.Fenced = []run.Fencing{{Attempt: 1, Path: "/opt/tool/log", Open: "/opt/tool"}, {Attempt: 2, Path: "/repo/web/a.ts", Open: run.OpenScope + "web/"}, {Attempt: 2, Path: "/etc/passwd"}}
	want := []Fenced{
		{1, "/opt/tool/log", `fence: {write: ["~/.cache/go","/opt/tool"]}`},
		{2, "/repo/web/a.ts", `scope: ["api/","web/"]`},
		{2, "/etc/passwd", ""},
	}
	if got := Inspect(v, i).Fenced; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
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
	if len(in.Fenced) != 0 {
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
