package room

import (
	"fmt"
	"slices"
	"strings"

	"cmux/agents/room/marks"
)

// Where the moderator decides, what it proposes is put to the members at once, within the
// same round. When all have answered, it gets their answers, and decides with a second
// [DECISION]. Without one the proposal waits for the person.

// byModerator reports whether the moderator decides.
func (s *State) byModerator() bool {
	m := s.member(s.Settings.Moderator)
	return s.Settings.Decide == ByModerator && m != nil && !m.Gone
}

// Moderates reports whether the moderator may still decide on a proposal by itself.
func (s *State) Moderates(d *Decision) bool {
	return s.byModerator() && s.Round.On && d.By == s.Settings.Moderator && d.round == s.Round.N
}

// polls asks the members about what the moderator proposes, one proposal after the other, and
// gives it their answers.
func (m *move) polls() {
	if !m.byModerator() || !m.Round.On || m.Round.cancelling != "" || m.Asking() != nil {
		return
	}
	if who := m.member(m.Settings.Moderator); who.Turn != "" || len(m.waking(who)) > 0 {
		return // it may decide, or propose something better
	}
	for i := range m.Decisions {
		d := &m.Decisions[i]
		if d.Decided != nil || !m.Moderates(d) {
			continue
		}
		if d.Asked == 0 {
			if ask := m.Ask(d, Cmux); len(ask.Wakes) > 0 {
				m.once(ask)
				return
			}
			continue
		}
		if l := m.result(d); m.saidWith(l.By, l.Key) == nil {
			m.write(l)
			return
		}
	}
}

// result gives the moderator the answers about its proposal.
func (m *move) result(d *Decision) Line {
	var b strings.Builder
	fmt.Fprintf(&b, "All were asked about %s: %s.\n", d.Label, d.Counts())
	for _, v := range d.Votes {
		fmt.Fprintf(&b, "\n%s is %s.\n", v.By, v.Side)
		if v.Why != "" {
			b.WriteString(quote(v.Why))
		}
	}
	b.WriteString("\nDecide with [DECISION] and its text, the same or a better one. Without it the proposal waits for the person.")
	return Line{Kind: KindSaid, By: Cmux, To: d.By, Text: b.String(), Ask: d.ID, Key: "votes-" + d.ID, Wakes: []string{d.By}}
}

// moderates writes what the moderator decides in a turn that gave it the members' answers.
func (m *move) moderates(t *Turn, a marks.Answer) bool {
	var d *Decision
	for _, n := range t.Messages {
		if l := m.Message(n); l != nil && l.By == Cmux && l.To == t.Member && l.Ask != "" {
			d = m.Decision(l.Ask)
		}
	}
	i := slices.IndexFunc(a.Pieces, func(p marks.Piece) bool { return p.Kind == marks.Status && p.Mark == marks.Decision })
	if d == nil || i < 0 {
		return false
	}
	if d.Decided == nil {
		text, verdict := a.Pieces[i].Words, Accepted
		if strings.Join(strings.Fields(text), " ") != strings.Join(strings.Fields(d.Text), " ") {
			verdict = Changed
		}
		m.write(d.Decide(m.at, t.Member, verdict, text))
		d = m.Decision(d.ID)
	}
	m.once(m.Outcome(d, d.Decided))
	return true
}
