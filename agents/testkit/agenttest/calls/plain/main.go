// Command plain is what agents call of cmux and nothing else. Tests that run
// with the race detector build it without: an agent program calls a hook twice
// for each of its tools, and with the detector the start of one costs five
// times the processor. The wrapper, which all of them ask, keeps the detector.
package main

import (
	"fmt"
	"os"

	"cmux/agents/testkit/agenttest/calls"
)

func main() {
	calls.Answer()
	fmt.Fprintf(os.Stderr, "plain: agents call nothing of the kind: %q\n", os.Args[1:])
	os.Exit(2)
}
