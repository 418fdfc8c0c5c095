package git

import (
	"testing"

	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }
