package attempt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
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

// An alarm naps at most a minute, so that it notices a clock that was set.
func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		al := newAlarm(began.Add(5*time.Minute + time.Second))
		naps := 0
		for {
			<-al.timer.C
			naps++
			if al.due() {
				break
			}
		}
		if d := time.Since(began); d != 5*time.Minute+time.Second || naps != 6 {
			t.Errorf("rang after %s and %d naps", d, naps)
		}
	})
	// The clock jumped past the moment during a nap.
	al := &alarm{until: time.Now().Add(-time.Hour).Round(0), timer: time.NewTimer(time.Hour)}
	if !al.due() {
		t.Error("an alarm in the past is not due")
	}
	if d := al.nap(time.Now().Add(-30 * 24 * time.Hour)); d != maxNap {
		t.Errorf("a clock set back a month: nap of %s", d)
	}
}

func TestTail(t *testing.T) {
	k := &tail{limit: 10}
	for range 100 {
		k.Write([]byte("é12"))
	}
	if s := k.String(); s != "…é12é12" && len(s) > len("…")+10 {
		t.Errorf("%q", s)
	}
	if s := (&tail{limit: 10, buf: []byte("short")}).String(); s != "short" {
		t.Errorf("%q", s)
	}
}

func TestNewestIgnoresGit(t *testing.T) {
	if !newest(context.Background(), t.TempDir(), time.Now().Add(time.Hour)).IsZero() {
		t.Error("something is newer than an hour from now")
	}
}
