// Package clitest tests what a command makes of its command line.
package clitest

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cmux/cmd/cmux/cli"
)

// Parsed is what a command line makes of a command's options; nil when the
// command did not get to its work.
func Parsed[O any](newCmd func(*cli.Deps, func(context.Context, *O) error) *cobra.Command, line string) (o *O, err error) {
	d := &cli.Deps{IO: cli.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	cmd := newCmd(d, func(_ context.Context, got *O) error { o = got; return nil })
	cmd.SetArgs(strings.Fields(line))
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	return o, cmd.Execute()
}

// Flags checks what a command line makes of a command's options.
func Flags[O, W any](t *testing.T, newCmd func(*cli.Deps, func(context.Context, *O) error) *cobra.Command, of func(*O) W, lines map[string]W) {
	t.Helper()
	for line, want := range lines {
		o, err := Parsed(newCmd, line)
		if err != nil || o == nil {
			t.Errorf("%q: %v", line, err)
		} else if got := of(o); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}
