package question

import (
	"strconv"
	"strings"
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
