package room

import "slices"

// A card's question goes to one member, who answers it alone in a turn. The others read the
// answer with their next turns: it wakes nobody.

// AskCard is the message that asks a member about a card. key names the question: the same one
// is asked once.
func AskCard(card, member, key, text string) Line {
	return Line{Kind: KindSaid, By: Cmux, To: member, Card: card, Key: key, Text: text, Wakes: []string{member}}
}

// AskBlind is the message that asks a member about a card whose answer the others do not see.
func AskBlind(card, member, key, text string) Line {
	l := AskCard(card, member, key, text)
	l.Blind = true
	return l
}

// CardMoved is the notice that a card has moved: a line with what has become of it, for those
// who have a role in it. It wakes nobody.
func CardMoved(card, text string, roles []string) Line {
	return Line{Kind: KindSaid, By: Cmux, Card: card, Text: text, For: roles}
}

// isMoved reports whether the message is such a notice.
func (l *Line) isMoved() bool {
	return l.Kind == KindSaid && l.By == Cmux && l.Card != "" && len(l.Wakes) == 0
}

// LastMoved is the text of the newest notice about a card; empty: there is none.
func LastMoved(lines []Line, card string) string {
	for i := range slices.Backward(lines) {
		if l := &lines[i]; l.Card == card && l.isMoved() {
			return l.Text
		}
	}
	return ""
}

// movedFor are the cards about which a turn brings notices to a member with a role: the newest of
// each, in their order.
func movedFor(s *State, t *Turn) (all []*Line) {
	for _, n := range t.Messages {
		l := s.Message(n)
		if l == nil || !l.isMoved() || !slices.Contains(l.For, t.Member) {
			continue
		}
		all = slices.DeleteFunc(all, func(was *Line) bool { return was.Card == l.Card })
		all = append(all, l)
	}
	return all
}

// aboutCard reports whether the message asks a member about a card.
func (l *Line) aboutCard() bool {
	return l.Kind == KindSaid && l.By == Cmux && l.Card != "" && len(l.Wakes) == 1
}

// card is the question about a card that a turn answers; nil: it answers none.
func (s *State) card(t *Turn) *Line {
	for _, n := range slices.Backward(t.Messages) {
		if l := s.Message(n); l != nil && l.aboutCard() && l.To == t.Member {
			return l
		}
	}
	return nil
}

// CardSaid is the message n if it answers a question about a card; nil: it does not, as in
// another room that has the name of the one in which it was answered.
func CardSaid(lines []Line, card string, n int64) *Line {
	if n < 1 || n > int64(len(lines)) || lines[n-1].Kind != KindSaid || lines[n-1].Turn == "" {
		return nil
	}
	said, asks := &lines[n-1], map[int64]bool{}
	for i := range lines[:n-1] {
		switch l := &lines[i]; {
		case l.aboutCard() && l.Card == card:
			asks[l.N] = true
		case l.Kind == KindTurn && l.Turn == said.Turn && slices.ContainsFunc(l.Messages, func(m int64) bool { return asks[m] }):
			return said
		}
	}
	return nil
}

// CardAnswer is what has become of the question about a card with this key. said is the
// message that answers it; nil: there is none. over: nothing more comes of it, and why says
// why there is no answer.
func CardAnswer(lines []Line, key string) (asked bool, said *Line, over bool, why string) {
	var ask *Line
	turn := ""
	for i := range lines {
		l := &lines[i]
		switch {
		case l.aboutCard() && l.Key == key:
			ask = l
		case ask == nil:
		case l.Kind == KindTurn && slices.Contains(l.Messages, ask.N):
			turn = l.Turn
		case l.Kind == KindSaid && l.Turn == turn && turn != "":
			said = l
		case l.Kind == KindOver && l.Turn == turn && turn != "":
			if l.How == HowReplied {
				return true, said, true, ""
			}
			if why = ask.To + " " + string(l.How); l.How == HowTimeout {
				why = ask.To + " did not answer in time"
			} else if l.How == HowStopped {
				why = ask.To + " was stopped"
			}
			if l.Why != "" {
				why += ": " + l.Why
			}
			return true, nil, true, why
		case l.Kind == KindDropped && l.Message == ask.N:
			return true, nil, true, ask.To + " did not get it: " + l.Why
		}
	}
	return ask != nil, nil, false, ""
}
