package run

import (
	"testing"
	"time"

	"cmux/signals"
)

// A marker that no longer counts and was touched before it could be removed is
// a person's decision; any other is judged beside what is recorded.
func TestBesideAWithdrawnMarker(t *testing.T) {
	now := time.Now()
	blocked := &Written{Code: 99, Identity: signals.Identity{Inode: 7, Size: 3, MTime: 1}}
	done := &Written{Code: 0, Identity: signals.Identity{Inode: 7, Size: 2, MTime: 1}}
	seen := func(id signals.Identity, c signals.Content) signals.Observed {
		return signals.Observed{Exists: true, Marker: signals.Marker{Identity: id, Content: c}, Since: now.Add(-time.Minute)}
	}
	code := func(n int) signals.Content { return signals.Content{Kind: signals.Code, Code: n} }
	for name, c := range map[string]struct {
		withdrawn *Written
		seen      signals.Observed
		want      signals.VerdictKind
	}{
		"touched":            {blocked, seen(signals.Identity{Inode: 7, Size: 3, MTime: 2}, code(99)), signals.Touched},
		"rewritten":          {blocked, seen(signals.Identity{Inode: 8, Size: 3, MTime: 2}, code(99)), signals.FailedByHand},
		"other content":      {blocked, seen(signals.Identity{Inode: 7, Size: 2, MTime: 2}, code(0)), signals.Override},
		"a done one touched": {done, seen(signals.Identity{Inode: 7, Size: 2, MTime: 2}, code(0)), signals.Override},
		"none withdrawn":     {nil, seen(signals.Identity{Inode: 7, Size: 3, MTime: 2}, code(99)), signals.FailedByHand},
	} {
		n := &Node{Withdrawn: c.withdrawn}
		if v := signals.Judge(n.Beside(c.seen), c.seen, now); v.Kind != c.want {
			t.Errorf("%s: %v, want %v", name, v.Kind, c.want)
		}
	}
}
