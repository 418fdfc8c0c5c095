// Package hint is errors that come with a way out: a command to call or something to do
// next.
package hint

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an error with the way out of it. Its text ends in that.
type Error struct {
	Err error
	Try string // a command or an action, as a person would do it; empty: there is none
}

func (e *Error) Error() string { return e.Err.Error() + after(e.Try) }
func (e *Error) Unwrap() error { return e.Err }

func after(try string) string {
	if try == "" {
		return ""
	}
	return "; try: " + try
}

// New is err with a way out.
func New(err error, try string) error { return &Error{err, try} }

// Errorf is a formatted error with a way out.
func Errorf(try, format string, a ...any) error { return New(fmt.Errorf(format, a...), try) }

// Explain takes an error apart into what happened and the way out, which is empty where
// there is none. Of several ways the outermost counts: who called knows more.
func Explain(err error) (text, try string) {
	if err == nil {
		return "", ""
	}
	text = err.Error()
	for in := err; ; {
		var e *Error
		if !errors.As(in, &e) {
			return strings.TrimRight(text, "\n"), try
		}
		if try == "" {
			try = e.Try
		}
		text = strings.Replace(text, after(e.Try), "", 1)
		in = e.Err
	}
}
