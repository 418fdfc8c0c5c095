package watchconfig

import (
	"testing"
	"time"
)

func TestNew(t *testing.T) {
	c := New(map[string]string{"nudges": "5", "idle_after": "soon", "sentry": "false", "quiet_hours": "22:00-06:30"})
	d := Default()
	if c.Nudges != 5 || c.Sentry || !d.Sentry || c.IdleAfter != 10*time.Minute || d.Quiet != (Hours{}) || c.Quiet != (Hours{22 * 60, 6*60 + 30}) {
		t.Errorf("%+v", c)
	}
	for _, bad := range []struct{ key, value string }{{"nudges", "0"}, {"nudges", "3.5"}, {"idle_after", "-1m"}, {"idle_after", "10"}, {"compact_share", "100"},
		{"heartbeat", "yes"}, {"quiet_hours", "8-9"}, {"quiet_hours", "24:00-01:00"}, {"frozen_after", "9999h"}} {
		for _, k := range Fields() {
			if k.Name == bad.key && k.Set(new(Config), bad.value) == nil {
				t.Errorf("%s: %q passes", bad.key, bad.value)
			}
		}
	}
}

func TestHours(t *testing.T) {
	at := func(h, m int) time.Time { return time.Date(2026, 5, 4, h, m, 0, 0, time.Local) }
	for _, c := range []struct {
		h    Hours
		at   time.Time
		want bool
	}{
		{Hours{}, at(0, 0), false},
		{Hours{0, 480}, at(0, 0), true},
		{Hours{0, 480}, at(8, 0), false},
		{Hours{22 * 60, 390}, at(23, 0), true},
		{Hours{22 * 60, 390}, at(6, 29), true},
		{Hours{22 * 60, 390}, at(6, 30), false},
	} {
		if got := c.h.Has(c.at); got != c.want {
			t.Errorf("%v has %v: %v", c.h, c.at, got)
		}
	}
}
