package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/cmd/cmux/cli"
)

type sharedOptions struct {
	*cli.IO
	Project               cli.ProjectFunc
	Restore, Accept, JSON bool
	From                  string
}

func newSharedCmd(d *cli.Deps, runF func(context.Context, *sharedOptions) error) *cobra.Command {
	o := &sharedOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "shared",
		Short: "Show and restore what all worktrees share",
		Long: `Show what has changed since the run began in what all worktrees of the
repository share: git's settings, hooks, info/ and replace objects. If a change
affects which programs git runs or where it pushes, cmux does not push, merge or
create worktrees until you decide.

--restore restores everything, and keeps the current state in a file. --restore
--from FILE brings that state back. --accept accepts the changes. With --json the
shape is [{"what", "old", "new", "undo"}].`,
		Example: "  cmux agents shared\n  cmux agents shared --restore",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runShared)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.Restore, "restore", false, "put it back as it was when the run began")
	cmd.Flags().BoolVar(&o.Accept, "accept", false, "take it as it is")
	cmd.Flags().StringVar(&o.From, "from", "", "file to restore from, which an earlier --restore named")
	cmd.MarkFlagsMutuallyExclusive("restore", "accept")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runShared(ctx context.Context, o *sharedOptions) error {
	if o.From != "" && !o.Restore {
		return project.Usage("cmux agents shared --restore --from "+o.From, "--from names what --restore brings back")
	}
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Accept {
		if err := p.Commands().AcceptShared(ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintln(o.Out, "Taken as it is.")
		return err
	}
	s, err := p.Commands().Shared(ctx, o.From)
	if err != nil {
		return err
	}
	if o.Restore {
		return o.restore(ctx, p, s)
	}
	return o.show(s)
}

func (o *sharedOptions) show(s *commands.Shared) error {
	type line struct {
		What string `json:"what"`
		Old  string `json:"old"`
		New  string `json:"new"`
		Undo string `json:"undo"`
	}
	if o.JSON {
		lines := make([]line, len(s.Changes))
		for i, c := range s.Changes {
			lines[i] = line{c.What(), c.Old, c.New, c.Undo}
		}
		return cli.PrintJSON(o.Out, lines)
	}
	if len(s.Changes) == 0 {
		_, err := fmt.Fprintf(o.Out, "Nothing has changed since run %s began.\n", s.Run)
		return err
	}
	for _, c := range s.Changes {
		fmt.Fprintln(o.Out, c)
	}
	_, err := fmt.Fprintln(o.Err, "Put it back with: cmux agents shared --restore; take it as it is with: cmux agents shared --accept")
	return err
}

func (o *sharedOptions) restore(ctx context.Context, p *control.Project, s *commands.Shared) error {
	if len(s.Changes) == 0 {
		_, err := fmt.Fprintln(o.Out, "There is nothing to restore.")
		return err
	}
	done, err := p.Commands().RestoreShared(ctx, s)
	if done == nil {
		return err
	}
	for _, c := range done.Changes {
		old := c.Old
		if old == "" {
			old = "none"
		}
		fmt.Fprintf(o.Out, "Put back %s: %s\n", c.What(), old)
	}
	fmt.Fprintf(o.Out, "What was there is kept: cmux agents shared --restore --from %s\n", done.Kept)
	return err
}
