package main

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cmux/agents/control"
)

// parsed is what a command line makes of a command's options; nil when the
// command did not get to its work.
func parsed[O any](newCmd func(*Deps, func(context.Context, *O) error) *cobra.Command, line string) (o *O, err error) {
	d := &Deps{IO: IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	cmd := newCmd(d, func(_ context.Context, got *O) error { o = got; return nil })
	cmd.SetArgs(strings.Fields(line))
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	return o, cmd.Execute()
}

// flags checks what a command line makes of a command's options.
func flags[O, W any](t *testing.T, newCmd func(*Deps, func(context.Context, *O) error) *cobra.Command, of func(*O) W, lines map[string]W) {
	t.Helper()
	for line, want := range lines {
		o, err := parsed(newCmd, line)
		if err != nil || o == nil {
			t.Errorf("%q: %v", line, err)
		} else if got := of(o); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

func TestOrderOptions(t *testing.T) {
	flags(t, newRetryCmd, func(o *retryOptions) control.Retry { return o.Retry }, map[string]control.Retry{
		"api":                      {Node: "api"},
		"--fresh api --downstream": {Node: "api", Downstream: true, Fresh: true},
	})
	flags(t, newAnswerCmd, func(o *answerOptions) answerOptions { return answerOptions{Answer: o.Answer, Ask: o.Ask} }, map[string]answerOptions{
		"api":         {Answer: control.Answer{Node: "api"}, Ask: true},
		"api the 2nd": {Answer: control.Answer{Node: "api", Text: "the 2nd"}},
	})
	flags(t, newStopCmd, func(o *stopOptions) string { return o.Node }, map[string]string{"": "", "api": "api"})
	for _, c := range []func(*Deps, func(context.Context, *decideOptions) error) *cobra.Command{newApproveCmd, newOverrideCmd, newReleaseCmd} {
		flags(t, c, func(o *decideOptions) string { return o.Node }, map[string]string{"api": "api"})
		if o, err := parsed(c, ""); err == nil || o != nil {
			t.Errorf("without a name: %v, %v", o, err)
		}
	}
}
