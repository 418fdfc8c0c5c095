package incidents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/health"
	"cmux/agents/org/recovery"
	"cmux/agents/platform/say"
	"cmux/agents/records/incident"
	"cmux/cmd/cmux/cli"
)

const recoverShape = `  {"command", "tree", "rollback", "healthy", "healthy_at", "fails", "checked_at",
   "recovery": {"id", "began_at", "by", "incident", "step", "output", "broken", "branch", "tries":
     [{"commit", "branch", "ok", "detail", "at"}], "on", "best", "blamed", "end", "detail", "ended_at"},
   "plan": {"healthy", "output", "restart", "refused", "older", "range"}}
where recovery is the newest, plan what --dry-run found, and each may be null; healthy is the
last commit on which the check passed, fails how often it failed in a row, and blamed the
first commit on which it fails.`

type recoverOptions struct {
	*cli.IO
	Project      cli.ProjectFunc
	DryRun, JSON bool
	Do           string // now, undo; empty: tell
}

func newRecoverCmd(d *cli.Deps, runF func(context.Context, *recoverOptions) error) *cobra.Command {
	o := &recoverOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "recover",
		GroupID: "main",
		Short:   "Look at the project's health, and what a recovery did",
		Long: `Show how healthy the project is, by health.command in .cmux/config.yml, and what the
newest recovery did. With --dry-run, run the check and say what a recovery would do; it
changes nothing.

When the check has failed three times in a row, cmux recovers the project by itself: it
restarts what health.restart says; where health.rollback is on, it then checks out the last
healthy commit in health.tree, on a branch of its own. See cmux help health. With --json
the shape is
` + recoverShape,
		Example: "  cmux recover --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runRecover)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "run the check, and say what a recovery would do")
	cli.JSONFlag(cmd, &o.JSON)
	cmd.AddCommand(
		newRecoverOrderCmd(d, "now", "Recover the project now, without waiting for three failures",
			`Recover the project now, without waiting for three failures in a row, or continue a
recovery that was cut off. cmux leaves a healthy project as it is. The --json shape is
that of cmux recover.`, nil),
		newRecoverOrderCmd(d, "undo", "Go back to where the newest rollback found the project",
			`Check out in health.tree what was checked out there before the newest rollback. What is
there uncommitted is saved first. cmux does not roll back the same commit again. The --json
shape is that of cmux recover.`, nil),
		newRecoverLogCmd(d, nil))
	return cmd
}

func newRecoverOrderCmd(d *cli.Deps, use, short, long string, runF func(context.Context, *recoverOptions) error) *cobra.Command {
	o := &recoverOptions{IO: &d.IO, Project: d.Project, Do: use}
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: "  cmux recover " + use, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runRecover)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runRecover(ctx context.Context, o *recoverOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	note := func(text string) { fmt.Fprintln(o.Err, "cmux: "+say.Line(text)) }
	var r *health.Recovery
	switch {
	case o.Do == "now":
		r, err = p.Health().RecoverNow(ctx, note)
	case o.Do == "undo":
		r, err = p.Health().UndoRecovery(ctx, note)
	case o.DryRun:
		r, err = p.Health().PreviewRecovery(ctx)
	default:
		r, err = p.Health().State()
	}
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, r)
	}
	_, err = fmt.Fprint(o.Out, renderRecovery(r))
	return err
}

// renderRecovery is how the health stands. It is pure.
func renderRecovery(r *health.Recovery) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, say.Line(value))
		}
	}
	if r.Command == "" {
		return "Nothing says how the health of this project is told: health: in .cmux/config.yml (cmux help organization-config).\n"
	}
	row("Check", r.Command)
	row("Tree", r.Tree)
	switch {
	case r.CheckedAt == nil:
		row("Health", "not looked at yet")
	case r.Fails > 0:
		row("Health", fmt.Sprintf("failed %s in a row, last at %s", say.Count(r.Fails, "time"), r.CheckedAt.Local().Format("15:04:05")))
	default:
		row("Health", "healthy at "+r.CheckedAt.Local().Format("15:04:05"))
	}
	if r.HealthyAt != nil {
		row("Last good", recovery.Short(r.Healthy)+" at "+r.HealthyAt.Local().Format("2006-01-02 15:04:05"))
	}
	if r.Run != nil {
		row("Recovery", r.Run.ID+": "+r.Run.Line())
		row("Incident", r.Run.Incident)
		if r.Run.Blamed != "" {
			row("Culprit", recovery.Short(r.Run.Blamed))
		}
	}
	if r.Plan != nil {
		b.WriteString("\n" + renderPlan(r.Plan))
	}
	return b.String()
}

func renderPlan(p *recovery.Preview) string {
	if p.Healthy {
		return "The check passes: there is nothing to recover.\n"
	}
	var b strings.Builder
	if p.Output != "" {
		fmt.Fprintf(&b, "The check fails:\n%s\n\n", strings.TrimRight(say.Lines(p.Output), "\n"))
	}
	b.WriteString("A recovery would now:\n")
	if p.Restart != "" {
		fmt.Fprintf(&b, "  restart: %s\n", say.Line(p.Restart))
	}
	if p.Refused != "" {
		fmt.Fprintf(&b, "  check nothing out: %s\n", say.Line(p.Refused))
		return b.String()
	}
	for n, c := range p.Older {
		what := "else try"
		if n == 0 {
			what = "try the last healthy commit,"
		}
		fmt.Fprintf(&b, "  %s %s\n", what, recovery.Short(c))
	}
	if n := len(p.Range); n > 1 {
		fmt.Fprintf(&b, "  bisect the %d commits since the last healthy one\n", n)
	}
	return b.String()
}

func newRecoverLogCmd(d *cli.Deps, runF func(context.Context, *recoverOptions) error) *cobra.Command {
	o := &recoverOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "log", Short: "Show what recoveries did", Args: cobra.NoArgs,
		Long:    "Show the incidents of the project's health, oldest first, with what was done about each.\nWith --json each has the shape of cmux incidents show.",
		Example: "  cmux recover log",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runRecoverLog)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runRecoverLog(ctx context.Context, o *recoverOptions) error {
	_, all, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) ([]*incident.Incident, error) { return p.Health().HealthLog() })
	if done {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "The project's health had no incident.")
		return err
	}
	for n, i := range all {
		if n > 0 {
			fmt.Fprintln(o.Out)
		}
		if _, err := fmt.Fprint(o.Out, renderIncident(i)); err != nil {
			return err
		}
	}
	return nil
}
