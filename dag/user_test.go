package dag

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseUser(t *testing.T) {
	for src, want := range map[string]int{
		"": 0, "# nothing yet\n": 0, "max_agents:\n": 0, "max_agents: 4\n": 4, "x-note: mine\nmax_agents: 1\n": 1, "~\n": 0,
	} {
		if u, err := ParseUser("c", []byte(src)); err != nil || u.MaxAgents != want {
			t.Errorf("%q: %+v, %v", src, u, err)
		}
	}
	for src, want := range map[string]string{
		"max_agents: 0\n":                   "c:1:13: ",
		"max_agents: many\n":                "c:1:13: ",
		"max_agent: 2\n":                    `c:1:1: unknown key "max_agent" (did you mean "max_agents"?)`,
		"max_agents: 2\nmax_agents: 3\n":    "c:2:1: ",
		"session: x\n":                      `c:1:1: unknown key "session" (it belongs to a project's .cmux-agents.yml)`,
		"- max_agents\n":                    "c:1:1: ",
		"max_agents: 2\n---\nmax_agents: 3": "c:2:",
		"max_agents: [\n":                   "c:",
		"\xff":                              "c:1:1: ",
	} {
		_, err := ParseUser("c", []byte(src))
		var faults Faults
		if !errors.As(err, &faults) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", src, err)
		}
	}
}

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

// Each host of the dashboard is a host and a port, without patterns.
func TestHosts(t *testing.T) {
	for host, want := range map[string]string{
		"localhost:9000":                   "http://localhost:9000",
		"Name-8420.App.GitHub.dev":         "http://name-8420.app.github.dev",
		"https://name-8420.app.github.dev": "https://name-8420.app.github.dev",
		"http://10.0.0.7:80":               "http://10.0.0.7:80",
		"*.app.github.dev":                 "",
		"https://a/b":                      "",
		"https://me@a":                     "",
		"ftp://a":                          "",
		"a b":                              "",
		"":                                 "",
		":9000":                            "",
	} {
		got, err := HostOrigin(host)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v, want %q", host, got, err, want)
		}
		u, err := ParseUser("c", fmt.Appendf(nil, "hosts: [%q]", host))
		if (err == nil) != (want != "") || err == nil && !slices.Equal(u.Hosts, []string{host}) {
			t.Errorf("%q: %v %v", host, u.Hosts, err)
		}
	}
}
