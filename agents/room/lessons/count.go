package lessons

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/records/note"
	"cmux/agents/room"
)

// Work counts what happened to the cards that a member implemented.
type Work struct {
	Member       string
	ChecksFailed int // verdicts with a check that failed
	SentBack     int // reviews
}

// mostFrom is how many messages a note names that it comes from: the newest.
const mostFrom = 20

// mostTopic bounds a topic in a note, in characters.
const mostTopic = 80

// who are the members that count together.
type who struct{ kind, model, role string }

type counts struct {
	answers, passes, failed, taken int
	used                           int64
	work                           Work
	messages                       []int64
}

// Count makes notes of what can be counted in a range, and of its decisions.
func Count(s *room.State, lines []room.Line, r Range, work []Work) []note.Fields {
	c := counting{s: s, r: r, each: map[who]*counts{}, of: map[string]*counts{}, turns: map[string]string{}}
	for i := range lines {
		c.line(&lines[i])
	}
	for _, w := range work {
		if m := c.of[w.Member]; m != nil {
			m.work.ChecksFailed += w.ChecksFailed
			m.work.SentBack += w.SentBack
		}
	}
	all := c.decisions()
	all = append(all, c.members()...)
	return append(all, c.all())
}

type counting struct {
	s     *room.State
	r     Range
	each  map[who]*counts
	order []who
	of    map[string]*counts // by member
	turns map[string]string  // to members

	turned, passed, rounds int
	used, took             int64
	end                    string
	messages               []int64
}

func (c *counting) line(l *room.Line) {
	switch l.Kind {
	case room.KindJoined:
		if !l.Guest {
			w := who{l.Agent, l.Model, l.Role}
			if c.each[w] == nil {
				c.each[w], c.order = new(counts), append(c.order, w)
			}
			c.of[l.Name] = c.each[w]
		}
	case room.KindTurn:
		c.turns[l.Turn] = l.Member
	}
	if l.N < c.r.From || l.N > c.r.To {
		return
	}
	switch l.Kind {
	case room.KindOver:
		c.over(l)
	case room.KindSaid:
		if l.To == "" && l.Ask == "" && l.Text != "" {
			c.messages = append(c.messages, l.N)
			if m := c.of[l.By]; m != nil && l.Turn != "" {
				m.messages = append(m.messages, l.N)
			}
		}
	case room.KindRound:
		if l.State == room.Began {
			c.rounds++
		} else {
			c.end = string(l.State)
		}
	}
}

func (c *counting) over(l *room.Line) {
	c.turned++
	c.used += l.Used
	c.took += l.Took
	m := c.of[c.turns[l.Turn]]
	if m == nil {
		return
	}
	m.used += l.Used
	switch l.How {
	case room.HowReplied:
		m.answers++
	case room.HowPassed:
		m.passes++
		c.passed++
	default:
		m.failed++
	}
}

// decisions are notes of what was decided.
func (c *counting) decisions() (all []note.Fields) {
	for i := range c.s.Decisions {
		d := &c.s.Decisions[i]
		if d.Decided == nil || d.Decided.N < c.r.From || d.Decided.N > c.r.To {
			continue
		}
		if m := c.of[d.By]; m != nil && d.Decided.What != string(room.Rejected) {
			m.taken++
		}
		head, sides := "Decided: ", []string{}
		if d.Decided.What == string(room.Rejected) {
			head = "Rejected: "
		}
		if names := d.Decided.For; len(names) > 0 {
			sides = append(sides, "for it: "+strings.Join(names, ", "))
		}
		if n := len(d.Decided.Dissent); n > 0 {
			sides = append(sides, fmt.Sprintf("against it: %d", n))
		}
		tail := ""
		if len(sides) > 0 {
			tail = " (" + strings.Join(sides, "; ") + ")"
		}
		from := []int64{}
		if d.From > 0 {
			from = append(from, d.From)
		}
		all = append(all, note.Fields{Text: fit(head, decidedText(d), tail), Kind: note.Decision, From: c.from(from)})
	}
	return all
}

// members are notes of each kind, model and role.
func (c *counting) members() (all []note.Fields) {
	for _, w := range c.order {
		m := c.each[w]
		if m.answers+m.passes+m.failed == 0 {
			continue
		}
		name := w.kind
		if w.model != "" {
			name += " " + w.model
		}
		if w.role != "" {
			name += " as " + w.role
		}
		text := fmt.Sprintf("%s in the room %s: %s, %s, %s failed, %d tokens; decisions on its proposals: %d; checks failed: %d; reviews sent back: %d.",
			name, c.s.Name, count(m.answers, "answer"), count(m.passes, "pass"), count(m.failed, "turn"), m.used, m.taken, m.work.ChecksFailed, m.work.SentBack)
		all = append(all, note.Fields{Text: fit("", text, ""), Kind: note.Member, About: note.About{Agent: w.kind, Model: w.model}, From: c.from(m.messages)})
	}
	return all
}

// all is a note of the whole range.
func (c *counting) all() note.Fields {
	members := 0
	for i := range c.s.Members {
		if !c.s.Members[i].Guest {
			members++
		}
	}
	decided := 0
	for i := range c.s.Decisions {
		if d := c.s.Decisions[i].Decided; d != nil && d.N >= c.r.From && d.N <= c.r.To {
			decided++
		}
	}
	topic := []rune(strings.Join(strings.Fields(c.s.Settings.Topic), " "))
	if len(topic) > mostTopic {
		topic = append(topic[:mostTopic-1], '…')
	}
	name := c.s.Name
	if len(topic) > 0 {
		name += fmt.Sprintf(" (%s)", string(topic))
	}
	text := fmt.Sprintf("The room %s: %s, %s, %s, %s, %d tokens, %d seconds of work, %s; its last round: %s.",
		name, count(members, "member"), count(c.rounds, "round"), count(c.turned, "turn"), count(c.passed, "pass"), c.used, c.took/1000, count(decided, "decision"), cmp.Or(c.end, "under way"))
	return note.Fields{Text: fit("", text, ""), Kind: note.Practice, From: c.from(c.messages)}
}

func (c *counting) from(messages []int64) *note.From {
	messages = messages[max(0, len(messages)-mostFrom):]
	return &note.From{Room: c.s.Name, Opened: c.r.Opened, Messages: slices.Clone(messages)}
}

// fit shortens the middle, so that the whole fits into a note.
func fit(head, middle, tail string) string {
	middle = strings.Join(strings.Fields(middle), " ")
	room := note.MaxText - len([]rune(head)) - len([]rune(tail))
	if room < note.MaxText/2 { // a long list of names
		tail, room = "", note.MaxText-len([]rune(head))
	}
	if text := []rune(middle); len(text) > room {
		middle = strings.TrimSpace(string(text[:room-1])) + "…"
	}
	return head + middle + tail
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
