package dag

import (
	"fmt"
	"strings"
	"testing"
)

// Twigs are the lines that Draw writes, in its order and at its depths.
func TestTwigsAreTheDrawing(t *testing.T) {
	g, _, err := Parse("test.yml", []byte(`
session: shop
agents:
  - {name: schema, agent: command, task: "true"}
  - {name: docs, agent: command, task: "true"}
  - {name: api, agent: command, task: "true", depends_on: [schema]}
  - {name: web, agent: command, task: "true", depends_on: [schema]}
  - {name: tests, agent: command, task: "true", depends_on: [api, web, docs]}
  - {name: ship, agent: command, task: "true", depends_on: [tests, schema]}
`), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var drawn strings.Builder
	if err := g.Draw(&drawn, "text"); err != nil {
		t.Fatal(err)
	}
	twigs, err := g.Twigs()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, twig := range twigs {
		lead, joint := "", ""
		if twig.Under >= 0 {
			joint = "├─ "
			if twig.Last {
				joint = "└─ "
			}
		}
		for at := twig.Under; at >= 0 && twigs[at].Under >= 0; at = twigs[at].Under {
			if twigs[at].Last {
				lead = "   " + lead
			} else {
				lead = "│  " + lead
			}
		}
		lines = append(lines, lead+joint+g.Nodes[twig.Node].Name)
	}
	want := strings.Split(strings.TrimRight(drawn.String(), "\n"), "\n")
	for i := range want {
		want[i], _, _ = strings.Cut(want[i], " (")
	}
	if got := fmt.Sprintf("%q", lines); got != fmt.Sprintf("%q", want) {
		t.Errorf("twigs:\n%s\nwant:\n%q", got, want)
	}
}
