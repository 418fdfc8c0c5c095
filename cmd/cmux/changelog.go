package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
)

type changelogOptions struct {
	*IO
	Project   projectFunc
	Changelog control.Changelog
}

func newChangelogCmd(d *Deps, runF func(context.Context, *changelogOptions) error) *cobra.Command {
	o := &changelogOptions{IO: &d.IO, Project: d.project}
	return &cobra.Command{
		Use:   "changelog [RUN]",
		Short: "Say in Markdown what each node of a run did",
		Long: `Print what each node of a run did, in graph order, as Markdown: how it ended, its
branch and commits, checks, what its agent said, and what it changed. RUN is the
id of a run, as cmux agents list shows it; without one it is the newest.

cmux agents cleanup leaves the same in the run's folder.`,
		Example: "  cmux agents changelog > CHANGES.md",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Changelog.Run = args[0]
			}
			return either(runF, runChangelog)(cmd.Context(), o)
		},
	}
}

func runChangelog(ctx context.Context, o *changelogOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	text, err := p.Changelog(ctx, o.Changelog)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(o.Out, text)
	return err
}
