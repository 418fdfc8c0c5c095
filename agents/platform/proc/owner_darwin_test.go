package proc_test

import (
	"testing"

	"cmux/agents/platform/proc"
)

// macOS has no parent-death signal: the program is found by its mark.
func diesWithItsOwner(t *testing.T, m proc.Mark) {
	if ps, err := proc.Descendants(m); err != nil || len(ps) != 1 {
		t.Errorf("%v, %v", ps, err)
	}
}
