package proc

import (
	"slices"
	"strings"
)

// Getenv is the value of a variable in env, as a program that is started with
// it sees it: the last one stands. It is empty where there is none.
func Getenv(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}
