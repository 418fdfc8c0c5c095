package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/origin"
	"cmux/agents/run"
)

// persons marks the commands that decide what is a person's to decide. A
// process that comes from an attempt is refused them in that attempt's own
// project.
const persons = "persons"

// aPersons marks cmd as a person's: always, or called with one of these flags.
func aPersons(cmd *cobra.Command, flags ...string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = make(map[string]string)
	}
	cmd.Annotations[persons] = "always"
	if len(flags) > 0 {
		cmd.Annotations[persons] = strings.Join(flags, " ")
	}
	return cmd
}

// decides reports whether this call of cmd is a person's to make.
func decides(cmd *cobra.Command) bool {
	switch flags := cmd.Annotations[persons]; flags {
	case "":
		return false
	case "always":
		dry := cmd.Flags().Lookup("dry-run")
		return dry == nil || dry.Value.String() != "true"
	default:
		return slices.ContainsFunc(strings.Fields(flags), cmd.Flags().Changed)
	}
}

// allow refuses a command that is a person's to a process that comes from an
// attempt of this project, and records that it was tried.
func (d *Deps) allow(ctx context.Context, cmd *cobra.Command, args []string) error {
	if !decides(cmd) {
		return nil
	}
	root, err := d.root(ctx)
	if err != nil {
		return nil // there is no project: the command says so itself
	}
	from, err := origin.Of(root)
	var refusal *run.Refusal
	if errors.As(err, &refusal) {
		return nil // the command says so itself
	}
	if err != nil || from == nil {
		return err
	}
	called := strings.Join(append([]string{cmd.CommandPath()}, args...), " ")
	what := fmt.Errorf("this is %s, started by the run, and %s is a person's to give: nothing was done, and it is recorded", from, cmd.CommandPath())
	if err := from.Refused(ctx, called); err != nil {
		what = fmt.Errorf("%w (%v)", what, err)
	}
	return &Hint{Err: what, Try: "agents: cmux blocked REASON, which asks a person; a person: the same command in a terminal that no agent started"}
}
