package remains

import (
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
	"cmux/agents/testkit/agenttest/golden"
)

func TestChangelog(t *testing.T) {
	golden.Equal(t, "changelog.md", changelog(runtest.Everything(t), runtest.Noon, func(n *run.NodeView) work {
		if n.Spec.Name != "flaky" {
			return work{}
		}
		return work{commits: []string{"1234567 Try it again", "2345678 say \x1b[31mwhy\x1b[0m"}, stat: " a.go | 2 ++\n"}
	}))
}
