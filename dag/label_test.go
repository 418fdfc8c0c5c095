package dag

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyLabel draws a label that a node can have: its parts fit together.
func anyLabel(t *rapid.T) Label {
	text := rapid.StringMatching(`[a-z ]{0,8}`)
	l := Label{Detail: text.Draw(t, "detail"), Open: rapid.Bool().Draw(t, "open")}
	l.State = rapid.SampledFrom([]NodeState{NodeWaiting, NodeBlocked, NodeReady, NodeRunning, NodeChecking, NodeTakenOver,
		NodeNeedsInput, NodeLimited, NodeLost, NodeDone, NodeFailed, NodeSkipped}).Draw(t, "state")
	switch l.State {
	case NodeDone:
		l.Reason = rapid.SampledFrom([]Reason{"", ReasonOverride}).Draw(t, "reason")
	case NodeLost:
		l.Reason = rapid.SampledFrom([]Reason{"", ReasonStopped}).Draw(t, "reason")
	case NodeBlocked:
		l.By = rapid.StringMatching(`[a-z][a-z.-]{0,8}`).Draw(t, "by")
		l.Reason = rapid.SampledFrom([]Reason{ReasonFailed, ReasonCancelled, ReasonBlocked}).Draw(t, "reason")
	case NodeLimited:
		l.By = text.Draw(t, "by")
		if rapid.Bool().Draw(t, "known") {
			l.Until = nine.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "until")) * time.Second)
		}
	case NodeFailed:
		l.Reason = rapid.SampledFrom([]Reason{ReasonExit, ReasonChecks, ReasonByHand, ReasonBadMarker, ReasonCancelled}).Draw(t, "reason")
		if l.Reason == ReasonExit {
			l.Code = rapid.IntRange(1, 255).Draw(t, "code")
		}
	}
	return l
}

// A label that is written is read back whole. One that an older cmux wrote in words gives
// the same words.
func TestLabelsOnDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLabel(t)
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var read Label
		if err := json.Unmarshal(b, &read); err != nil || !read.Same(l) || read.Detail != l.Detail {
			t.Fatalf("%s is read as %+v, want %+v (%v)", b, read, l, err)
		}
		words, err := json.Marshal(l.String())
		if err != nil {
			t.Fatal(err)
		}
		var older Label
		if err := json.Unmarshal(words, &older); err != nil {
			t.Fatal(err)
		}
		l.Until = time.Time{} // a time of day does not say which day
		if older.String() != l.String() || older.State != l.State || older.Reason != l.Reason || older.Code != l.Code {
			t.Fatalf("%s is read as %+v", words, older)
		}
	})
}

// The labels of an attempt's end and of a live attempt equal those of its node.
func TestLabelsOfAttempts(t *testing.T) {
	for _, tt := range []struct {
		label Label
		words string
	}{
		{EndLabel(Done, "", 0), "done"},
		{EndLabel(Override, "", 0), "done (override)"},
		{EndLabel(Cancelled, "", 143), "failed (cancelled)"},
		{EndLabel(Failed, ReasonTimeout, 143), "failed (timeout)"},
		{EndLabel(Failed, "", 99), "failed (exit 99)"},
		{Label{State: NodeFailed, Reason: ReasonByHand, Code: 7}, "failed (by hand, 7)"},
		{LiveLabel(Working, nine), "running"},
		{LiveLabel(SettingUp, nine), "running"},
		{LiveLabel(Checking, nine), "checking"},
		{LiveLabel(NeedsInput, nine), "needs input"},
		{LiveLabel(TakenOver, nine), "taken over"},
		{LiveLabel(AtLimit, nine), "limited until 09:00"},
		{LiveLabel(AtLimit, time.Time{}), "limited"},
	} {
		if got := tt.label.String(); got != tt.words {
			t.Errorf("%+v is worded %q, want %q", tt.label, got, tt.words)
		}
	}
}
