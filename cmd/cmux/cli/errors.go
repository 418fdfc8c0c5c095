package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"cmux/agents/control/runs"
	"cmux/agents/runs/wrapper"
	"cmux/worktree/hint"
)

// A silentError is an error whose story is already on the screen.
type silentError struct{ error }

func (s silentError) Unwrap() error { return s.error }

// Silent returns err as an error whose story is already on the screen.
func Silent(err error) error { return silentError{err} }

// ExitStatus is an exit code that a command itself decided on.
type ExitStatus int

func (e ExitStatus) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Report writes err for a person, and what to do next.
func Report(w io.Writer, err error) {
	var s silentError
	if err == nil || errors.As(err, &s) {
		return
	}
	text, try := hint.Explain(err)
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(w, "cmux: %s\n", line)
	}
	if try != "" {
		fmt.Fprintf(w, "cmux: try: %s\n", try)
	}
}

// Report is report for a command that was given: what the error names means the
// session that the command meant.
func (d *Deps) Report(err error) {
	if d.Session == "" {
		Report(d.Err, err)
		return
	}
	var b strings.Builder
	Report(&b, err)
	fmt.Fprint(d.Err, runs.WithSession(b.String(), d.Session))
}

// Outside tells a person who calls what agents call where it belongs.
func Outside(err error) error {
	if errors.Is(err, wrapper.ErrOutside) {
		return hint.New(err, "cmux agents status")
	}
	return err
}
