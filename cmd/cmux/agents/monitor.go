package agents

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/charmbracelet/log"
	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/machines"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/cmd/cmux/cli"
	"cmux/cmd/cmux/top"
	"cmux/dag"
	"cmux/worktree/hint"
)

// monitor is what the monitor of r needs of this process.
func monitor(d *cli.Deps, p *control.Project, r *run.Run, stays bool) top.Options {
	p.Session, d.Session = r.Plan.Graph.Session, r.Plan.Graph.Session // what it orders is meant for r
	in, _ := cli.Terminal(d.In)
	out, _ := cli.Terminal(d.Out)
	return top.Options{
		Project: p, Run: r, In: in, Out: out, Color: d.Color(), Mux: d.Getenv("TMUX"), Stays: stays,
		Do: d.Within, Lend: d.Lent,
	}
}

// accompany shows r in the terminal until hide is called, for the process that
// carries it. What goes wrong with it is no matter of the run's. The last table
// stays on the screen.
func accompany(ctx context.Context, d *cli.Deps, r *run.Run, logger *log.Logger) (hide func()) {
	ctx, cancel := context.WithCancel(ctx)
	shown := make(chan error, 1)
	go func() {
		w := &watching{IO: &d.IO, now: d.Now}
		if !d.Interactive() {
			shown <- w.show(ctx, r)
			return
		}
		p := cli.WithoutNotes(&control.Project{Project: project.Project{Caller: d.Caller(), Root: r.Plan.Root}}) // the terminal is the monitor's
		err := top.Show(ctx, monitor(d, p, r, true))
		if err != nil && ctx.Err() == nil {
			logger.Error("the monitor failed", "err", err)
			fmt.Fprintf(d.Err, "cmux: the monitor failed, but the run continues: %v\n", err)
			err = w.show(ctx, r)
		}
		shown <- err
	}()
	return func() {
		cancel()
		if err := <-shown; err != nil && !errors.Is(err, context.Canceled) {
			logger.Error("the run could not be shown", "err", err)
		}
		if v, err := r.View(context.WithoutCancel(ctx), d.Now()); err == nil {
			fmt.Fprint(d.Out, renderStatus(v, d.Now(), d.Look()))
		}
	}
}

// newRunCmd is the process of the monitor window: the runner, and the monitor
// that shows it.
func newRunCmd(d *cli.Deps) *cobra.Command {
	var dir, how, launch string
	cmd := &cobra.Command{
		Use:    "run",
		Hidden: true,
		Short:  "Carry a run to its end (for cmux itself)",
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := run.OpenDir(dir)
			if err != nil {
				return err
			}
			if err := runner.AdoptEnv(r); err != nil {
				return err
			}
			d.Env = os.Environ() // what this process shows is for the person who started the run
			logFile, err := commands.RunnerLog(r)
			if err != nil {
				return err
			}
			defer logFile.Close()
			logger := commands.RunnerLogger(logFile)
			hide := accompany(cmd.Context(), d, r, logger)
			o := runner.Options{How: how, Kinds: d.Kinds, Server: runner.Server(r), Pane: os.Getenv("TMUX_PANE"), Launch: launch, Log: logger, Stay: true, Far: machines.Wrap(r)}
			state, err := commands.Carried(cmd.Context(), r, o)
			hide()
			if err != nil {
				logger.Error("the runner failed", "err", err)
				return err
			}
			fmt.Fprintf(d.Out, "\nRun %s: %s.\n", r.Plan.ID, state)
			if state == dag.RunFailed {
				return cli.Silent(runs.ErrUnfinished)
			}
			if state != dag.RunDone {
				return hint.New(errors.New("the runner has left"), "cmux agents resume")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "run", "", "folder of the run")
	cmd.Flags().StringVar(&how, "how", runner.HowStart, "start or resume")
	cmd.Flags().StringVar(&launch, "launch", "", "names the start or resume, so that a respawned runner knows")
	return cmd
}
