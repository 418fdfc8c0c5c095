package conversation

import (
	"fmt"
	"strings"
)

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// lines puts one text below the other, if there are two.
func lines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}
