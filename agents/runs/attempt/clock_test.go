package attempt

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/runs/conversation"
)

// The stopwatch counts only while it runs.
func TestStopwatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newStopwatch(10 * time.Second)
		began := time.Now()
		for range 3 {
			w.run(true)
			w.run(true)
			time.Sleep(3 * time.Second)
			w.run(false)
			w.run(false)
			time.Sleep(time.Hour)
			select {
			case <-w.C:
				t.Fatal("it ran while it stood")
			default:
			}
		}
		w.run(true)
		<-w.C
		if d := time.Since(began); d != 10*time.Second+3*time.Hour {
			t.Errorf("rang after %s", d)
		}
	})
}

func TestStopwatchWithoutABound(t *testing.T) {
	w := newStopwatch(0)
	w.run(true)
	if w.C != nil {
		t.Error("it has a channel to ring on")
	}
	w.run(false)
}

// A clock for a moment of the wall clock naps at most a minute, so that it is
// noticed when that was set.
func TestClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var c clocks
		if c.C() != nil {
			t.Error("it rings without having been armed")
		}
		c.arm(conversation.Arm{Clock: conversation.WakeClock, Until: began.Add(5*time.Minute + time.Second)}, began)
		c.arm(conversation.Arm{Clock: conversation.InputClock, For: 90 * time.Second}, began)
		c.arm(conversation.Arm{Clock: conversation.SettleClock, For: time.Second}, began)
		c.disarm(conversation.SettleClock)
		naps := 0
		var rang []string
		for c.C() != nil {
			<-c.C()
			naps++
			for _, k := range c.due(time.Now()) {
				rang = append(rang, fmt.Sprint(k, " ", time.Since(began)))
			}
		}
		if want := []string{"input 1m30s", "wake 5m1s"}; !slices.Equal(rang, want) || naps != 7 {
			t.Errorf("rang %q after %d naps, want %q", rang, naps, want)
		}
	})
	now := time.Now()
	if d := left(now.Add(-time.Hour).Round(0), now); d != 0 {
		t.Errorf("a moment of the past is %s away", d)
	}
	if d := left(now.Round(0), now.Add(-30*24*time.Hour).Round(0)); d != 30*24*time.Hour {
		t.Errorf("a clock set back a month: %s", d)
	}
}
