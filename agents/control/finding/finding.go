// Package finding is the answer of cmux doctor, a line for each thing it looked at.
//
// Each part that knows something to look at makes findings of its own. Nothing here
// looks at anything.
package finding

import (
	"cmux/worktree/hint"
	"strings"
)

// Finding is one thing that doctor looked at.
type Finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Try    string `json:"try"` // the way out, when not OK; also of what will matter only later
}

// Wrong is a finding that says in a line what is wrong, and the way out of it.
func Wrong(what string, err error) Finding {
	text, try := hint.Explain(err)
	return Finding{What: what, Detail: strings.ReplaceAll(text, "\n", "; "), Try: try}
}
