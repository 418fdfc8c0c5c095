package proc

import (
	"slices"
	"strings"
)

// Getenv returns the value of a variable in env as a program sees it that is started with
// env: the last one counts. It is empty if there is none.
func Getenv(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}
