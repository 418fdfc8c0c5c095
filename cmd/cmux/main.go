// Command cmux runs graphs of coding agents: flags in, exit code out.
//
// Each noun has a package of commands, which are built from cli.Deps. A command
// finds the project, asks agents/control for the work and prints the result on
// stdout; everything else goes to stderr. What a status is, what may start and
// what is removed is decided elsewhere.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control/commands"
	"cmux/agents/control/files"
	"cmux/agents/control/health"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/kinds"
	"cmux/agents/kinds/agent"
	"cmux/agents/platform/harmless"
	"cmux/cmd/cmux/agents"
	"cmux/cmd/cmux/cards"
	"cmux/cmd/cmux/cli"
	"cmux/cmd/cmux/early"
	"cmux/cmd/cmux/help"
	"cmux/cmd/cmux/incidents"
	"cmux/cmd/cmux/journal"
	"cmux/cmd/cmux/locks"
	"cmux/cmd/cmux/machines"
	"cmux/cmd/cmux/mailbox"
	"cmux/cmd/cmux/memory"
	"cmux/cmd/cmux/node"
	"cmux/cmd/cmux/org"
	_ "cmux/cmd/cmux/quiet"
	"cmux/cmd/cmux/rooms"
	"cmux/cmd/cmux/schedule"
	"cmux/cmd/cmux/serve"
	"cmux/cmd/cmux/setup"
	"cmux/cmd/cmux/tasks"
	"cmux/dag"
)

type exit struct {
	code  int
	means string
	match func(error) bool
}

// exits maps errors to exit codes. The first match wins; anything else is 1.
// docs/commands.md repeats it for scripts.
var exits = []exit{
	{130, "interrupted", func(err error) bool {
		return errors.Is(err, commands.ErrInterrupted) || errors.Is(err, context.Canceled)
	}},
	{2, "wrong usage or an error in the configuration", func(err error) bool {
		var faults dag.Faults
		return errors.Is(err, project.ErrUsage) || errors.As(err, &faults)
	}},
	{3, "the run ended with a node not done, or the work of a task stays unmerged", func(err error) bool { return errors.Is(err, runs.ErrUnfinished) }},
}

// exitCode is the exit code that err stands for.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	var own cli.ExitStatus
	if errors.As(err, &own) {
		return int(own)
	}
	for _, e := range exits {
		if e.match(err) {
			return e.code
		}
	}
	return 1
}

// emptyRoot is the command `cmux` without commands in it.
func emptyRoot(d *cli.Deps) *cobra.Command {
	root := &cobra.Command{
		Use:   "cmux",
		Short: "Run graphs of coding agents, each in its own worktree and tmux pane",
		Long: `cmux runs the graph of agents in .cmux-agents.yml. Each agent gets its own git
worktree and tmux pane. An agent starts when the agents it depends on are done. A
failure blocks only the agents that depend on it.`,
		Example: `  cmux agents init      # write .cmux-agents.yml
  cmux agents start     # start the graph
  cmux agents status    # see the state of each agent`,
		Version:           built().Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: d.Begin,
	}
	root.SetVersionTemplate("cmux {{.Version}}\n")
	root.Flags().BoolP("version", "v", false, "print the version of cmux")
	root.SetIn(d.In)
	root.SetOut(d.Out)
	root.SetErr(d.Err)
	root.AddGroup(&cobra.Group{ID: "main", Title: "Commands:"}, &cobra.Group{ID: "agent", Title: "What agents call:"})
	root.SetHelpCommandGroupID("main")
	root.SetCompletionCommandGroupID("main")
	return root
}

// newRoot builds the whole command tree.
func newRoot(d *cli.Deps) *cobra.Command {
	root := emptyRoot(d)
	root.AddCommand(
		agents.NewCmd(d, append(agents.Cmds(d), setup.NewInitCmd(d, nil), serve.NewAgentsOpenCmd(d, nil), node.NewExecCmd(d.Kinds))...),
		agents.NewSnapshotsCmd(d),
		setup.NewDoctorCmd(d, nil),
		newVersionCmd(&d.IO),
		help.NewManCmd(),
		mailbox.NewCmd(d),
		rooms.NewCmd(d),
		cards.NewCmd(d),
		memory.NewCmd(d),
		tasks.NewCmd(d),
		tasks.NewBacklogCmd(d),
		schedule.NewCmd(d),
		locks.NewCmd(d),
		journal.NewCmd(d),
		machines.NewCmd(d, built().Version),
	)
	root.AddCommand(org.Cmds(d)...)
	root.AddCommand(serve.Cmds(d)...)
	root.AddCommand(node.Cmds(&d.IO, version)...)
	root.AddCommand(incidents.Cmds(d)...)
	help.Add(root, &d.IO)
	help.OwnUsage(root)
	return root
}

// rootFor is newRoot for a command line. A hook runs with every tool call of every
// agent, and a wrapper with every node: the tree for these holds nothing else, as
// to build the whole of it takes a tenth of their time.
func rootFor(d *cli.Deps, args []string) *cobra.Command {
	if len(args) < 2 || slices.ContainsFunc(args, func(a string) bool { return a == "-h" || strings.HasPrefix(a, "--h") }) {
		return newRoot(d)
	}
	root := emptyRoot(d)
	switch {
	case args[0] == "hook":
		root.AddCommand(node.NewHookCmd(&d.IO))
	case args[0] == "agents" && args[1] == "exec":
		root.AddCommand(agents.NewCmd(d, node.NewExecCmd(d.Kinds)))
	default:
		return newRoot(d)
	}
	help.OwnUsage(root)
	return root
}

func init() { early.Restore() }

func main() { os.Exit(Main(kinds.All())) }

// Main runs cmux with these kinds of agents in this process and returns its
// exit code.
func Main(kinds agent.Kinds) int {
	dir, err := os.Getwd()
	if err != nil {
		cli.Report(harmless.NewWriter(os.Stderr, false), fmt.Errorf("the folder that cmux was called in is gone: %w", err))
		return 1
	}
	inHealth := os.Getenv(health.HealthVar) != ""
	if err := os.Unsetenv(health.HealthVar); err != nil {
		cli.Report(harmless.NewWriter(os.Stderr, false), err)
		return 1
	}
	d := &cli.Deps{IO: cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ()}, Dir: dir, Now: time.Now, Kinds: kinds, Root: newRoot, InHealth: inHealth}
	return execute(context.Background(), d, os.Args[1:])
}

// execute carries out one command line and returns its exit code.
func execute(ctx context.Context, d *cli.Deps, args []string) int {
	ctx = files.Foreign(ctx, os.Getenv)
	defer d.GuardOutputs()()
	if cli.GivenOutside(args) {
		if code, ok, err := d.Outside(ctx, args); ok || err != nil {
			d.Report(err)
			if err != nil {
				code = exitCode(err)
			}
			return code
		}
	}
	root := rootFor(d, args)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	err = cli.Interruption(cmd.Context(), err)
	d.Report(err)
	return exitCode(err)
}
