package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control/remains"
	"cmux/cmd/cmux/cli"
)

type changelogOptions struct {
	*cli.IO
	Project   cli.ProjectFunc
	Changelog remains.Changelog
}

func newChangelogCmd(d *cli.Deps, runF func(context.Context, *changelogOptions) error) *cobra.Command {
	o := &changelogOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:   "changelog [RUN]",
		Short: "Print what each node of a run did, as Markdown",
		Long: `Print what each node of a run did, in graph order, as Markdown: its result, branch,
commits, checks, summary and changes. RUN is the id of a run from cmux agents list,
or any unique part of it. The default is the newest run.

cmux agents cleanup writes the same text into the run's folder.`,
		Example: "  cmux agents changelog > CHANGES.md",
		Args:    cobra.MaximumNArgs(1),

		ValidArgsFunction: d.CompleteRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Changelog.Run = cli.First(args)
			return cli.Either(runF, runChangelog)(cmd.Context(), o)
		},
	}
}

func runChangelog(ctx context.Context, o *changelogOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	text, err := p.Remains().Changelog(ctx, o.Changelog)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(o.Out, text)
	return err
}
