package lease

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func seatsOf(t *testing.T, run string) *Seats {
	t.Helper()
	s, err := OpenSeats(Holder{Project: "/p/" + run, Session: "s", Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sit(t *testing.T, s *Seats, most int, node string) *Lease {
	t.Helper()
	l, _, err := s.Take(most, node, false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestSeatsInTurn: a run whose agents come and go does not keep another out, and a run
// without a sign of life blocks nobody.
func TestSeatsInTurn(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a, b, c := seatsOf(t, "a"), seatsOf(t, "b"), seatsOf(t, "c")
	first := sit(t, a, 2, "n1")
	if first == nil || sit(t, a, 2, "n2") == nil {
		t.Fatal("two seats are not two")
	}
	l, taken, err := b.Take(2, "x", false)
	if l != nil || err != nil || Crowded(2, taken) != "max_agents: 2 of 2 in use: a/s/n1, a/s/n2" {
		t.Fatalf("a third: %v, %q, %v", l, Crowded(2, taken), err)
	}
	if sit(t, c, 2, "y") != nil {
		t.Fatal("a fourth")
	}
	if err := ReturnSeat(first); err != nil {
		t.Fatal(err)
	}
	if sit(t, a, 2, "n3") != nil {
		t.Error("who had it came before who waited")
	}
	if sit(t, c, 2, "y") != nil {
		t.Error("the second in line came before the first")
	}
	seat := sit(t, b, 2, "x")
	if seat == nil {
		t.Fatal("the first in line did not get it")
	}
	// c is the next, and its person stops it.
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(c.ticket.Name(), old, old); err != nil {
		t.Fatal(err)
	}
	ReturnSeat(seat)
	seat = sit(t, a, 2, "n3")
	if seat == nil {
		t.Error("one that gives no sign keeps others waiting")
	}
	ReturnSeat(seat)
	c.Waits()
	if sit(t, a, 2, "n4") != nil {
		t.Error("one that gives a sign again has lost its place")
	}
	c.Leave()
	if sit(t, a, 2, "n4") == nil {
		t.Error("one that waits no longer keeps others waiting")
	}
	if left, err := os.ReadDir(filepath.Join(a.Dir(), waitingFolder)); err != nil || len(left) != 0 {
		t.Errorf("the line: %v, %v", left, err)
	}
}

// TestSeatsHeld: a running node gets a seat over any limit, and keeps it as long as one
// process of its run holds it.
func TestSeatsHeld(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	by := Holder{Project: "/p/a", Session: "s", Run: "a"}
	if l, err := JoinSeat(by, "n"); l != nil || err != nil {
		t.Errorf("there is none: %v, %v", l, err)
	}
	a, b := seatsOf(t, "a"), seatsOf(t, "b")
	runners := sit(t, a, 1, "n")
	wrappers, err := JoinSeat(by, "n")
	if err != nil || wrappers == nil || wrappers.N != runners.N {
		t.Fatalf("joined %v, %v", wrappers, err)
	}
	if l, err := JoinSeat(Holder{Project: "/p/b", Run: "b"}, "n"); l != nil || err != nil {
		t.Errorf("another run joined: %v, %v", l, err)
	}
	ReturnSeat(runners)
	if sit(t, b, 1, "x") != nil {
		t.Error("it was free while its agent worked")
	}
	over, _, err := b.Take(1, "y", true)
	if over == nil || err != nil {
		t.Errorf("one that works already: %v, %v", over, err)
	}
	ReturnSeat(wrappers)
	if sit(t, b, 1, "x") != nil {
		t.Error("one of one is free, with one that was over the bound")
	}
	ReturnSeat(over)
	if sit(t, b, 1, "x") == nil {
		t.Error("none is free")
	}
}

// TestSeatsKilled: a position in the line and a seat end with their process.
func TestSeatsKilled(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a, b := seatsOf(t, "a"), seatsOf(t, "b")
	seat := sit(t, a, 1, "n")
	if sit(t, b, 1, "x") != nil {
		t.Fatal("two of one")
	}
	b.ticket.Close() // as a kill does
	ReturnSeat(seat)
	if sit(t, a, 1, "n") == nil {
		t.Error("who is gone keeps its place in the line")
	}
}

// TestSeatsOddFiles: files that are neither seats nor positions are ignored.
func TestSeatsOddFiles(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a := seatsOf(t, "a")
	for _, name := range []string{"x", "waiting/x", "waiting/99999999999999999999"} {
		if err := os.WriteFile(filepath.Join(a.Dir(), name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/null", filepath.Join(a.Dir(), "waiting/7")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.Dir(), "0"), []byte(strings.Repeat("{", 9000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if sit(t, a, 1, "n") == nil {
		t.Error("nothing that is free was had")
	}
}
