package wrapper_test

import (
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/dag"
)

// A wrapper that was started ahead of need does what any other does, once it is
// told the attempt, and nobody sees that it was told.
func TestSpare(t *testing.T) {
	f := newFixture(t, dag.Node{Task: `echo "at $(pwd)"; read -r line; echo "got $line"; stty -a | grep -o ' echo '; exit 3`})
	f.Spare = true
	cmd, wait := f.StartOnTerminal()
	f.Type(wrapper.Word("a", 1) + "\n")
	f.Eventually("it is at work", func() bool { return strings.Contains(f.Shown(), "at "+f.Root) })
	f.Type("typed\n")
	if code := wait(); code != 3 {
		t.Errorf("exit %d\n%s", code, f.Shown())
	}
	_, shown, wiped := strings.Cut(f.Shown(), "\x1b[3J")
	if !wiped || strings.Contains(shown, wrapper.Word("a", 1)) {
		t.Errorf("what it was told is shown: %q", shown)
	}
	for _, want := range []string{"got typed", " echo ", "── a: failed (exit 3)"} {
		if !strings.Contains(shown, want) {
			t.Errorf("not shown: %q\n%s", want, shown)
		}
	}
	var began, ended int
	for _, r := range f.Records() {
		switch r.Type {
		case run.Began:
			began++
			if r.PID != cmd.Process.Pid {
				t.Errorf("pid %d is recorded, not %d", r.PID, cmd.Process.Pid)
			}
		case run.AttemptEnd:
			ended++
		}
	}
	if began != 1 || ended != 1 || f.marker() != "3" {
		t.Errorf("began %d times, ended %d times, marker %s", began, ended, f.marker())
	}
}

// What is told to a spare that is of no use leaves nothing behind.
func TestSpareWithoutAnAttempt(t *testing.T) {
	for word, want := range map[string]int{
		"a": wrapper.ExitError, "x a": wrapper.ExitError, "1 ": wrapper.ExitError, "\x04": wrapper.ExitError,
		wrapper.Word("a", 7): 0, // given up before it came
	} {
		f := newFixture(t, dag.Node{Task: "exit 0"})
		f.Spare = true
		_, wait := f.StartOnTerminal()
		f.Type(word + "\n")
		if code := wait(); code != want {
			t.Errorf("%q: exit %d\n%s", word, code, f.Shown())
		}
		if got := f.Records(); len(got) > 1 { // that of the start
			t.Errorf("%q: there are records: %v", word, got)
		}
	}
}
