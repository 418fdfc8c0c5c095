package question

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// What a person answers means the same for every kind.

// Yes reports whether an answer to a question of yes or no agrees, and, where it
// is neither, what it says: a no with a reason. A number counts as the option in
// that place, which is yes for 1 and no for 2.
func Yes(answer string) (yes bool, more string) {
	plain := strings.ToLower(strings.Trim(answer, " \t\r\n.!"))
	switch plain {
	case "y", "yes", "ok", "okay", "allow", "accept", "approve", "approved", "go on", "1":
		return true, ""
	case "n", "no", "deny", "decline", "reject", "2", "":
		return false, ""
	}
	return false, strings.TrimSpace(answer)
}

// Option is an answer to a question with options: a number stands for the option
// in that place.
func Option(answer string, options []string) string {
	if n, err := strconv.Atoi(strings.TrimSpace(answer)); err == nil && 1 <= n && n <= len(options) {
		return options[n-1]
	}
	return answer
}

// Spread gives each of n questions its part of an answer: a line each when it
// has as many, else the whole.
func Spread(answer string, n int) []string {
	answer = strings.TrimSpace(answer)
	lines := strings.Split(answer, "\n")
	all := make([]string, n)
	for i := range all {
		all[i] = answer
		if len(lines) == n {
			all[i] = strings.TrimSpace(lines[i])
		}
	}
	return all
}

// Unclear reports whether answer to a question of yes or no is neither a yes nor a no: words that begin as a yes and say more, or a number of no option. The agent
// takes such an answer as a no.
func (q *Question) Unclear(answer string) bool {
	if q.Permission == nil && !q.YesNo {
		return false
	}
	yes, more := Yes(answer)
	if yes || more == "" {
		return false
	}
	if _, err := strconv.Atoi(more); err == nil {
		return true
	}
	first := strings.FieldsFunc(strings.ToLower(more), func(r rune) bool { return !unicode.IsLetter(r) })
	return len(first) > 0 && slices.Contains(agreeing, first[0])
}

// agreeing are the words with which a person who agrees begins.
var agreeing = []string{"y", "yes", "yeah", "yep", "ok", "okay", "sure", "fine", "allow", "allowed", "accept", "approve", "approved", "go", "proceed", "please"}

// Replied says what answer was to q: of a question of yes or no whether it is allowed,
// with the question.
func (q *Question) Replied(answer string) string {
	if q.Permission == nil && !q.YesNo {
		return "answered: " + Shorten(strings.Join(strings.Fields(q.Parts[0].Text), " "), maxReplied)
	}
	text, _, _ := strings.Cut(q.Parts[0].Text, "\n")
	text = Shorten(text, maxReplied)
	switch yes, more := Yes(answer); {
	case yes:
		return "allowed: " + text
	case more == "":
		return "refused: " + text
	}
	return "refused, with your words: " + text
}

// maxReplied bounds how much of a question Replied repeats, in runes.
const maxReplied = 120

// Shorten is the beginning of a text, of at most so many runes.
func Shorten(text string, most int) string {
	if all := []rune(text); len(all) > most {
		return string(all[:most-1]) + "…"
	}
	return text
}
