package run

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/dag"
	"cmux/signals"
)

// alike reports whether quick takes the line in, and fails where encoding/json
// does not take it in as it did.
func alike(t rapid.TB, line []byte) bool {
	t.Helper()
	var quick, slow Record
	if !quick.quick(line) {
		return false
	}
	if err := json.Unmarshal(line, &slow); err != nil {
		t.Fatalf("taken in, but: %v\n%s", err, line)
	}
	if !reflect.DeepEqual(quick, slow) {
		t.Fatalf("%s\nread as  %+v\nand not %+v", line, quick, slow)
	}
	return true
}

// What every run is full of is read quickly, whatever its texts hold.
func TestQuickTakesCommonRecords(t *testing.T) {
	at := time.Date(2026, 11, 22, 20, 24, 56, 370817196, time.UTC)
	id := signals.Identity{Inode: 1<<64 - 1 - 1<<63, Size: 2, MTime: 1795379096379579683}
	for _, r := range []Record{
		{Type: Started, At: at, Node: "a", Attempt: 1, Place: &Place{Dir: "/a b", Tree: "/t", Branch: "s/a", Commit: "c", Lent: "l", Slot: 3, PortBase: 20060, Child: "x"}},
		{Type: Began, At: at, Node: "a", Attempt: 1, PID: 77, PIDStart: 1234567, Pane: "%7"},
		{Type: Active, At: at, Node: "a", Attempt: 1, Activity: dag.Checking, Until: at.In(time.FixedZone("", 3600)), Detail: "a \"quoted\" <é>\n\x00\u2028 \xff"},
		{Type: AttemptEnd, At: at, Node: "a", Attempt: 2, Marker: &Written{Identity: id}, End: &End{Outcome: dag.Done, Exit: -1, Reason: dag.ReasonExit,
			Detail: "d", Summary: "läuft", Tip: "t", Commits: 3, DiffStat: "2 files", Conversation: "c", Used: dag.Usage{Input: 1, Output: 2, CacheRead: 3, CacheCreate: -4}}},
		{Type: Started, At: at, Node: "a", Attempt: 2, Place: &Place{Dir: "/a b", Branch: "s/a", Far: "ssh://box ssh://gpu", Machine: "box"}},
		{Type: Claimed, At: at, Node: "a", Attempt: 2, Value: "box"},
		{Type: Silent, At: at, Node: "a", Attempt: 2, Value: "2026-11-22T20:24:56.370817196Z"},
		{Type: Published, At: at, Node: "a"},
		{Type: Blocked, At: at, Node: "a", Cause: "b", Marker: &Written{Code: 99, Identity: id}},
		{Type: Overridden, At: at, Node: "a", How: HowTouched, Code: 3, Tip: "t", Marker: &Written{Code: 3}},
		{Type: Conversed, At: at, Node: "a", Attempt: 1, Conversation: "c"},
		{Type: Used, At: at, Node: "a", Attempt: 1, Used: dag.Usage{Input: 1 << 62}},
		{Type: Requested, At: at, Request: "r", Detail: "refused"},
	} {
		line, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		if !alike(t, line) {
			t.Errorf("left to encoding/json: %s", line)
		}
	}
}

func TestQuickReadsAnyRecordAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRecord(t)
		r.Detail = rapid.String().Draw(t, "detail")
		line, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		alike(t, line)
		// And where it is damaged, or no cmux wrote it.
		at := rapid.IntRange(0, len(line)-1).Draw(t, "place")
		put := rapid.SampledFrom([]string{"", " ", `"`, `\`, "{", "}", ",", ":", "-", "0", "1e3", "null", `"x":1,`, "\x80", "\n"}).Draw(t, "put")
		drop := rapid.IntRange(0, min(3, len(line)-at)).Draw(t, "drop")
		alike(t, []byte(string(line[:at])+put+string(line[at+drop:])))
	})
}

func FuzzQuick(f *testing.F) {
	for _, seed := range strings.Split(`{"t":"ended","at":"2026-11-22T20:24:56Z","node":"n1","n":1,"end":{"outcome":"done","exit":0},"marker":{"code":0,"id":{"inode":1,"size":2,"mtime":-3}},"mac":"yx"}
{"t":"active","t":"ended","n":01}
{"n":-0,"end":{"exit":9223372036854775808}}
{"n":9223372036854775807,"end":{"used":{"input":-9223372036854775808}}}
{"place":{"slot":1},"place":{"dir":"\ud800"},"at":"2026-11-22T24:00:00Z"}
{"pid_start":18446744073709551615,"activity":"limited","until":"null"}
{}`, "\n") {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) { alike(t, line) })
}
