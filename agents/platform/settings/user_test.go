package settings

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cmux/dag/keys"
)

func TestParse(t *testing.T) {
	for src, want := range map[string]int{
		"": 0, "# nothing yet\n": 0, "max_agents:\n": 0, "max_agents: 4\n": 4, "x-note: mine\nmax_agents: 1\n": 1, "~\n": 0,
	} {
		if u, err := Parse("c", []byte(src)); err != nil || u.MaxAgents != want {
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
		_, err := Parse("c", []byte(src))
		var faults keys.Faults
		if !errors.As(err, &faults) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", src, err)
		}
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
		u, err := Parse("c", fmt.Appendf(nil, "hosts: [%q]", host))
		if (err == nil) != (want != "") || err == nil && !slices.Equal(u.Hosts, []string{host}) {
			t.Errorf("%q: %v %v", host, u.Hosts, err)
		}
	}
}

var update = flag.Bool("update", false, "rewrite generated pages")

// The page is what the tables of keys say.
func TestReference(t *testing.T) {
	const page = "../../../docs/configuration.md"
	if *update {
		if err := os.WriteFile(page, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(page); err != nil || string(b) != Reference() {
		t.Errorf("%s is not what the tables of keys say (%v): run this test with -update", page, err)
	}
	for _, k := range keys.Describes(userFields()) {
		if !strings.Contains(Reference(), "### `"+k.Name+"`\n") {
			t.Errorf("the reference does not mention %s", k.Name)
		}
	}
}
