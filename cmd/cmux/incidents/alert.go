package incidents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/cmd/cmux/cli"
)

type alertOptions struct {
	*cli.IO
	Project     cli.ProjectFunc
	Level, Text string
}

func newAlertCmd(d *cli.Deps, runF func(context.Context, *alertOptions) error) *cobra.Command {
	o := &alertOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "alert TEXT",
		GroupID: "main",
		Short:   "Call for the person",
		Long: `Call for the person in the ways that notify in .cmux/config.yml names: the terminal's
bell, the desktop, a webhook, a voice. An agent may alert 5 times in 10 minutes, all
agents together 20 times, and none says the same twice in that time. Alerts stand in
.cmux/alerts.jsonl.`,
		Example: "  cmux alert 'the release waits for your key' --level critical",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Text = strings.Join(args, " ")
			return cli.Either(runF, runAlert)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Level, "level", "warning", "info, warning or critical")
	cmd.RegisterFlagCompletionFunc("level", cobra.FixedCompletions([]string{"info", "warning", "critical"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runAlert(ctx context.Context, o *alertOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	ways, err := p.Letters().Alert(ctx, o.Level, o.Text)
	if err != nil {
		return err
	}
	text := "Nobody is called: notify in .cmux/config.yml turns every way off."
	if len(ways) > 0 {
		text = "The person is called: " + strings.Join(ways, ", ") + "."
	}
	_, err = fmt.Fprintln(o.Out, text)
	return err
}
