// Package locks has the commands of locks: names that only one process or agent
// may hold at a time.
package locks

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"cmux/agents/control/project"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/locking"
	"cmux/agents/kinds/agent"
	"cmux/agents/runs/attempt"
	"cmux/cmd/cmux/cli"
)

// NewCmd builds cmux locks and its commands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "locks",
		GroupID: "main",
		Short:   "Named resources that only one may use at a time",
		Long: `Locks of names that you choose: a database, a port, a device. They keep nobody from
anything who does not ask for them. A lock of an agent ends with the agent's life at the
latest, one that was taken with a command ends with the command, and yours when you
release it. Who waits gets it in turn.`,
		Example: "  cmux locks list",
	}
	cmd.AddCommand(newLockTakeCmd(d, nil), newLockWithCmd(d, nil), newLocksListCmd(d, nil),
		newLockEndCmd(d, "release", "Release a lock", "Release a lock that you have.", "released", (*locking.Locks).Release),
		newLockEndCmd(d, "break", "Break a lock, whoever has it", "Break a lock, whoever has it. An agent that had it is told.", "broken", (*locking.Locks).Break))
	return cmd
}

type lockOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	locking.TakeLock
	Argv []string
	JSON bool

	// Outside gives an order through the wrapper of an agent in a fence; nil: there is none.
	Outside func(ctx context.Context, words []string) (code int, ok bool, err error)
}

// waitFlags are those of a wish for a lock.
func (o *lockOptions) waitFlags(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&o.Wait, "wait", o.Wait, "how long to wait while somebody else has it; -1s: as long as it takes")
	cmd.Flags().StringVar(&o.Note, "note", "", "what it is for, which the others see")
}

func newLockTakeCmd(d *cli.Deps, runF func(context.Context, *lockOptions) error) *cobra.Command {
	o := &lockOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "take NAME",
		Short:   "Take a lock",
		Long:    "Take a lock. Without --wait the command fails when somebody else has it. A wait that would\nnever end, because the two wait for each other, is refused.",
		Example: "  cmux locks take database --wait 10m --note 'migration'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return cli.Either(runF, runLockTake)(cmd.Context(), o)
		},
	}
	o.waitFlags(cmd)
	process := strings.TrimPrefix(attempt.LockOption, "--")
	cmd.Flags().IntVar(&o.PID, process, 0, "the lock ends with this process")
	if err := cmd.Flags().MarkHidden(process); err != nil {
		panic(err)
	}
	return cmd
}

func runLockTake(ctx context.Context, o *lockOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if err := p.Locks().Take(ctx, o.TakeLock); err != nil || o.PID != 0 {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s: taken; to give it back: cmux locks release %s\n", o.Name, o.Name)
	return err
}

func newLockWithCmd(d *cli.Deps, runF func(context.Context, *lockOptions) error) *cobra.Command {
	o := &lockOptions{IO: &d.IO, Project: d.Project, TakeLock: locking.TakeLock{Wait: -time.Second, Process: true}, Outside: d.Outside}
	cmd := &cobra.Command{
		Use:   "with NAME -- COMMAND [ARGS]",
		Short: "Run a command while having a lock",
		Long: `Take a lock, waiting for it, and run a command. The lock ends with the process of the
command, however that ends; what the command leaves running in the background does not
keep it. Two commands that each wait for the other's lock are not noticed.`,
		Example: "  cmux locks with port-8080 -- npm run e2e",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash != 1 {
				return project.Usage(cmd.CommandPath()+" --help", "write -- between the lock and the command")
			}
			o.Name, o.Argv = args[0], args[1:]
			return cli.Either(runF, runLockWith)(cmd.Context(), o)
		},
	}
	o.waitFlags(cmd)
	return cmd
}

func runLockWith(ctx context.Context, o *lockOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	program, err := agent.LookPath(o.Argv[0], o.Env)
	if err != nil {
		return err
	}
	words := []string{"locks", "take", o.Name, "--wait=" + o.Wait.String(), "--note=" + o.Note, fmt.Sprintf("%s=%d", attempt.LockOption, os.Getpid())}
	switch code, ok, err := o.Outside(ctx, words); {
	case err != nil:
		return err
	case ok && code != 0:
		return cli.Silent(cli.ExitStatus(code))
	case !ok:
		if err := p.Locks().Take(ctx, o.TakeLock); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", program, syscall.Exec(program, o.Argv, o.Env)) // the command has this process, and the lock, now
}

func newLockEndCmd(d *cli.Deps, verb, short, long, said string, order func(*locking.Locks, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Long: long, Example: "  cmux locks " + verb + " database", Args: cobra.ExactArgs(1),
		ValidArgsFunction: d.Completing(func(_ context.Context, p *control.Project) (names []string, err error) {
			all, err := p.Locks().List()
			for _, k := range all {
				names = append(names, k.Name)
			}
			return names, err
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := d.Project(cmd.Context())
			if err != nil {
				return err
			}
			if err := order(p.Locks(), cmd.Context(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(d.Out, "%s: %s\n", args[0], said)
			return err
		},
	}
}

func newLocksListCmd(d *cli.Deps, runF func(context.Context, *lockOptions) error) *cobra.Command {
	o := &lockOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use: "list", Short: "List the locks and who waits for them",
		Long:    "List the locks and who waits for them. With --json it is the list of locks of cmux status --json.",
		Example: "  cmux locks list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runLocksList)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runLocksList(ctx context.Context, o *lockOptions) error {
	p, all, done, err := cli.Asked(ctx, o.IO, o.Project, o.JSON, func(p *control.Project) ([]locking.LockReport, error) { return p.Locks().List() })
	if done {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "Nobody has a lock.")
		return err
	}
	_, err = fmt.Fprint(o.Out, cli.RenderLocks(all, p.Now()))
	return err
}
