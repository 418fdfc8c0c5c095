package project

import (
	"cmux/worktree/hint"
	"errors"
	"fmt"
)

// ErrUsage says that what was asked cannot be meant: it names what is not
// there, or asks for what does not go together.
var ErrUsage = errors.New("usage")

// ErrMissing says that what was named is not there.
var ErrMissing = errors.New("missing")

// Usage is an ErrUsage with a way out; try may be empty.
func Usage(try, format string, args ...any) error {
	err := Tag(fmt.Errorf(format, args...), ErrUsage)
	if try != "" {
		err = hint.New(err, try)
	}
	return err
}

// Tag is err, which also counts as tag: the text stays err's.
func Tag(err, tag error) error { return &tagged{err, tag} }

type tagged struct{ err, tag error }

func (t *tagged) Error() string   { return t.err.Error() }
func (t *tagged) Unwrap() []error { return []error{t.err, t.tag} }
