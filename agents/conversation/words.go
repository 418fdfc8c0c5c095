package conversation

import (
	"fmt"
	"strconv"
	"strings"
)

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}

// option is what an answer to a question with options says: a number stands for
// the option in that place.
func option(answer string, options []string) string {
	if n, err := strconv.Atoi(strings.TrimSpace(answer)); err == nil && 1 <= n && n <= len(options) {
		return options[n-1]
	}
	return answer
}
