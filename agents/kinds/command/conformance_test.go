package command_test

import (
	"testing"

	"cmux/agents/kinds/command"
	"cmux/agents/runs/attempt"
	"cmux/agents/testkit/agenttest"
)

func TestMain(m *testing.M) { agenttest.Main(m, attempt.Limits{}, command.Kind()) }

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Subject{
		Kind: command.Kind(),
		Play: func(t testing.TB, base string, play agenttest.Play) agenttest.Player {
			return agenttest.NewShell(t, base, play, false)
		},
	})
}
