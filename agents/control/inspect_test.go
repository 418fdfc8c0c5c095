package control

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

func TestWorkAndLogEnd(t *testing.T) {
	s := worked(t)
	v, i, err := s.node(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Work(t.Context(), v, i)
	if err != nil || len(w.Commits) != 1 || w.More != 0 || len(w.Stat) != 2 || !strings.HasPrefix(w.Stat[0], "b | 1 +") {
		t.Errorf("%+v, %v", w, err)
	}
	dir := v.Nodes[i].Attempt().Place.Tree
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("two\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, err = s.Work(t.Context(), v, i); err != nil || !strings.HasPrefix(w.Stat[0], "b | 2 ++") {
		t.Errorf("with a change that is not committed: %+v, %v", w, err)
	}
	if got := s.Sights(t.Context(), v, i); len(got) != 1 || got[0] != v.Run.NodeDir("b") {
		t.Errorf("of a node that has ended the log alone is looked at: %v", got)
	}
	all, err := LogEnd(v.Run, "a", 1<<20)
	if err != nil || !strings.Contains(string(all), "\ntold\n") {
		t.Fatalf("%q, %v", all, err)
	}
	last := all[strings.LastIndex(strings.TrimSpace(string(all)), "\n")+1:]
	if got, err := LogEnd(v.Run, "a", int64(len(last))+3); err != nil || string(got) != string(last) {
		t.Errorf("%q, %v, want the last line whole: %q", got, err, last)
	}
	if got, err := LogEnd(v.Run, "nobody", 10); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
}
