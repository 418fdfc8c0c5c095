package marks

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Side is what an answer to the question for a decision says.
type Side string

// The sides. Unclear: it says neither by its first word.
const (
	For     Side = "for"
	Against Side = "against"
	Unclear Side = "unclear"
)

// Vote is an answer to the question for a decision.
type Vote struct {
	Side   Side
	Why    string // the rest of it
	Unseen string // what its author has not examined
}

// unseen begins the line with what was not examined.
const unseen = "not examined:"

// ReadVote reads an answer to the question for a decision. Its first word is AGREE or
// DISSENT, in any case; a line may say what was not examined.
func ReadVote(text string) Vote {
	var v Vote
	var rest []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, "\r\n")
		plain := strings.TrimLeft(line, " \t*_~>-[")
		if len(plain) >= len(unseen) && strings.EqualFold(plain[:len(unseen)], unseen) {
			v.Unseen = strings.Trim(plain[len(unseen):], " \t*_~]")
			continue
		}
		rest = append(rest, line)
	}
	v.Side, v.Why = side(strings.TrimSpace(strings.Join(rest, "\n")))
	return v
}

func side(text string) (Side, string) {
	const around = " \t\r\n*_~\"'`[]()"
	plain := strings.TrimLeft(text, around)
	if first, rest, is := strings.Cut(plain, " "); is && strings.EqualFold(first, "I") {
		plain = rest
	}
	for _, w := range []struct {
		word string
		side Side
	}{{"agreed", For}, {"agree", For}, {"+1", For}, {"disagree", Against}, {"dissent", Against}} {
		if len(plain) < len(w.word) || !strings.EqualFold(plain[:len(w.word)], w.word) {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(plain[len(w.word):]); unicode.IsLetter(next) || unicode.IsDigit(next) {
			continue
		}
		return w.side, strings.TrimLeft(plain[len(w.word):], around+".,:;–—-")
	}
	return Unclear, text
}
