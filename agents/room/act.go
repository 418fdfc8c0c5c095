package room

import (
	"slices"
	"time"
)

// act carries out what follows from the lines.
func (m *move) act() {
	for i := range m.Open {
		t := &m.Open[i]
		who := m.member(t.Member)
		if who == nil {
			continue
		}
		switch {
		case t.Stopping || t.breaking != "":
			if !t.broken {
				t.broken, t.brokeAt = true, m.at
				m.do(BreakOff{t.ID})
			}
		case who.Stand.Is == Off && !m.at.Before(t.back):
			who.Stand.Is = Starting
			m.do(Start{who.Name})
		case !t.told && (who.Stand.Is == Idle || who.Stand.Is == InTurn && t.Took.IsZero()):
			t.told, t.toldAt = true, m.at
			m.do(Tell{t.ID})
		}
	}
	for i := range m.Members {
		if who := &m.Members[i]; (m.Closed || who.Gone) && !who.Guest && who.Turn == "" && who.Stand.Is != Off && who.Stand.Is != Unknown {
			why := "the room is closed"
			if who.Gone {
				why = "it left the room"
			}
			m.rest(who.Name, why)
		}
	}
	m.clocks()
}

// rest ends a program. What becomes of it is heard.
func (m *move) rest(name, why string) {
	m.member(name).Stand.Is = Unknown
	m.do(Rest{name, why})
}

// clocks arms the clocks that run from now on, and disarms the others.
func (m *move) clocks() {
	var want []Arm
	arm := func(kind Ring, turn string, at time.Time) { want = append(want, Arm{Clock{kind, turn}, at}) }
	if !m.soon.IsZero() {
		arm(Gather, "", m.soon)
	}
	if m.Blind.On {
		arm(First, "", m.Blind.Since.Add(firstMost))
	}
	limits := m.Settings.Timeouts
	for i := range m.Open {
		t := &m.Open[i]
		if t.broken {
			arm(Break, t.ID, t.brokeAt.Add(breaksMost))
			continue
		}
		if t.back.After(m.at) {
			arm(Again, t.ID, t.back)
		}
		if t.Took.IsZero() {
			if t.told && limits.Send > 0 {
				arm(Send, t.ID, t.toldAt.Add(seconds(limits.Send)))
			}
			continue
		}
		if limits.Hard > 0 {
			arm(Hard, t.ID, t.Took.Add(seconds(limits.Hard)))
		}
		if limits.Idle > 0 && !t.since.IsZero() {
			arm(IdleFor, t.ID, m.quietUntil(t))
		}
		switch {
		case !t.asked.IsZero():
			arm(Answer, t.ID, t.asked.Add(answersMost))
		case limits.Parse > 0 && !t.since.IsZero():
			arm(Parse, t.ID, t.since.Add(t.allowed-t.worked))
		}
	}
	for _, a := range m.armed {
		if !slices.ContainsFunc(want, func(w Arm) bool { return w.Clock == a.Clock }) {
			m.do(Disarm{a.Clock})
		}
	}
	for _, a := range want {
		if !slices.Contains(m.armed, a) {
			m.do(a)
		}
	}
	m.armed = want
}
