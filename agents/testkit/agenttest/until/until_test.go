package until_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/testkit/agenttest/until"
)

func TestPause(t *testing.T) {
	for _, c := range []struct{ waited, look, want time.Duration }{
		{0, 0, until.First},
		{50 * time.Millisecond, time.Millisecond, until.First},
		{500 * time.Millisecond, time.Millisecond, 50 * time.Millisecond},
		{0, 40 * time.Millisecond, 120 * time.Millisecond},
		{time.Hour, time.Millisecond, until.Last},
		{time.Hour, time.Second, 3 * time.Second},
	} {
		if got := until.Pause(c.waited, c.look); got != c.want {
			t.Errorf("Pause(%s, %s) = %s, want %s", c.waited, c.look, got, c.want)
		}
	}
}

// A fact is seen soon after it came, in few looks, and one that does not come
// ends with the context.
func TestTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []time.Duration{0, 30 * time.Millisecond, time.Second, 30 * time.Second} {
			began, looks := time.Now(), 0
			if !until.True(t.Context(), func() bool { looks++; return time.Since(began) >= after }) {
				t.Fatalf("after %s: not seen", after)
			}
			if late := time.Since(began) - after; late > min(max(after/10, until.First), until.Last) {
				t.Errorf("after %s: seen %s late", after, late)
			}
			if most := 50 + int(after/until.Last); looks > most {
				t.Errorf("after %s: %d looks, want at most %d", after, looks, most)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if until.True(ctx, func() bool { return false }) {
			t.Error("what never was became true")
		}
	})
}
