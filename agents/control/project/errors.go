package project

import (
	"errors"
	"fmt"
	"strings"

	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/worktree/git"
)

// Hint is an error with the way out of it.
type Hint struct {
	Err error
	Try string // what to do next: a command, or a sentence
}

func (h *Hint) Error() string { return h.Err.Error() }
func (h *Hint) Unwrap() error { return h.Err }

// ErrUsage says that what was asked cannot be meant: it names what is not
// there, or asks for what does not go together.
var ErrUsage = errors.New("usage")

// ErrMissing says that what was named is not there.
var ErrMissing = errors.New("missing")

// Usage is an ErrUsage with a way out; try may be empty.
func Usage(try, format string, args ...any) error {
	err := Tag(fmt.Errorf(format, args...), ErrUsage)
	if try != "" {
		err = &Hint{Err: err, Try: try}
	}
	return err
}

// Tag is err, which also counts as tag: the text stays err's.
func Tag(err, tag error) error { return &tagged{err, tag} }

type tagged struct{ err, tag error }

func (t *tagged) Error() string   { return t.err.Error() }
func (t *tagged) Unwrap() []error { return []error{t.err, t.tag} }

// Explain takes an error apart into what happened and the way out, which is
// empty where there is none.
func Explain(err error) (text, try string) {
	if err == nil {
		return "", ""
	}
	text = err.Error()
	var (
		h    *Hint
		tree *git.Hint
		late *runner.TryError
		not  *run.Refusal
	)
	switch {
	case errors.As(err, &h):
		try = h.Try
		if errors.As(err, &tree) { // one way out, not two: who called knows the better one
			text = strings.Replace(text, "; try: "+tree.Try, "", 1)
		}
	case errors.As(err, &late):
		try = late.Try
	case errors.As(err, &not):
		try = not.Try
	case errors.As(err, &tree): // its text ends in what to try
		try = tree.Try
		text = strings.Replace(text, "; try: "+try, "", 1)
	}
	return strings.TrimRight(text, "\n"), try
}
