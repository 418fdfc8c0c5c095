package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/runview"
	"cmux/cmd/cmux/cli"
)

type resumeOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	launch  launchFunc
	Update  bool // take the edited configuration in
	Yes     bool
	Detach  bool
	NoStart bool
}

func newResumeCmd(d *cli.Deps, runF func(context.Context, *resumeOptions) error) *cobra.Command {
	o := &resumeOptions{IO: &d.IO, Project: d.Project, launch: launcher(d)}
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Resume a run that was stopped or lost its runner",
		Long: `Resume the run after a stop, a crash or a reboot. Lost nodes run again.

With --update, resume first applies the edited configuration, as cmux agents update
does.`,
		Example: "  cmux agents resume --update",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runResume)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.Detach, "detach", false, "do not attach to the session (the default without a terminal)")
	cmd.Flags().BoolVar(&o.Update, "update", false, "apply the edited configuration first")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask about an update")
	return cmd
}

// newUpdateCmd is resume with --update under the name that people look for.
func newUpdateCmd(d *cli.Deps, runF func(context.Context, *resumeOptions) error) *cobra.Command {
	o := &resumeOptions{IO: &d.IO, Project: d.Project, launch: launcher(d), Update: true}
	cmd := &cobra.Command{
		Use:   "update",
		Short: "Apply the edited configuration to a run",
		Long: `Apply the edited configuration to the run, live or not. update shows the
changes and the graph, and asks. Done nodes stay done. Running nodes finish with
their old definition. All others use the new one from their next attempt on. New
nodes join the run. Removed nodes leave it: update ends their agents, but their
branches and worktrees stay. If the run has no runner, update starts one.

While commands of a headless run are running, it takes no update: stop it first.`,
		Example: "  cmux agents update --yes",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runResume)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.Detach, "detach", false, "do not attach to the session (the default without a terminal)")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	noStart(cmd, &o.NoStart)
	return cmd
}

func runResume(ctx context.Context, o *resumeOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Update {
		if took, err := o.update(ctx, p); took || err != nil {
			return err
		}
	}
	v, err := p.Commands().Resumable(ctx)
	if err != nil {
		return err
	}
	if err := p.Commands().Resume(v); err != nil {
		return err
	}
	return o.launch(ctx, commands.Launch{Run: v.Run, Resumed: true}, o.Detach)
}

// update shows what the configuration on disk would change in a run, asks, and
// applies the change. took is false if the caller still has to resume the run:
// nothing has changed, the run is not over, and it has no runner.
func (o *resumeOptions) update(ctx context.Context, p *control.Project) (took bool, err error) {
	v, err := p.Commands().Updatable(ctx)
	if err != nil {
		return false, err
	}
	u, err := p.Commands().PlanUpdate(ctx, v)
	if err != nil {
		return false, err
	}
	if len(u.Changes) == 0 {
		_, err := fmt.Fprintln(o.Out, "The configuration has not changed: nothing to update.")
		return v.Holder != nil || runview.Over(v), err
	}
	rows := make([][]string, len(u.Changes))
	for i, c := range u.Changes {
		rows[i] = []string{c.Name, c.What, c.Then}
	}
	columns := []cli.Column{{Head: "NODE"}, {Head: "CHANGE", Give: 1, Least: 20}, {Head: "THEN"}}
	if _, err := fmt.Fprintf(o.Out, "%s\n", cli.Table(columns, rows, o.Width(), o.Color())); err != nil {
		return false, err
	}
	if err := u.Draw(o.Out); err != nil {
		return false, err
	}
	if err := o.Confirm(ctx, o.Yes, "Apply this?"); err != nil {
		return false, err
	}
	p.Start = !o.NoStart
	t, err := p.Commands().Update(ctx, u)
	if err != nil {
		return false, err
	}
	o.TellNote(t)
	if t.Launch != nil { // it comes with what the run does now
		return true, o.launch.goOn(ctx, t)
	}
	said := "Updated."
	if !t.Done {
		said = "The update takes effect at the next cmux agents resume."
	}
	_, err = fmt.Fprintln(o.Out, said)
	return true, err
}
