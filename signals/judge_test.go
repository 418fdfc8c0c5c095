package signals

import (
	"testing"
	"time"
)

// The sentences are those of the design, 4.1. i is the inode, s the size and m the mtime of
// a marker.
func TestJudge(t *testing.T) {
	now := time.Now()
	id := func(i uint64, s, m int64) Identity { return Identity{Inode: i, Size: s, MTime: m} }
	unknown := Recorded{}
	rec := func(id Identity, c Content) Recorded {
		return Recorded{Known: true, Marker: Marker{id, c}, Published: true}
	}
	pending := func(id Identity, c Content) Recorded {
		r := rec(id, c)
		r.Published = false
		return r
	}
	seen := func(id Identity, c Content) Observed {
		return Observed{Exists: true, Marker: Marker{id, c}, Since: now.Add(-time.Second)}
	}
	fresh := func(o Observed) Observed { o.Since = now.Add(-Settle + 1); return o }
	gone := Observed{Since: now.Add(-time.Second)}
	noDir := Observed{DirGone: true, Since: now}
	empty, bad := Content{Kind: Empty}, Content{}
	soon := Verdict{Kind: Unsettled, Until: now.Add(1)}
	is := func(k VerdictKind) Verdict { return Verdict{Kind: k} }
	byHand := func(code int) Verdict { return Verdict{Kind: FailedByHand, Code: code} }

	for _, c := range []struct {
		says string
		rec  Recorded
		obs  Observed
		want Verdict
	}{
		{"no marker, no record: nothing", unknown, gone, is(None)},
		{"no folder, no record: nothing", unknown, noDir, is(None)},
		{"our marker as recorded", rec(id(1, 2, 5), Exit(0)), seen(id(1, 2, 5), Exit(0)), is(Ours)},
		{"our marker though its publishing was not recorded", pending(id(1, 2, 5), Exit(1)), seen(id(1, 2, 5), Exit(1)), is(Ours)},
		{"our empty marker counts at once", rec(id(1, 0, 5), empty), fresh(seen(id(1, 0, 5), empty)), is(Ours)},
		{"a bad marker that is recorded", rec(id(1, 4, 5), bad), seen(id(1, 4, 5), bad), is(Ours)},

		{"a person's marker is one that no record knows: empty is done by override", unknown, seen(id(1, 0, 5), empty), is(Override)},
		{"... 0 is done by override", unknown, seen(id(1, 2, 5), Exit(0)), is(Override)},
		{"... another code is failed by hand", unknown, seen(id(1, 2, 5), Exit(3)), byHand(3)},
		{"... 99 as well", unknown, seen(id(1, 3, 5), Exit(99)), byHand(99)},
		{"anything else is not a marker", unknown, seen(id(1, 4, 5), bad), is(BadMarker)},
		{"... nor is it beside a record", rec(id(1, 2, 5), Exit(0)), seen(id(1, 4, 6), bad), is(BadMarker)},

		{"other content than recorded: 0 over 1 in place", rec(id(1, 2, 5), Exit(1)), seen(id(1, 2, 6), Exit(0)), is(Override)},
		{"other content than recorded: empty over 1 in place", rec(id(1, 2, 5), Exit(1)), seen(id(1, 0, 6), empty), is(Override)},
		{"other content than recorded: rm and touch", rec(id(1, 2, 5), Exit(1)), seen(id(2, 0, 6), empty), is(Override)},
		{"other content than recorded: 1 over 0", rec(id(1, 2, 5), Exit(0)), seen(id(1, 2, 6), Exit(1)), byHand(1)},
		{"other content than recorded: 7 over 1 in a new file", rec(id(1, 2, 5), Exit(1)), seen(id(2, 2, 6), Exit(7)), byHand(7)},
		{"other content than recorded: 1 without its newline", rec(id(1, 2, 5), Exit(1)), seen(id(1, 1, 6), Exit(1)), byHand(1)},
		{"empty over 0 is done by override", rec(id(1, 2, 5), Exit(0)), seen(id(1, 0, 6), empty), is(Override)},
		{"a code over a recorded override", rec(id(1, 0, 5), empty), seen(id(1, 2, 6), Exit(1)), byHand(1)},
		{"a code over a recorded bad marker", rec(id(1, 4, 5), bad), seen(id(1, 2, 5), Exit(0)), is(Override)},
		{"touch on an existing 1", rec(id(1, 2, 5), Exit(1)), seen(id(1, 2, 6), Exit(1)), is(Touched)},
		{"touch on an existing 99", rec(id(1, 3, 5), Exit(99)), seen(id(1, 3, 6), Exit(99)), is(Touched)},
		{"touch with an older time: never ordered", rec(id(1, 2, 5), Exit(1)), seen(id(1, 2, 4), Exit(1)), is(Touched)},
		{"touch before the publishing was recorded", pending(id(1, 2, 5), Exit(1)), seen(id(1, 2, 6), Exit(1)), is(Touched)},
		{"touch on a failure by hand", rec(id(1, 2, 5), Exit(3)), seen(id(1, 2, 6), Exit(3)), is(Touched)},
		{"on a done node touch changes nothing", rec(id(1, 2, 5), Exit(0)), seen(id(1, 2, 6), Exit(0)), is(Ours)},
		{"on an overridden node touch changes nothing", rec(id(1, 0, 5), empty), fresh(seen(id(1, 0, 6), empty)), is(Ours)},
		{"a restored copy means what it did", rec(id(1, 2, 5), Exit(1)), seen(id(2, 2, 6), Exit(1)), is(Adopt)},
		{"... also with the time kept", rec(id(1, 2, 5), Exit(0)), seen(id(2, 2, 5), Exit(0)), is(Adopt)},
		{"put back by somebody else meanwhile", pending(id(1, 2, 5), Exit(1)), seen(id(2, 2, 6), Exit(1)), is(Adopt)},
		{"an override won against the node's end", pending(id(1, 2, 5), Exit(1)), seen(id(2, 0, 5), empty), is(Override)},
		{"a failure by hand won against the node's end", pending(id(1, 2, 5), Exit(0)), seen(id(2, 2, 5), Exit(4)), byHand(4)},

		{"an empty file counts once it has stayed empty for 50 ms", unknown, fresh(seen(id(1, 0, 5), empty)), soon},
		{"... also over a record", rec(id(1, 2, 5), Exit(0)), fresh(seen(id(1, 0, 6), empty)), soon},
		{"a code need not settle", unknown, fresh(seen(id(1, 2, 5), Exit(0))), is(Override)},

		{"a power cut left our marker empty", pending(id(1, 2, 5), Exit(1)), seen(id(1, 0, 5), empty), is(Torn)},
		{"a power cut left our marker full of zeros", pending(id(1, 2, 5), Exit(0)), seen(id(1, 2, 5), bad), is(Torn)},
		{"a power cut left our marker short", pending(id(1, 3, 5), Exit(99)), seen(id(1, 1, 5), Exit(9)), is(Torn)},
		{"a person's word within one tick of the marker that stood there", rec(id(1, 2, 5), Exit(1)), seen(id(1, 1, 5), Exit(0)), is(Override)},
		{"a power cut took the marker, the record is there", pending(id(1, 2, 5), Exit(1)), gone, is(PutBack)},

		{"removal of a failed marker is retry", rec(id(1, 2, 5), Exit(1)), gone, is(Retry)},
		{"removal of a blocked marker is retry", rec(id(1, 3, 5), Exit(99)), gone, is(Retry)},
		{"removal of a cancelled marker is retry", rec(id(1, 4, 5), Exit(130)), gone, is(Retry)},
		{"removal of a bad marker is retry", rec(id(1, 4, 5), bad), gone, is(Retry)},
		{"removal counts once it has lasted", rec(id(1, 2, 5), Exit(1)), fresh(gone), soon},
		{"a done node's missing marker is put back", rec(id(1, 2, 5), Exit(0)), gone, is(PutBack)},
		{"an overridden node's missing marker is put back", rec(id(1, 0, 5), empty), gone, is(PutBack)},
		{"a wrapper between record and marker is left the time", pending(id(1, 2, 5), Exit(0)), fresh(gone), soon},
		{"when the directory is gone, all are put back: done", rec(id(1, 2, 5), Exit(0)), noDir, is(PutBack)},
		{"... failed", rec(id(1, 2, 5), Exit(1)), noDir, is(PutBack)},
		{"... blocked", rec(id(1, 3, 5), Exit(99)), noDir, is(PutBack)},
		{"... overridden", rec(id(1, 0, 5), empty), noDir, is(PutBack)},
		{"... but not what was no marker", rec(id(1, 4, 5), bad), noDir, is(None)},
	} {
		if got := Judge(c.rec, c.obs, now); got != c.want {
			t.Errorf("%s:\n\tJudge(%+v, %+v)\n\t= %v %+v, want %v", c.says, c.rec, c.obs, got.Kind, got, c.want.Kind)
		}
	}
}
