// Package finding is the answer of cmux doctor, a line for each thing it looked at.
//
// Each part that knows something to look at makes findings of its own. Nothing here
// looks at anything.
package finding

import (
	"strings"

	"cmux/agents/control/project"
)

// Finding is one thing that doctor looked at.
type Finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Try    string `json:"try"` // the way out, when not OK; also of what will matter only later
}

// Explain takes an error apart into what is wrong, in a line, and the way out.
func Explain(err error) (text, try string) {
	text, try = project.Explain(err)
	return strings.ReplaceAll(text, "\n", "; "), try
}
