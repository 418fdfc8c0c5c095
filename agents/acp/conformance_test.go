package acp_test

import (
	"testing"
	"time"

	"cmux/agents/acp"
	"cmux/agents/agent"
	"cmux/agents/agenttest"
	"cmux/agents/attempt"
	mt "cmux/agents/modeltest"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, attempt.Limits{Grace: 5 * time.Second}, acp.Kind(), acp.Qwen(), acp.OpenCode(), acp.Gemini())
}

// subject is a program before a scripted model. What needs leave is a command
// that is granted nowhere. lasting says that it tells of a wrong request as one.
func subject(k agent.Kind, lasting bool) agenttest.Subject {
	return agenttest.Subject{
		Kind: k, Lasting: lasting,
		Play: func(t testing.TB, base string, play agenttest.Play) agenttest.Player {
			return agenttest.NewModel(t, base, play, agenttest.Words{Ask: mt.Shell("touch " + base + "/outside"), Fail: refused})
		},
		Question: agenttest.Question{Shown: "may it run: touch", Answer: "no, to the left", Told: "no, to the left"},
	}
}

// refused is what a model says to a request that is wrong. What it says when it
// is overloaded, programs try again for minutes.
var refused = mt.Fault{Status: 400, Message: "no such thing"}

func TestQwenCode(t *testing.T) {
	agenttest.Run(t, subject(acp.Qwen(), true))
}

func TestOpenCode(t *testing.T) {
	agenttest.Run(t, subject(acp.OpenCode(), false))
}
