// Package cli is what commands share: the streams and the project that they
// work on, questions to a person, errors with their exit codes, tables and
// completion. A command is built from Deps. cli knows no command; each noun has a
// package of its own, which imports cli and no other noun.
package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/kinds/agent"
)

// Deps is all that commands take from the process they run in. Each takes out of
// it what it needs, as options of its own.
type Deps struct {
	IO
	Dir   string // where the command was called
	Now   func() time.Time
	Kinds agent.Kinds // kinds of agents that this build can launch

	// Root builds the whole command tree, for a command that carries others out.
	Root func(*Deps) *cobra.Command

	InHealth bool   // see control.HealthVar
	Session  string // of --session: the run that is meant
	command  string // as it was given

	found  *control.Project // that the command was called in, where allow had to look for it
	inside bool             // another command of this process carries these out: signals are its own
}

// Begin is what precedes every command: whether it may be given, and what ends it.
func (d *Deps) Begin(cmd *cobra.Command, args []string) error {
	if cmd.Annotations[OwnSignals] == "" && !d.inside {
		cmd.SetContext(untilSignal(cmd.Context()))
	}
	d.command = given(cmd, args)
	return d.allow(cmd.Context(), cmd, args)
}

// Within carries a command line out in this process, for a program that has the
// terminal, and returns what it said.
func (d *Deps) Within(ctx context.Context, words []string) (said string, err error) {
	var out bytes.Buffer
	inner := *d
	inner.IO = IO{In: strings.NewReader(""), Out: &out, Err: &out, Env: d.Env}
	inner.inside = true
	flush := inner.GuardOutputs()
	root := d.Root(&inner)
	root.SetArgs(words)
	err = root.ExecuteContext(ctx)
	flush()
	return out.String(), err
}

// Lent carries a command line out that has the terminal to itself, and waits
// for the person to have read what it said.
func (d *Deps) Lent(ctx context.Context, words []string) error {
	inner := *d
	inner.inside = true
	flush := inner.GuardOutputs()
	root := d.Root(&inner)
	root.SetArgs(words)
	err := root.ExecuteContext(ctx)
	Report(inner.Err, err)
	flush()
	if _, _, aerr := inner.AskLine(ctx, "\nEnter goes back to the monitor. "); aerr != nil {
		return errors.Join(err, aerr)
	}
	return err
}
