package dag

import (
	"strings"
	"testing"
)

// TestCrowd: agents that may not start are passed over with a reason; other nodes start;
// admit is asked in graph order.
func TestCrowd(t *testing.T) {
	g, _, err := Parse("c", []byte(`session: s
max_parallel: 3
agents:
  - {name: a, task: x, role: review}
  - {name: b, task: x, role: review}
  - {name: c, task: x, role: review, agent: command}
  - {name: d, task: x, role: review, agent: codex}
`), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := Rebuild(g, Facts{})
	if !s.Asks() {
		t.Error("no agent asks")
	}
	var asked []string
	starts := func(room int) (names []string) {
		asked = nil
		for _, e := range s.DueIf(func(i int) string {
			asked = append(asked, g.Nodes[i].Name)
			if room--; room >= 0 {
				return ""
			}
			return "no room"
		}) {
			names = append(names, g.Nodes[e.Node].Name)
		}
		return names
	}
	if got := strings.Join(starts(1), " ") + "; " + strings.Join(asked, " "); got != "a c; a b" {
		t.Errorf("with room for one: %s", got)
	}
	for i, want := range map[int]string{1: "no room", 3: "no room"} {
		if st := s.Status(i, s.now); st.Label.State != NodeReady || st.Reason != want || st.Crowded != want {
			t.Errorf("%s: %+v", g.Nodes[i].Name, st)
		}
	}
	if s.Run() != RunRunning || !s.Asks() || !s.Clone().Asks() {
		t.Errorf("the run: %s, asks %t", s.Run(), s.Asks())
	}
	if due := s.Clone().DueIf(func(int) string { return "no room" }); len(due) != 0 {
		t.Errorf("a clone gives %v", due)
	}
	if got := strings.Join(starts(2), " "); got != "b" || s.Asks() { // the run's own bound
		t.Errorf("with room for all: %s, asks %t", got, s.Asks())
	}
}
