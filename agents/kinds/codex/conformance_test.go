package codex_test

import (
	"testing"

	"cmux/agents/kinds/codex"
	"cmux/agents/testkit/agenttest"
	mt "cmux/agents/testkit/modeltest"
)

func subject() agenttest.Subject {
	return agenttest.Subject{
		Kind: codex.Kind(),
		Play: func(t testing.TB, base string, play agenttest.Play) agenttest.Player {
			// Outside of its sandbox it may write nothing without leave.
			ask := mt.ToolUse{Name: "exec_command", Input: map[string]any{
				"cmd": "echo no > " + base + "/outside", "sandbox_permissions": "require_escalated", "justification": "which way?"}}
			return agenttest.NewModel(t, base, play, agenttest.Words{Ask: ask})
		},
		Question: agenttest.Question{Shown: "which way?", Answer: "no, to the left", Told: "no, to the left"},
	}
}

func TestConformance(t *testing.T) { agenttest.Run(t, subject()) }

func TestStandingConformance(t *testing.T) { agenttest.RunStanding(t, subject()) }
