package incidents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/overview"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type autonomyOptions struct {
	*cli.IO
	Project       cli.ProjectFunc
	For           string
	Summary, JSON bool
}

func newAutonomyCmd(d *cli.Deps, runF func(context.Context, *autonomyOptions) error) *cobra.Command {
	o := &autonomyOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "autonomy",
		GroupID: "main",
		Short:   "Show what waits for the supervisor to act on",
		Long: `Show what waits for the supervisor: tasks that are blocked, failed, open or not merged,
runs, work that nobody committed, workers with nothing to do, the backlog, and mail.
This is what a nudge of the watch says.

With --json the shape is
  {"for", "items": [{"kind", "id", "text", "try", "acts", "key"}], "reflection"}
where kind is task, run, uncommitted, stale, backlog, worker or mail, acts says that the
supervisor can act on it, key changes with what the item says, and reflection is today's
file of what the organization thinks about.`,
		Example: "  cmux autonomy --summary",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runAutonomy)(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.For, "for", "", "the supervisor that is asked about, by `NAME`; by default the one that calls, or the main one")
	cmd.Flags().BoolVar(&o.Summary, "summary", false, "only what it can act on, without the commands")
	cli.JSONFlag(cmd, &o.JSON)
	cmd.MarkFlagsMutuallyExclusive("summary", "json")
	return cmd
}

func runAutonomy(ctx context.Context, o *autonomyOptions) error {
	_, a, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) (*overview.Autonomy, error) { return p.Overview().Autonomy(ctx, o.For) })
	if done {
		return err
	}
	items := a.Items
	if o.Summary {
		items = a.Acts()
	}
	_, err = fmt.Fprint(o.Out, renderAutonomy(a, items, o.Summary))
	return err
}

func renderAutonomy(a *overview.Autonomy, items []overview.AutonomyItem, summary bool) string {
	var b strings.Builder
	if len(items) == 0 {
		fmt.Fprintf(&b, "Nothing waits for %s.\n", a.For)
	}
	for _, i := range items {
		fmt.Fprintf(&b, "- %s\n", say.Line(i.Text))
		if !summary && i.Try != "" {
			fmt.Fprintf(&b, "    %s\n", i.Try)
		}
	}
	if !summary {
		fmt.Fprintf(&b, "What to think about today: %s\n", a.Reflection)
	}
	return b.String()
}
