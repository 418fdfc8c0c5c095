// Package question says what an agent asks a person, and what the answers mean:
// as data, so that whoever shows it need not read it out of a text. It is pure.
package question

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Question is what is put to a person at once.
type Question struct {
	ID     string `json:"id,omitempty"`      // as it is asked this time, see ID; empty in records
	Parts  []Part `json:"parts"`             // at least one; the answer to several has a line for each
	InPane bool   `json:"in_pane,omitempty"` // only keys pressed in the agent's pane can answer it

	Message string `json:"message,omitempty"` // id of the message that put it; empty: none did

	Permission *Permission `json:"permission,omitempty"` // nil: it is no question about a tool call
	YesNo      bool        `json:"yes_no,omitempty"`     // its answer is yes, or no and why; that to a Permission is too
	Silent     bool        `json:"silent,omitempty"`     // the agent asks nothing: it ended its turns without a report, and Parts say so
}

// Permission is a tool call that the agent's program asks permission for. The
// answer is yes, or no and why.
type Permission struct {
	Tool    string `json:"tool"`
	Command string `json:"command,omitempty"` // the command, file, address or whole input of the call; a long one is cut
}

// Part is one question.
type Part struct {
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"` // as they are shown: a number stands for the one in that place, from 1 on
}

// Posed is a question that went as a message to somebody who is to answer it.
type Posed struct {
	Question
	To string `json:"to"` // address
}

// New is a question of one part.
func New(text string, options ...string) Question {
	return Question{Parts: []Part{{text, options}}}
}

// Permit is the question about a tool call. what is the call in a few words, as in
// "use Bash? make"; hint says more about the answer, empty for nothing.
func Permit(what, hint string, p Permission) Question {
	how := "yes, or no and why"
	if hint != "" {
		how += "; " + hint
	}
	q := New("may it " + what + "\n(" + how + ")")
	q.Permission = &p
	return q
}

// Agree is a question that is answered by yes, or by no and why.
func Agree(text string) Question {
	q := New(text)
	q.YesNo = true
	return q
}

// InPane is a question that only keys pressed in the agent's pane can answer.
func InPane(text string) Question {
	q := New(text)
	q.InPane = true
	return q
}

// ID names what was asked at a time, so that an answer can say which question it
// answers: the same words that are asked again are another question.
func ID(asked time.Time, text string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s", asked.UnixNano(), text))
	return hex.EncodeToString(sum[:8])
}

// String is the question as a person is shown it: the options numbered below the
// text, the parts numbered where there are several.
func (q Question) String() string {
	var b strings.Builder
	for i, p := range q.Parts {
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(q.Parts) > 1 {
			fmt.Fprintf(&b, "(%d of %d) ", i+1, len(q.Parts))
		}
		b.WriteString(p.Text)
		for k, o := range p.Options {
			fmt.Fprintf(&b, "\n  %d. %s", k+1, o)
		}
	}
	return b.String()
}
