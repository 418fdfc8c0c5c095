package control

import (
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// TestUsedSince sums up what lives used since a moment. Each life counts from nothing.
func TestUsedSince(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	u := used{since: noon}
	for _, r := range []struct {
		life   int
		at     time.Duration
		tokens int64
	}{
		{1, -2 * time.Hour, 100}, {1, -time.Hour, 300}, // before
		{1, time.Minute, 450}, // 150
		{1, 2 * time.Minute, 450},
		{2, time.Hour, 70},      // 70
		{2, 2 * time.Hour, 100}, // 30
	} {
		u.take(&run.Record{Type: run.Used, Attempt: r.life, At: noon.Add(r.at), Used: dag.Usage{Output: r.tokens}})
		u.take(&run.Record{Type: run.Active, Attempt: r.life, At: noon.Add(r.at)})
	}
	if u.tokens != 250 {
		t.Errorf("%d tokens, want 250", u.tokens)
	}
}
