package overview

import (
	"slices"
	"testing"
	"time"
)

// What keeps work from going on is before what does not, each the longest first.
func TestNeedsInOrder(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC) }
	all := []Need{{ID: "old mail", Kind: NeedMessage, Since: at(1)}, {ID: "work", Kind: NeedReview, Since: at(2)}, {ID: "asks", Kind: NeedNode, Since: at(4)}, {ID: "failed", Kind: NeedFailure, Since: at(3)}}
	slices.SortFunc(all, byRank)
	var ids []string
	for _, n := range all {
		ids = append(ids, n.ID)
	}
	if want := []string{"failed", "asks", "old mail", "work"}; !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
}
