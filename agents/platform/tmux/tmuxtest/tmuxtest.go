// Package tmuxtest repeats tests in which tmux itself crashes.
package tmuxtest

import (
	"fmt"
	"testing"
)

// Bound is how often tmux may fail in one run of a test. tmux 3.3a sometimes crashes when a
// pane and a control client end at the same moment, or misses a pane's death; on a loaded
// machine it made three tries in a row fail.
const Bound = 12

// Retry runs test, which calls failed if tmux itself has failed, and then runs it again.
// After more than Bound failures, t fails.
func Retry(t *testing.T, test func(t *testing.T, failed func(format string, args ...any))) {
	t.Helper()
	for failures := 0; failures <= Bound; failures++ {
		again := false
		t.Run(fmt.Sprintf("try %d", failures+1), func(t *testing.T) {
			test(t, func(format string, args ...any) {
				again = true
				t.Skipf("tmux failed: "+format, args...)
			})
		})
		if !again {
			return
		}
	}
	t.Fatalf("tmux failed in each of %d tries", Bound+1)
}
