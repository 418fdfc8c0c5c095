package far

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clock is one side's: it begins at a time of its own, and runs up to 1 % too fast or too
// slow.
type clock struct {
	from time.Time
	ppm  int64
}

func (c clock) at(real time.Duration) time.Time {
	return c.from.Add(real + time.Duration(int64(real)/1_000_000*c.ppm))
}

// real is how long the clock needs for a time, in real time.
func (c clock) real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / (1 + float64(c.ppm)/1_000_000))
}

func drawClock(t *rapid.T, name string) clock {
	return clock{
		from: time.Unix(rapid.Int64Range(1, 4e9).Draw(t, name+" begins"), 0),
		ppm:  rapid.OneOf(rapid.SampledFrom([]int64{-10_000, 10_000}), rapid.Int64Range(-10_000, 10_000)).Draw(t, name+" drifts"),
	}
}

// message is a heartbeat or its answer, under way.
type message struct {
	arrives time.Duration // real time
	sent    time.Time     // by the machine's clock, when the heartbeat was sent
	answer  bool
}

// pair is a machine and its home, in real time.
type pair struct {
	machine, home clock
	lease         Lease
	watch         Watch
	now           time.Duration
	ways          []message
	runs          bool          // the program
	ended         time.Duration // the real time by which it has ended
	killing       bool
	kill          time.Duration // how long the machine takes to end the program
	lost          bool
	trace         []string
}

// pass lets real time pass, with whatever happens in it.
func (p *pair) pass(d time.Duration, arrives func(*message), check func()) {
	until := p.now + d
	for p.now < until {
		p.now = p.next(until)
		ways := p.ways
		p.ways = nil
		for _, m := range ways {
			if m.arrives <= p.now {
				arrives(&m) // which may send an answer
			} else {
				p.ways = append(p.ways, m)
			}
		}
		p.fence()
		p.look()
		check()
	}
}

// next is when something happens next, at until at the latest.
func (p *pair) next(until time.Duration) time.Duration {
	at := until
	for _, m := range p.ways {
		at = min(at, m.arrives)
	}
	if left := p.lease.Left(p.machine.at(p.now)); left > 0 {
		at = min(at, p.now+p.machine.real(left))
	}
	if p.killing && p.runs {
		at = min(at, p.ended)
	}
	if !p.lost && !p.watch.accepted.IsZero() {
		at = min(at, p.now+p.home.real(p.watch.After()-p.watch.Silent(p.home.at(p.now))))
	}
	if at <= p.now {
		return min(until, p.now+time.Millisecond)
	}
	return at
}

// fence ends the program when the lease is over.
func (p *pair) fence() {
	if p.runs && !p.killing && p.lease.Over(p.machine.at(p.now)) {
		p.killing, p.ended = true, p.now+p.kill
		p.trace = append(p.trace, fmt.Sprint(p.now, ": the lease is over"))
	}
	if p.killing && p.now >= p.ended {
		p.runs = false
	}
}

// look has home see whether the attempt is lost.
func (p *pair) look() {
	if !p.lost && p.watch.Lost(p.home.at(p.now)) {
		p.lost = true
		p.trace = append(p.trace, fmt.Sprint(p.now, ": lost"))
	}
}

// No program runs on the machine once home gives the attempt up, and none starts later,
// though clocks drift and messages are lost, late, and repeated.
func TestNoProgramOutlivesItsLoss(t *testing.T) {
	lost, fenced := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := pair{machine: drawClock(t, "machine"), home: drawClock(t, "home")}
		hold := time.Duration(rapid.OneOf(rapid.Int64Range(1, 60), rapid.Int64Range(1, 30*24*60)).Draw(t, "lost_after")) * time.Minute
		p.lease.For, p.watch.For = hold, hold
		p.kill = time.Duration(rapid.Int64Range(0, int64(Grace/time.Second)-2).Draw(t, "ends in")) * time.Second
		delay := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(0, 120), rapid.Int64Range(0, int64(2*hold/time.Second))).Draw(t, "seconds")) * time.Second
		})
		send := func(m message) {
			for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "copies") {
				m.arrives = p.now + delay.Draw(t, "takes")
				p.ways = append(p.ways, m)
			}
		}
		arrives := func(m *message) {
			if m.answer {
				now := p.machine.at(p.now)
				p.lease.Renewed(m.sent, now)
				if p.lease.Begun() && !p.lease.Over(now) && !p.runs && !p.killing {
					p.runs = true
					p.trace = append(p.trace, fmt.Sprint(p.now, ": the program starts"))
				}
				return
			}
			if p.watch.Accept(p.home.at(p.now)) {
				if p.lost {
					t.Fatalf("%s: home accepts a heartbeat of what is lost", p.now)
				}
				m.answer = true
				send(*m)
			}
		}
		check := func() {
			if p.lost && p.runs {
				t.Fatalf("%s: it is lost, and its program runs\n%v", p.now, p.trace)
			}
			if left := p.lease.Left(p.machine.at(p.now)); left > 0 && p.lease.Over(p.machine.at(p.now)) || left < 0 || left > hold {
				t.Fatalf("%s is left", left)
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"beat", "beat", "beat", "wait", "restart", "give up"}).Draw(t, "step") {
			case "beat":
				send(message{sent: p.machine.at(p.now)})
				p.pass(Beat, arrives, check)
			case "wait":
				p.pass(delay.Draw(t, "waits"), arrives, check)
			case "restart": // of home, which no longer knows what it accepted
				if !p.lost {
					p.watch = Watch{For: hold}
					p.watch.Adopt(p.home.at(p.now))
				}
			case "give up": // an attempt that never had a lease is lost at once
				if p.watch.GiveUp() {
					p.lost = true
				}
			}
		}
		// In the end, silence: the program ends, and then home notices.
		p.ways = nil
		accepted := !p.watch.accepted.IsZero()
		p.pass(3*hold+3*Grace, arrives, check)
		if p.runs || accepted && !p.lost {
			t.Fatalf("after a long silence: runs %v, lost %v\n%v", p.runs, p.lost, p.trace)
		}
		if p.lost {
			lost++
		}
		if p.killing {
			fenced++
		}
	})
	if lost == 0 || fenced == 0 {
		t.Errorf("%d schedules lost the attempt, and %d ended its program", lost, fenced)
	}
}

var start = time.Unix(1_000_000, 0)

func TestLease(t *testing.T) {
	l := Lease{For: time.Minute}
	if l.Begun() || l.Over(start.Add(time.Hour)) || l.Left(start) != 0 {
		t.Errorf("before a heartbeat: %+v", l)
	}
	l.Renewed(start, start.Add(10*time.Second))
	if !l.Begun() || l.Left(start.Add(10*time.Second)) != 50*time.Second {
		t.Error("it counts from the sending:", l.Left(start.Add(10*time.Second)))
	}
	l.Renewed(start.Add(-time.Second), start.Add(11*time.Second))
	if l.Left(start.Add(11*time.Second)) != 49*time.Second {
		t.Error("an older heartbeat shortens it")
	}
	if l.Over(start.Add(time.Minute - 1)) {
		t.Error("it is over early")
	}
	l.Renewed(start.Add(59*time.Second), start.Add(time.Minute))
	if !l.Over(start.Add(time.Minute)) || l.Left(start.Add(time.Minute)) != 0 {
		t.Error("an answer that comes too late extends it")
	}
	l.Renewed(start.Add(2*time.Minute), start.Add(2*time.Minute))
	if !l.Over(start.Add(2 * time.Minute)) {
		t.Error("it begins again")
	}
}

func TestLeaseThatAsks(t *testing.T) {
	l, w := Lease{For: time.Minute, Asks: true}, Watch{For: time.Minute, Asks: true}
	l.Renewed(start, start)
	w.Adopt(start)
	if late := start.Add(1000 * time.Hour); l.Over(late) || w.Lost(late) || !w.Accept(late) {
		t.Error("it is over")
	}
}

func TestWatch(t *testing.T) {
	w := Watch{For: time.Minute}
	if w.Lost(start.Add(time.Hour)) || w.Silent(start) != 0 {
		t.Error("it is lost before it began")
	}
	if !w.Accept(start) || w.GiveUp() {
		t.Error("an accepted heartbeat counts for nothing")
	}
	end := start.Add(w.After())
	if w.Lost(end.Add(-1)) || w.Silent(end) < time.Minute+Grace {
		t.Error("it is lost early")
	}
	if !w.Accept(end.Add(-1)) || w.Lost(end) {
		t.Error("a late heartbeat extends nothing")
	}
	end = end.Add(-1).Add(w.After())
	if !w.Lost(end) || w.Accept(end) || !w.Lost(start) {
		t.Error("what is lost is found again")
	}
	var never Watch
	if !never.GiveUp() || never.Accept(start) {
		t.Error("what was given up is accepted")
	}
}
