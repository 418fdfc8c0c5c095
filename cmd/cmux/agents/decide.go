package agents

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"cmux/agents/control/commands"
	"cmux/cmd/cmux/cli"
)

type decideOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Node    string

	launch  launchFunc
	NoStart bool

	decide func(*commands.Commands, context.Context, commands.Decision) (commands.Taken, error)
	said   string // the result, as printed
}

func newApproveCmd(d *cli.Deps, runF func(context.Context, *decideOptions) error) *cobra.Command {
	cmd := newDecideCmd(d, &decideOptions{decide: (*commands.Commands).Approve, said: "approved"}, runF)
	cmd.Use, cmd.Short = "approve NAME", "Approve a gate"
	cmd.Long = "Approve a gate: the nodes that depend on it may start. `touch\n.cmux/signals/NAME.done` does the same, unless the gate has `approve: code`. Only this\ncommand opens such a gate, in your own terminal: it shows a code there and asks you\nto type it."
	cmd.Example = "  cmux agents approve release"
	cmd.ValidArgsFunction = d.CompleteGate
	return cmd
}

func newOverrideCmd(d *cli.Deps, runF func(context.Context, *decideOptions) error) *cobra.Command {
	cmd := newDecideCmd(d, &decideOptions{decide: (*commands.Commands).Override, said: "done by override"}, runF)
	cmd.Use, cmd.Short = "override NAME", "Make a node done, whatever its own result is"
	cmd.Long = "Make a node done, whatever its own result is. Its dependents may start, from its\nbranch as it is now. An agent that is still running keeps running. `touch\n.cmux/signals/NAME.done` does the same. A gate with `approve: code` asks for a code,\nas approve does, and no marker opens it."
	cmd.Example = "  cmux agents override api"
	return cmd
}

func newReleaseCmd(d *cli.Deps, runF func(context.Context, *decideOptions) error) *cobra.Command {
	cmd := newDecideCmd(d, &decideOptions{decide: (*commands.Commands).Release, said: "released"}, runF)
	cmd.Use, cmd.Short = "release NAME", "Give an agent back that you took over, or end a limit early"
	cmd.Long = "Give back an agent that you took over by typing to it. cmux then checks and reminds\nit again. If NAME is limited, its account is tried now and not when the limit ends, in\nall your runs. One node of each run goes first."
	cmd.Example = "  cmux agents release api"
	return cmd
}

// newDecideCmd is a command that decides one thing of one node.
func newDecideCmd(d *cli.Deps, o *decideOptions, runF func(context.Context, *decideOptions) error) *cobra.Command {
	o.IO, o.Project, o.launch = &d.IO, d.Project, launcher(d)
	cmd := &cobra.Command{
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node = args[0]
			return cli.Either(runF, runDecide)(cmd.Context(), o)
		},
	}
	noStart(cmd, &o.NoStart)
	return cmd
}

// noStart is the flag of an order that starts a runner where there is none.
func noStart(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "no-start", false, "do not start a runner: wait for cmux agents resume")
}

// goOn runs a headless run to its end if one of the orders needs a runner, and
// returns why that runner refused an order. If another runner was started
// first, goOn waits until that runner has carried out the orders.
func (f launchFunc) goOn(ctx context.Context, orders ...commands.Taken) error {
	if len(orders) == 0 || orders[len(orders)-1].Launch == nil {
		return nil
	}
	err := f(ctx, *orders[len(orders)-1].Launch, true)
	if errors.Is(err, commands.ErrInterrupted) {
		return err
	}
	if commands.Overtaken(err) { // the run has got a runner meanwhile, such as that of its start
		err = nil
		for i := range orders {
			if orders[i].Launch != nil {
				err = errors.Join(err, orders[i].Settled(ctx))
			}
		}
		return err
	}
	for i := range orders {
		// How the run stands was shown: that an order did not count comes first.
		if refused := orders[i].Refused(); refused != nil {
			return refused
		}
	}
	return err
}

func runDecide(ctx context.Context, o *decideOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	p.Start = !o.NoStart
	t, err := o.decide(p.Commands(), ctx, commands.Decision{Node: o.Node, Prove: typeCode})
	if err != nil {
		return err
	}
	if err := o.TellTaken(o.Node, o.said, t); err != nil {
		return err
	}
	return o.launch.goOn(ctx, t)
}
