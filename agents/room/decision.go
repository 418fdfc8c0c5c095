package room

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/agents/platform/harmless"
	"cmux/agents/room/marks"
)

// Who decides, in Settings.Decide; empty: the person.
const ByModerator = "moderator"

// Verdict is what was decided on a proposal.
type Verdict string

// The verdicts. Changed: another text was decided.
const (
	Accepted Verdict = "accepted"
	Rejected Verdict = "rejected"
	Changed  Verdict = "changed"
)

const (
	mostDissent = 4000     // of one member's dissent, in bytes
	mostDecided = 16 << 10 // of the text of a decision, in its record
)

// Decision is a proposal, and how it was decided.
type Decision struct {
	ID      string // as the lines name it
	Label   string // as people name it: D1, D2, …
	By      string
	Text    string
	From    int64    // the message that proposes it; 0: a person has written it
	Asked   int64    // the message that asks the members; 0: they were not asked
	Voters  []string // who was asked
	Votes   []Voted
	Decided *Line // nil: it is open

	round int // in which it was proposed
}

// Voted is what a member says about a proposal.
type Voted struct {
	By      string
	Message int64
	Asked   bool // else it agreed by itself, with +1
	marks.Vote
}

// Decision is the proposal of that label or id; nil: there is none.
func (s *State) Decision(name string) *Decision {
	for i := range s.Decisions {
		if d := &s.Decisions[i]; d.ID == name || strings.EqualFold(d.Label, name) {
			return d
		}
	}
	return nil
}

// Pending are those who were asked about a proposal and may still answer.
func (s *State) Pending(d *Decision) (all []string) {
	for _, name := range d.Voters {
		m := s.member(name)
		if d.Decided != nil || m == nil || m.Gone || d.voted(name) {
			continue
		}
		if slices.ContainsFunc(s.waking(m), func(l *Line) bool { return l.N == d.Asked }) {
			all = append(all, name)
		} else if t := s.Turn(m.Turn); t != nil && slices.Contains(t.Messages, d.Asked) {
			all = append(all, name)
		}
	}
	return all
}

// Asking is the proposal about which members are asked now; nil: there is none.
func (s *State) Asking() *Decision {
	for i := range s.Decisions {
		if d := &s.Decisions[i]; d.Asked != 0 && len(s.Pending(d)) > 0 {
			return d
		}
	}
	return nil
}

func (d *Decision) voted(name string) bool {
	return slices.ContainsFunc(d.Votes, func(v Voted) bool { return v.Asked && v.By == name })
}

// Sides are those who are for a proposal, who are against it, and what these say. Its author
// is for it, as long as it says nothing else.
func (d *Decision) Sides() (yes, no, dissent []string) {
	if d.By != User && d.By != "" && !slices.ContainsFunc(d.Votes, func(v Voted) bool { return v.By == d.By }) {
		yes = append(yes, d.By)
	}
	for _, v := range d.Votes {
		switch v.Side {
		case marks.For:
			yes = append(yes, v.By)
		case marks.Against:
			no, dissent = append(no, v.By), append(dissent, v.By+": "+bounded(v.Why, mostDissent))
		}
	}
	return yes, no, dissent
}

func bounded(text string, most int) string {
	if text = strings.TrimSpace(text); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// Counts says how the members stand to a proposal.
func (d *Decision) Counts() string {
	yes, no, _ := d.Sides()
	text := fmt.Sprintf("%d for, %d against", len(yes), len(no))
	if n := len(d.unclear()); n > 0 {
		text += fmt.Sprintf(", %d unclear", n)
	}
	return text
}

func (d *Decision) unclear() (all []Voted) {
	for _, v := range d.Votes {
		if v.Side == marks.Unclear {
			all = append(all, v)
		}
	}
	return all
}

// Ask is the message that puts a proposal to the members, but for its author. by is who asks.
func (s *State) Ask(d *Decision, by string) Line {
	var wakes []string
	for i := range s.Members {
		if m := &s.Members[i]; !m.Guest && !m.Gone && m.Name != d.By && m.Name != by && (by == User || m.Name != s.Settings.Moderator) {
			wakes = append(wakes, m.Name)
		}
	}
	where := ""
	if d.From != 0 {
		where = fmt.Sprintf(" in %s#%d", s.Name, d.From)
	}
	text := fmt.Sprintf("%s was proposed%s:\n\n%s\nAnswer AGREE, or DISSENT and why in one paragraph. If something that matters was not examined, say so in a line that begins with `Not examined:`. The others are asked the same, and nobody sees another's answer before all are in.",
		d.Label, where, quote(d.Text))
	return Line{Kind: KindSaid, By: by, Text: text, Ask: d.ID, Key: "ask-" + d.ID, Re: d.From, Wakes: wakes}
}

// Outcome is the notice of a decision to the members. It wakes nobody.
func (s *State) Outcome(d *Decision, decided *Line) Line {
	who := "The person"
	if decided.By != User {
		who = decided.By
	}
	text := fmt.Sprintf("%s has %s %s (%s):\n\n%s", who, decided.What, d.Label, d.Counts(), quote(decided.Text))
	for _, what := range decided.Dissent {
		text += "\nDissent of " + quote(what)
	}
	return Line{Kind: KindSaid, By: Cmux, Text: text, Key: "decided-" + d.ID}
}

// Decide is the line by which somebody decides on a proposal; text is that of the decision,
// and its record belongs into the journal of the day.
func (d *Decision) Decide(at time.Time, by string, verdict Verdict, text string) Line {
	yes, _, dissent := d.Sides()
	return Line{
		Kind: KindDecided, ID: d.ID, What: string(verdict), By: by, Text: text, For: yes, Dissent: dissent,
		Journal: ".cmux/journal/" + at.Local().Format(time.DateOnly) + "/journal.md",
	}
}

// Title is that of the record of a decision: no two decisions of a project have the same.
func (s *State) Title(d *Decision) string {
	const most = 180 // bytes
	return strings.TrimSpace(bounded(fmt.Sprintf("%s of room %s (%s#%d): %s", d.Label, s.Name, s.Name, d.Decided.N, harmless.Line(d.Decided.Text)), most))
}

// Record is the record of a decision, as Markdown: the decision, who was for and against it,
// each dissent in its author's words, what was not examined, and the messages it rests on.
func (s *State) Record(d *Decision) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s by %s:\n\n%s", strings.ToUpper(d.Decided.What[:1])+d.Decided.What[1:], d.Decided.By, quote(bounded(d.Decided.Text, mostDecided)))
	if d.Decided.What != string(Accepted) || d.Decided.Text != d.Text {
		line("Proposed by %s:\n\n%s", d.By, quote(bounded(d.Text, mostDecided)))
	}
	yes, no, _ := d.Sides()
	line("- For: %s", orNobody(yes))
	line("- Against: %s", orNobody(no))
	for _, v := range d.Votes {
		if v.Side == marks.Against {
			line("\nDissent of %s (%s#%d):\n\n%s", v.By, s.Name, v.Message, quote(bounded(v.Why, mostDissent)))
		}
	}
	for _, v := range d.unclear() {
		line("\nNeither for nor against, %s (%s#%d):\n\n%s", v.By, s.Name, v.Message, quote(bounded(v.Why, mostDissent)))
	}
	line("\nNot examined:")
	unseen := s.unseen(d)
	for _, what := range unseen {
		line("- %s", what)
	}
	if len(unseen) == 0 {
		line("- Nobody named anything.")
	}
	var rests []string
	for _, n := range s.restsOn(d) {
		rests = append(rests, fmt.Sprintf("%s#%d", s.Name, n))
	}
	if len(rests) > 0 {
		line("\nRests on: %s", strings.Join(rests, ", "))
	}
	return b.String()
}

func orNobody(names []string) string {
	if len(names) == 0 {
		return "nobody"
	}
	return strings.Join(names, ", ")
}

// unseen is what was not examined: as members say, and who has said nothing.
func (s *State) unseen(d *Decision) (all []string) {
	for _, v := range d.Votes {
		if v.Unseen != "" {
			all = append(all, v.By+": "+harmless.Line(bounded(v.Unseen, 500)))
		}
	}
	var silent []string
	for i := range s.Members {
		m := &s.Members[i]
		if !m.Guest && !m.Gone && m.Name != d.By && !slices.ContainsFunc(d.Votes, func(v Voted) bool { return v.By == m.Name }) {
			silent = append(silent, m.Name)
		}
	}
	switch {
	case len(silent) == 0:
	case d.Asked == 0:
		all = append(all, "What others think: "+strings.Join(silent, ", ")+" were not asked.")
	default:
		all = append(all, "What others think: no answer of "+strings.Join(silent, ", ")+".")
	}
	return all
}

// restsOn are the messages that lead to a decision: the one that proposes it, those that it
// answers, and what members say about it.
func (s *State) restsOn(d *Decision) (all []int64) {
	for n := d.From; n != 0; {
		l := s.Message(n)
		if l == nil || slices.Contains(all, n) {
			break
		}
		all, n = append(all, n), l.Re
	}
	slices.Reverse(all)
	for _, v := range d.Votes {
		all = append(all, v.Message)
	}
	return all
}

// proposal folds a line by which something is proposed.
func (s *State) proposal(l *Line) {
	s.proposed = append(slices.Clip(s.proposed), l.ID)
	if l.What == "decision" {
		s.Decisions = append(slices.Clip(s.Decisions), Decision{ID: l.ID, Label: fmt.Sprintf("D%d", len(s.Decisions)+1), By: l.By, Text: l.Text, From: l.From, round: s.Round.N})
	}
}

// vote folds what a message says about a proposal.
func (s *State) vote(l *Line) {
	if l.Ask == "" && !strings.Contains(l.Text, "+1") {
		return
	}
	author := s.member(l.By)
	speaks := author != nil && !author.Guest
	switch d := s.Decision(l.Ask); {
	case l.Ask != "" && d != nil && !speaks && l.To == "":
		d.Asked, d.Voters = l.N, l.Wakes
	case l.Ask != "" && d != nil && speaks:
		text := l.Text
		if text == "" {
			text = l.Aside
		}
		s.counts(d, Voted{By: l.By, Message: l.N, Asked: true, Vote: marks.ReadVote(text)})
	case l.Ask == "" && speaks && l.To == "":
		for _, name := range (marks.Answer{Pieces: marks.Pieces(l.Text, s.Names())}).Agreements() {
			if d := s.openOf(name); d != nil {
				s.counts(d, Voted{By: l.By, Message: l.N, Vote: marks.Vote{Side: marks.For}})
			}
		}
	}
}

// openOf is the newest open proposal of somebody.
func (s *State) openOf(name string) *Decision {
	for i := range slices.Backward(s.Decisions) {
		if d := &s.Decisions[i]; d.By == name && d.Decided == nil {
			return d
		}
	}
	return nil
}

// counts takes in a vote: an answer to the question stands for the member's earlier +1.
func (s *State) counts(d *Decision, v Voted) {
	switch i := slices.IndexFunc(d.Votes, func(was Voted) bool { return was.By == v.By }); {
	case d.Decided != nil:
	case i < 0:
		d.Votes = append(slices.Clip(d.Votes), v)
	case v.Asked && !d.Votes[i].Asked:
		d.Votes = slices.Clone(d.Votes)
		d.Votes[i] = v
	}
}

// decided folds a decision.
func (s *State) decided(l *Line) {
	if d := s.Decision(l.ID); d != nil && d.Decided == nil {
		d.Decided = l
	}
}

// asks reports whether a message puts a proposal to members: it is for those alone.
func (l *Line) asks() bool { return l.Ask != "" && l.Turn == "" && l.To == "" }

// isVote reports whether a message answers the question for a decision: it is for whoever
// decides, until the others are told the outcome.
func (l *Line) isVote() bool { return l.Ask != "" && l.Turn != "" }

// Withheld reports whether nobody but its author and the person may read a message yet: it is
// a first answer while these are collected, or an answer about a proposal that is open.
func (s *State) Withheld(l *Line) bool {
	if slices.Contains(s.Blind.Held, l.N) {
		return true
	}
	d := s.Decision(l.Ask)
	return l.isVote() && (d == nil || d.Decided == nil)
}

// ask is the question for a decision that a turn answers; nil: there is none.
func (s *State) ask(t *Turn) *Line {
	for _, n := range t.Messages {
		if l := s.Message(n); l != nil && l.Ask != "" && l.To == "" && slices.Contains(l.Wakes, t.Member) {
			return l
		}
	}
	return nil
}
