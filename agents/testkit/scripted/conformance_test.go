package scripted_test

import (
	"testing"

	"cmux/agents/runs/attempt"
	"cmux/agents/testkit/agenttest"
	"cmux/agents/testkit/scripted"
)

func TestMain(m *testing.M) { agenttest.Main(m, attempt.Limits{}, scripted.Kind(true)) }

func subject() agenttest.Subject {
	return agenttest.Subject{
		Kind: scripted.Kind(true),
		Play: func(t testing.TB, base string, play agenttest.Play) agenttest.Player {
			return agenttest.NewShell(t, base, play, true)
		},
		Question: agenttest.Question{Shown: "which way?", Answer: "left", Told: "left"},
	}
}

func TestConformance(t *testing.T) { agenttest.Run(t, subject()) }

func TestStandingConformance(t *testing.T) {
	s := subject()
	s.Play = func(t testing.TB, base string, play agenttest.Play) agenttest.Player {
		return agenttest.NewShell(t, base, play, true).Remembers()
	}
	agenttest.RunStanding(t, s)
}
