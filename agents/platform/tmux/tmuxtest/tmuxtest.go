// Package tmuxtest lets a test stand on a tmux that crashes now and then.
package tmuxtest

import (
	"fmt"
	"testing"
)

// Bound is how often tmux may fail beneath one run of a test. tmux 3.3a crashes
// now and then when a pane and a control client end at the same moment, and
// forgets a pane's death; on a loaded machine three tries in a row failed by it.
const Bound = 12

// Retry runs test, which says with failed that tmux itself has failed, and runs
// it again when it said so. More than Bound failures are one of t's.
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
