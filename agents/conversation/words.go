package conversation

import (
	"fmt"
	"strings"
)

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}
