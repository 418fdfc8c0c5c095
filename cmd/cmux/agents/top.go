package agents

import (
	"context"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/cmd/cmux/cli"
	"cmux/cmd/cmux/top"
)

type topOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	deps    *cli.Deps
}

func newTopCmd(d *cli.Deps, runF func(context.Context, *topOptions) error) *cobra.Command {
	o := &topOptions{IO: &d.IO, Project: d.Project, deps: d}
	return &cobra.Command{
		Use:   "top",
		Short: "Open the monitor: see nodes, answer, retry, read logs and diffs",
		Long: `Open the monitor of the run. Select a node to see its state, the reason, its
attempts, checks, commits, question and log. With one key, attach to it, read its
log or diff, or answer, approve, retry, override or stop it. The window "monitor"
of the session shows the same. ? shows all keys and the command of each. q quits;
the run continues.

top needs a terminal. Without one, use cmux agents status --watch.`,
		Example: "  cmux agents top",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runTop)(cmd.Context(), o) },
	}
}

func runTop(ctx context.Context, o *topOptions) error {
	if !o.Interactive() {
		return project.Usage("cmux agents status --watch", "cmux agents top needs a terminal")
	}
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	r, err := p.Runs().Latest(ctx)
	if err != nil {
		return err
	}
	p = cli.WithoutNotes(p) // the terminal is the monitor's
	return top.Show(ctx, monitor(o.deps, p, r, false))
}
