package setup

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/project"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type doctorOptions struct {
	*cli.IO
	Caller func() project.Caller
	JSON   bool
}

// NewDoctorCmd builds cmux doctor.
func NewDoctorCmd(d *cli.Deps, runF func(context.Context, *doctorOptions) error) *cobra.Command {
	o := &doctorOptions{IO: &d.IO, Caller: d.Caller}
	cmd := &cobra.Command{
		Use:     "doctor",
		GroupID: "main",
		Short:   "Look for problems that keep cmux from working",
		Long: `Look for problems: git, tmux, the project's folder, the disk, the configuration, the
agents' programs (installed, logged in, first screens answered), foreign files among
the markers, a run without a runner, leftover worktrees. doctor changes nothing. The
exit code is 1 if something is wrong. With --json the shape is [{"what", "ok", "detail", "try"}].`,
		Example: "  cmux doctor",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runDoctor)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runDoctor(ctx context.Context, o *doctorOptions) error {
	all := control.Examine(ctx, o.Caller())
	if err := ctx.Err(); err != nil {
		return err
	}
	wrong := 0
	for _, f := range all {
		if !f.OK {
			wrong++
		}
	}
	if o.JSON {
		if err := cli.PrintJSON(o.Out, all); err != nil {
			return err
		}
	} else {
		for _, f := range all {
			mark := "ok   "
			if !f.OK {
				mark = "WRONG"
			}
			fmt.Fprintf(o.Out, "%s  %s: %s\n", mark, f.What, f.Detail)
			if f.Try != "" {
				fmt.Fprintf(o.Out, "       try: %s\n", f.Try)
			}
		}
	}
	if wrong > 0 {
		return cli.Silent(fmt.Errorf("%s wrong", say.Count(wrong, "thing")))
	}
	return nil
}
