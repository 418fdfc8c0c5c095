package main

import (
	"context"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/cmd/cmux/top"
)

type topOptions struct {
	*IO
	Project projectFunc
	deps    *Deps
}

func newTopCmd(d *Deps, runF func(context.Context, *topOptions) error) *cobra.Command {
	o := &topOptions{IO: &d.IO, Project: d.project, deps: d}
	return &cobra.Command{
		Use:   "top",
		Short: "Work in the run: see each node, answer, retry, read logs and diffs",
		Long: `Show the newest run as it goes on, and work in it: select a node and see beside it
why it stands so, its attempts, checks, commits, question and log; attach to it,
read its log or its diff, answer, approve, retry, override or stop it with a key.
The monitor window of the session shows the same. ? shows all keys, and the
command that each equals. Leave with q; the run goes on.

It needs a terminal. Without one: cmux agents status --watch.`,
		Example: "  cmux agents top",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return either(runF, runTop)(cmd.Context(), o) },
	}
}

func runTop(ctx context.Context, o *topOptions) error {
	if !o.interactive() {
		return control.Usage("cmux agents status --watch", "cmux agents top needs a terminal")
	}
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	r, err := p.Latest(ctx)
	if err != nil {
		return err
	}
	p.Note = nil // the terminal is the monitor's
	return top.Show(ctx, o.deps.monitor(p, r, false))
}
