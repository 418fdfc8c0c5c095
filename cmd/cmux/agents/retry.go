package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/cmd/cmux/cli"
)

type retryOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	commands.Retry
	launch  launchFunc
	NoStart bool
	Failed  bool // all that have failed
}

func newRetryCmd(d *cli.Deps, runF func(context.Context, *retryOptions) error) *cobra.Command {
	o := &retryOptions{IO: &d.IO, Project: d.Project, launch: launcher(d)}
	cmd := &cobra.Command{
		Use:   "retry NAME | --failed",
		Short: "Retry a node, and the nodes that it blocked",
		Long: `Run a node again that has ended or was lost, in the worktree that it left, and then
the nodes that it blocked. With --downstream, also rerun the done nodes that depend
on it. With --fresh, save its work and start from the base. If an agent's program
ended without a report, the agent continues its conversation. Removing the marker
of a failed node does the same as retry. If NAME is a matrix, all its failed nodes run
again.

retry uses the node's current task, scope, context, checks, timeouts, budget, model
and environment from the configuration, and says what changed. Changes to
depends_on, when, role, branch or agent need cmux agents update. With --frozen,
retry ignores the edited configuration.

retry acts at once. If the run has no runner, retry starts one: in the run's tmux
session, or inside this command if the run is headless.`,
		Example:           "  cmux agents retry api --fresh",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && !o.Failed:
				return project.Usage("cmux agents retry NAME, or --failed for all that have failed", "retry needs the name of a node")
			case len(args) > 0 && o.Failed:
				return project.Usage("cmux agents retry "+args[0]+", or cmux agents retry --failed", "a name and --failed do not go together")
			case len(args) > 0:
				o.Node = args[0]
			}
			return cli.Either(runF, runRetry)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Downstream, "downstream", false, "also rerun the done nodes that depend on it")
	cmd.Flags().BoolVar(&o.Fresh, "fresh", false, "save its work and start from the base")
	cmd.Flags().BoolVar(&o.Failed, "failed", false, "retry every failed node")
	cmd.Flags().BoolVar(&o.Frozen, "frozen", false, "ignore the edited configuration")
	noStart(cmd, &o.NoStart)
	return cmd
}

func runRetry(ctx context.Context, o *retryOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	p.Start = !o.NoStart
	retry := p.Commands().RetryNamed
	if o.Failed {
		retry = p.Commands().RetryFailed
	}
	all, err := retry(ctx, o.Retry)
	var orders []commands.Taken
	for _, res := range all {
		orders = append(orders, res.Taken)
		if terr := o.tell(res); terr != nil {
			return terr
		}
	}
	if err != nil {
		return err
	}
	return o.launch.goOn(ctx, orders...)
}

// tell says what a retry came to.
func (o *retryOptions) tell(res *commands.Retried) error {
	o.TellNote(res.Taken)
	var b strings.Builder
	for _, n := range res.GoesOn {
		fmt.Fprintf(&b, "%s: continues its conversation (was %s)\n", n.Node, n.Label)
	}
	for k, n := range res.Again {
		what := "runs again"
		if n.Waits != "" {
			what = n.Waits
		}
		fmt.Fprintf(&b, "%s: %s (was %s)\n", n.Node, what, n.Label)
		if k > 0 {
			continue
		}
		if o.Fresh {
			fmt.Fprintf(&b, "%s: what is in its worktree is saved first: cmux snapshots list\n", n.Node)
		}
		if res.Takes != "" {
			fmt.Fprintf(&b, "%s: takes from the edited configuration: %s\n", n.Node, res.Takes)
		}
		if rest := res.Rest(); rest != "" {
			fmt.Fprintf(&b, "%s: %s\n", n.Node, rest)
		}
	}
	if retried := slices.Concat(res.GoesOn, res.Again); len(retried) > 0 {
		for _, n := range res.Unblocked {
			fmt.Fprintf(&b, "%s: no longer blocked by %s\n", n.Node, retried[0].Node)
		}
	}
	for _, m := range res.Moved {
		fmt.Fprintf(&b, "%s: %s\n", m.Node, m.Detail)
	}
	_, err := fmt.Fprint(o.Out, &b)
	return err
}
