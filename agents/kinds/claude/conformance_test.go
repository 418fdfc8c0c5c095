package claude_test

import (
	"testing"

	"cmux/agents/kinds/claude"
	"cmux/agents/testkit/agenttest"
)

func subject() agenttest.Subject {
	return agenttest.Subject{
		Kind: claude.Kind(), Slow: true,
		Play: func(t testing.TB, base string, play agenttest.Play) agenttest.Player {
			return agenttest.NewModel(t, base, play, agenttest.Words{Ask: question})
		},
		Question: agenttest.Question{Shown: "Which colour?\n  1. Red: like fire\n  2. Blue: like the sea", Answer: "2", Told: "Blue"},
	}
}

func TestConformance(t *testing.T) { agenttest.Run(t, subject()) }

func TestStandingConformance(t *testing.T) { agenttest.RunStanding(t, subject()) }
