package run

import (
	"testing"

	"cmux/dag"
)

func TestLost(t *testing.T) {
	for _, c := range []struct {
		rec  Record
		want bool
	}{
		{Record{Type: Vanished, How: HowLost}, true},
		{Record{Type: Vanished, How: HowInterrupted}, true},
		{Record{Type: Vanished, How: HowStopped}, false},
		{Record{Type: Active, Activity: dag.SettingUp, How: HowRevived}, true},
		{Record{Type: Active, Activity: dag.SettingUp}, false},
		{Record{Type: Active, Activity: dag.NeedsInput, How: HowLeft}, false},
	} {
		if got := c.rec.Lost(); got != c.want {
			t.Errorf("%+v: %t", c.rec, got)
		}
	}
}
