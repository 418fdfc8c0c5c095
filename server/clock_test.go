package server

import (
	"errors"
	"testing"
	"time"
)

// What cannot be done is tried less and less often, and is told of once.
func TestRest(t *testing.T) {
	r := new(rest)
	full, gone := errors.New("the disk is full"), errors.New("nobody is there")
	for i, step := range []struct {
		err  error
		wait time.Duration
		tell bool
	}{
		{nil, 0, false},
		{full, 10 * time.Second, true},
		{full, 20 * time.Second, false},
		{full, 40 * time.Second, false},
		{gone, 80 * time.Second, true},
		{gone, 160 * time.Second, false},
		{gone, 320 * time.Second, false},
		{gone, 10 * time.Minute, false},
		{gone, 10 * time.Minute, false},
		{nil, 0, false},
		{gone, 10 * time.Second, true},
	} {
		if wait, tell := r.after(step.err); wait != step.wait || tell != step.tell {
			t.Errorf("%d: %s %v", i, wait, tell)
		}
	}
}
