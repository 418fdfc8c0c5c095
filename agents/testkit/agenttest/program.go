package agenttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"cmux/agents/platform/seal/sealtest"
)

// programs is a folder for what withProgram has built.
var programs string

// withProgram runs the tests and removes what they built.
func withProgram(m *testing.M) int {
	if racing {
		dir, err := os.MkdirTemp("", "cmux-called")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		programs = dir
	}
	return sealtest.Main(m)
}

// called is the program that a run keeps a copy of, and that its agents call:
// this one, or what is built of it without the race detector.
var called = sync.OnceValues(func() (string, error) {
	if programs == "" {
		return os.Executable()
	}
	path := filepath.Join(programs, "cmux")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "cmux/agents/testkit/agenttest/calls/plain")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// wrapperProgram is the program that is the wrapper: always this one.
func (f *Fixture) wrapperProgram() string {
	f.T.Helper()
	self, err := os.Executable()
	if err != nil {
		f.T.Fatal(err)
	}
	return self
}
