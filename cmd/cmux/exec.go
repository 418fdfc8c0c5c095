package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/kinds/agent"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/agents/runs/wrapper"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
)

// newExecCmd is the process of a node's pane (see package wrapper).
func newExecCmd(all agent.Kinds) *cobra.Command {
	var o wrapper.Options
	cmd := &cobra.Command{
		Use:         "exec NAME | exec --spare",
		Hidden:      true,
		Short:       "Carry one attempt of a node out (for cmux itself)",
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{cli.OwnSignals: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Kinds = all
			if o.Spare != (len(args) == 0) {
				return fmt.Errorf("%w: exec takes either a node or --spare", project.ErrUsage)
			}
			if !o.Spare {
				o.Node = args[0]
			}
			o.Orphaned = func(ctx context.Context) error { return commands.Revive(ctx, o.RunDir) }
			if code := wrapper.Main(cmd.Context(), o); code != 0 {
				return cli.Silent(cli.ExitStatus(code))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.RunDir, "run", "", "folder of the run")
	cmd.Flags().IntVar(&o.Attempt, "attempt", 0, "number of the attempt")
	cmd.Flags().BoolVar(&o.Spare, "spare", false, "wait at the terminal to be told which")
	return cmd
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
			o := runner.Options{How: how, Kinds: d.Kinds, Server: runner.Server(r), Pane: os.Getenv("TMUX_PANE"), Launch: launch, Log: logger, Stay: true}
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
				return &project.Hint{Err: errors.New("the runner has left"), Try: "cmux agents resume"}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "run", "", "folder of the run")
	cmd.Flags().StringVar(&how, "how", runner.HowStart, "start or resume")
	cmd.Flags().StringVar(&launch, "launch", "", "names the start or resume, so that a respawned runner knows")
	return cmd
}
