package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/run"
)

type resumeOptions struct {
	*IO
	Project projectFunc
	launch  launchFunc
	Update  bool // take the edited configuration in
	Yes     bool
	Detach  bool
}

func newResumeCmd(d *Deps, runF func(context.Context, *resumeOptions) error) *cobra.Command {
	o := &resumeOptions{IO: &d.IO, Project: d.project, launch: d.launch}
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Go on with a run that was stopped or lost its runner",
		Long: `Go on with the newest run: after a stop, a crash, a reboot, or with what retry
asked of a run that had ended. Nodes that were lost are done again.

With --update the edited configuration is frozen anew: done nodes stay, all
others take their new definition at their next attempt. What changes is shown
and asked about.`,
		Example: "  cmux agents resume --update",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return either(runF, runResume)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.Detach, "detach", false, "do not attach to the session (the default without a terminal)")
	cmd.Flags().BoolVar(&o.Update, "update", false, "freeze the edited configuration anew")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask about an update")
	return cmd
}

// newUpdateCmd is resume with --update under the name that people look for.
func newUpdateCmd(d *Deps, runF func(context.Context, *resumeOptions) error) *cobra.Command {
	o := &resumeOptions{IO: &d.IO, Project: d.project, launch: d.launch, Update: true}
	cmd := &cobra.Command{
		Use:   "update",
		Short: "Take the edited configuration into a run, and go on with it",
		Long: `Freeze the edited configuration of the newest run anew and go on with the run:
done nodes stay, all others take their new definition at their next attempt, new
ones join, removed ones go. What changes is shown and asked about. A run that a
runner carries is stopped first: cmux agents stop.`,
		Example: "  cmux agents update --yes",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return either(runF, runResume)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.Detach, "detach", false, "do not attach to the session (the default without a terminal)")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask about what changes")
	return cmd
}

func runResume(ctx context.Context, o *resumeOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	v, err := p.Resumable(ctx, o.Update)
	if err != nil {
		return err
	}
	if o.Update {
		changed, err := o.update(ctx, p, v)
		if err != nil || !changed && control.Over(v) && len(v.Pending) == 0 {
			return err // there is nothing to go on with
		}
	}
	if err := p.Resume(v); err != nil {
		return err
	}
	return o.launch(ctx, control.Launch{Run: v.Run, Resumed: true}, o.Detach)
}

// update shows what the configuration on disk would change in a run and, after
// asking, freezes it. It reports whether there was anything.
func (o *resumeOptions) update(ctx context.Context, p *control.Project, v *run.View) (changed bool, err error) {
	u, err := p.PlanUpdate(v)
	if err != nil {
		return false, err
	}
	if len(u.Changes) == 0 {
		_, err := fmt.Fprintln(o.Out, "The configuration says what the plan says: nothing to update.")
		return false, err
	}
	rows := make([][]string, len(u.Changes))
	for i, c := range u.Changes {
		rows[i] = []string{c.Name, c.What, c.Then}
	}
	columns := []column{{head: "NODE"}, {head: "CHANGE", give: 1, least: 20}, {head: "THEN"}}
	if _, err := fmt.Fprint(o.Out, table(columns, rows, o.width(), o.colour())); err != nil {
		return false, err
	}
	if err := o.confirm(ctx, o.Yes, "Freeze this?"); err != nil {
		return false, err
	}
	return true, u.Freeze(ctx)
}
