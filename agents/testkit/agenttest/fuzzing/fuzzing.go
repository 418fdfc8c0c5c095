// Package fuzzing fuzzes for a moment where all tests of a package run. The inputs are
// mutations of the seeds. They are not guided by coverage, which would need binaries of
// their own; make fuzz guides them, for as long as it is told.
package fuzzing

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"cmux/agents/testkit/agenttest/testall"
)

// A target is given inputs in rounds, each of so many times as many as the one
// before, until a round has taken a moment. A bound in time would fail now and
// then, for that alone (golang/go#75804).
const (
	first  = 100
	growth = 4
	moment = 500 * time.Millisecond
)

var target = regexp.MustCompile(`(?m)^Fuzz\w*$`)

// Run fuzzes each target of the test binary that it is called in. What breaks a
// target is kept under testdata/fuzz, where each later run of the tests tries it.
func Run(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list, err := exec.CommandContext(t.Context(), self, "-test.list=^Fuzz").Output()
	if err != nil {
		t.Fatal(err)
	}
	targets := target.FindAllString(string(list), -1)
	if targets == nil {
		t.Fatalf("no target in %q", list)
	}
	for _, name := range targets {
		t.Run(name, func(t *testing.T) {
			took := time.Duration(0)
			for n := first; took < moment; n *= growth {
				began := time.Now()
				out, err := exec.CommandContext(t.Context(), self, "-test.run=^$", "-test.fuzz=^"+name+"$",
					"-test.fuzztime="+fmt.Sprint(n)+"x", "-test.fuzzcachedir="+t.TempDir(), "-test.parallel=1").CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				took = time.Since(began)
			}
		})
	}
}
