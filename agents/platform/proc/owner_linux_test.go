package proc_test

import (
	"testing"

	"cmux/agents/platform/proc"
)

func diesWithItsOwner(t *testing.T, m proc.Mark) {
	eventually(t, "the program died with its owner", func() bool {
		ps, err := proc.Descendants(m)
		return err == nil && len(ps) == 0
	})
}
