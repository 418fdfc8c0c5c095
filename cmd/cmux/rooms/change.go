package rooms

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/cmd/cmux/cli"
)

type inviteOptions struct {
	roomOptions
	Member, Guest string
	Pane          bool
}

func newInviteCmd(d *cli.Deps, runF func(context.Context, *inviteOptions) error) *cobra.Command {
	o := &inviteOptions{roomOptions: roomOptions{IO: &d.IO, Project: d.Project}}
	cmd := &cobra.Command{
		Use:   "invite ROOM [KIND[=NAME][:ROLE]]",
		Short: "Have another member or a guest join a room",
		Long: `Have another member join a room, with the last messages to all; or with --guest an agent of
the organization. A guest gets what is said as mail and speaks with cmux rooms say. The room
never waits for it.`,
		Example: "  cmux rooms invite design codex:reviewer\n  cmux rooms invite design --guest supervisor",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Room = args[0]; len(args) > 1 {
				o.Member = args[1]
			}
			if (o.Member == "") == (o.Guest == "") {
				return project.Usage("", "name either a member or --guest AGENT")
			}
			return cli.Either(runF, runInvite)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cmd.Flags().StringVar(&o.Guest, "guest", "", "the `AGENT` of the organization")
	cmd.Flags().BoolVar(&o.Pane, "pane", false, "give the member a window of tmux")
	return cmd
}

func runInvite(ctx context.Context, o *inviteOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	who := o.Member + o.Guest
	remarks, err := p.Rooms().Invite(ctx, o.Room, who, o.Guest != "", o.Pane)
	for _, remark := range remarks {
		fmt.Fprintf(o.Err, "cmux: %s\n", remark)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s joins %s.\n", who, o.Room)
	return err
}

func newDismissCmd(d *cli.Deps, runF func(context.Context, *roomOptions, string) error) *cobra.Command {
	o := &roomOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:     "dismiss ROOM NAME",
		Short:   "Have a member or a guest leave a room",
		Example: "  cmux rooms dismiss design codex",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			if runF != nil {
				return runF(cmd.Context(), o, args[1])
			}
			p, err := o.Project(cmd.Context())
			if err != nil {
				return err
			}
			if err := p.Rooms().Dismiss(cmd.Context(), o.Room, args[1]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(o.Out, "%s leaves %s.\n", args[1], o.Room)
			return err
		},
		ValidArgsFunction: d.CompleteRoom,
	}
}

func newSetCmd(d *cli.Deps, runF func(context.Context, *roomOptions, []string) error) *cobra.Command {
	o := &roomOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "set ROOM KEY=VALUE...",
		Short: "Change the settings of a room",
		Long: "Change the settings of a room. The keys are " + strings.Join(rooms.Keys(), ", ") + `.
share is all, or tagged: what stands outside of <Share> is then for you alone. on-parse is
ask or stop. With --json the shape is that of cmux rooms show.`,
		Example: "  cmux rooms set design turns=2 tokens=200k",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			if runF != nil {
				return runF(cmd.Context(), o, args[1:])
			}
			p, err := o.Project(cmd.Context())
			if err != nil {
				return err
			}
			v, err := p.Rooms().Set(cmd.Context(), o.Room, args[1:])
			if err != nil {
				return err
			}
			if o.JSON {
				return cli.PrintJSON(o.Out, v)
			}
			_, err = fmt.Fprintf(o.Out, "%s: set.\n", o.Room)
			return err
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func newRemoveCmd(d *cli.Deps, runF func(context.Context, *roomOptions) error) *cobra.Command {
	o := &roomOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:     "remove ROOM",
		Short:   "Close a room and move it, with its members, to the archives",
		Example: "  cmux rooms remove design",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			return cli.Either(runF, runRemove)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
}

func runRemove(ctx context.Context, o *roomOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	archive, err := p.Rooms().Remove(ctx, o.Room)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s is removed. What was said is in %s.\n", o.Room, archive)
	return err
}

type exportOptions struct {
	roomOptions
	Format string
}

func newExportCmd(d *cli.Deps, runF func(context.Context, *exportOptions) error) *cobra.Command {
	o := &exportOptions{roomOptions: roomOptions{IO: &d.IO, Project: d.Project}}
	cmd := &cobra.Command{
		Use:     "export ROOM",
		Short:   "Write a room as Markdown or JSON",
		Long:    "Write a room as Markdown, or with --format json as its facts, a line each.",
		Example: "  cmux rooms export design > design.md",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			return cli.Either(runF, runExport)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cmd.Flags().StringVar(&o.Format, "format", "md", "md or json")
	return cmd
}

func runExport(ctx context.Context, o *exportOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	switch o.Format {
	case "json":
		lines, _, err := p.Rooms().Lines(o.Room)
		for i := range lines {
			if err == nil {
				err = cli.PrintLine(o.Out, &lines[i])
			}
		}
		return err
	case "md":
		text, err := p.Rooms().Export(o.Room)
		if err == nil {
			_, err = io.WriteString(o.Out, text)
		}
		return err
	}
	return project.Usage("", "--format %s: md and json are formats", o.Format)
}
