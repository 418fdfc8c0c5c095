// Package org has the commands of the organization: they start, stop and show it,
// its configuration, workers, teams, projects and sessions.
package org

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"cmux/agents/control/logs"
	"cmux/agents/control/project"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/overview"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

// Cmds are the commands of this package.
func Cmds(d *cli.Deps) []*cobra.Command {
	return []*cobra.Command{newOrgStartCmd(d, nil), newOrgStopCmd(d, nil), newOrgRestartCmd(d, nil), newOrgStatusCmd(d, nil), newConfigCmd(d), newOrgAttachCmd(d, nil),
		newRootLogsCmd(d), newWorkersCmd(d), newKeepCmd(d), newProjectsCmd(d), newSessionsCmd(d), newTeamsCmd(d)}
}

type orgStartOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	control.StartOrg
	Detach, Yes bool
}

func newOrgStartCmd(d *cli.Deps, runF func(context.Context, *orgStartOptions) error) *cobra.Command {
	o := &orgStartOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "start",
		GroupID: "main",
		Short:   "Start the project's organization, or attach to it",
		Long: `Start the standing agents of the project: a supervisor that you talk to, and the
workers that it gives work to. They live in a tmux session of their own: window 0 is
the monitor, window 1 the supervisor, the workers follow. If they run already, start
attaches.

The first start asks how the agents may act and keeps the answer in .cmux/config.yml:
"ask" lets the program ask you, "auto" lets it decide (Claude Code: auto mode), "bypass"
lets it ask nothing (--dangerously-skip-permissions). If the project has a test command
and the configuration no verify:, it asks which command checks the agents' work. It also
freezes your environment: every agent gets it, until you give --env. After cmux stop, or
after a crash, start brings every agent back, in its conversation and with its task.

.cmux/config.yml holds what you decide for all agents: cmux help organization-config.
After the first start it counts once you take it into use with cmux config apply.`,
		Example: "  cmux start\n  cmux start --detach",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runOrgStart)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVarP(&o.Detach, "detach", "d", false, "do not attach this terminal")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask: agents ask you what they may do")
	cmd.Flags().BoolVar(&o.StartOrg.Env, "env", false, "give agents your environment of now, not that of the first start")
	return cmd
}

func runOrgStart(ctx context.Context, o *orgStartOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if err := o.start(ctx, p); err != nil {
		return err
	}
	if o.Detach || !o.Interactive() {
		return nil
	}
	if err := p.Terminals().AwaitSupervisor(ctx); err != nil {
		return err
	}
	return showOrg(ctx, o.IO, p, "")
}

// start starts the organization unless it runs.
func (o *orgStartOptions) start(ctx context.Context, p *control.Project) (err error) {
	if o.Binary, err = os.Executable(); err != nil {
		return fmt.Errorf("the path of this program: %w", err)
	}
	o.Socket = o.Getenv("CMUX_TMUX_SOCKET")
	s, err := p.PlanStartOrg(ctx, o.StartOrg)
	if err != nil {
		return err
	}
	if s.Running {
		names, err := p.Overview().AgentNames()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(o.Out, "The organization runs, in session %s: %s.\n", s.Session, say.List(names, shownAgents))
		return err
	}
	for _, r := range s.Remarks {
		fmt.Fprintf(o.Err, "note: %s\n", r)
	}
	permissions := s.Permissions
	if permissions == "" {
		if permissions, err = o.askPermissions(ctx); err != nil {
			return err
		}
	}
	answers := control.FirstAnswers{Permissions: permissions}
	if s.Check != "" {
		if answers.Verify, err = o.askCheck(ctx, s.Check); err != nil {
			return err
		}
	}
	if err := s.Create(ctx, answers); err != nil {
		return err
	}
	if _, err = fmt.Fprintf(o.Out, "The organization has started in session %s, with a supervisor (%s).\n", s.Session, s.Kind); err != nil {
		return err
	}
	names, err := p.Overview().AgentNames()
	if err != nil {
		return err
	}
	if len(names) > 1 {
		fmt.Fprintf(o.Out, "These came back: %s.\n", say.List(names, shownAgents))
	}
	_, err = fmt.Fprint(o.Out, "  cmux attach\n  cmux status\n")
	return err
}

// shownAgents is how many agents start names.
const shownAgents = 20

// askPermissions asks once how the agents may act.
func (o *orgStartOptions) askPermissions(ctx context.Context) (string, error) {
	if o.Yes {
		return "ask", nil
	}
	if !cli.IsTerminal(o.In) {
		return "", project.Usage("the same with --yes, or permissions: in .cmux/config.yml", "how may the agents act? There is no terminal to ask on")
	}
	fmt.Fprintln(o.Err, "How may the agents of this project act?")
	for _, c := range control.PermissionChoices() {
		fmt.Fprintf(o.Err, "  %-7s %s\n", c.Name, c.About)
	}
	text, ok, err := o.AskLine(ctx, "[ask] ")
	if err != nil {
		return "", err
	}
	if text = strings.TrimSpace(text); text == "" && ok {
		return "ask", nil
	}
	return text, control.CheckPermissions(text)
}

// askCheck asks once which command checks what the agents do. Without a terminal, or
// with --yes, it says how to set one.
func (o *orgStartOptions) askCheck(ctx context.Context, test string) (string, error) {
	if o.Yes || !cli.IsTerminal(o.In) {
		fmt.Fprintf(o.Err, "note: no check is set, and agents may ask before each %s. To set one: verify: [%q] in .cmux/config.yml, then cmux config apply\n", test, test)
		return "", nil
	}
	fmt.Fprint(o.Err, "Which command checks their work? It must pass before work is merged, and agents may\nrun it without asking you. - is for none.\n")
	text, ok, err := o.AskLine(ctx, "["+test+"] ")
	if err != nil {
		return "", err
	}
	switch text = strings.TrimSpace(text); {
	case !ok:
		return "", project.Usage("cmux start", "which command checks their work? There was no answer: nothing was started")
	case text == "":
		return test, nil
	case text == "-":
		return "", nil
	}
	return text, nil
}

// showOrg shows the organization's session in this terminal.
func showOrg(ctx context.Context, s *cli.IO, p *control.Project, name string) error {
	argv, err := p.Terminals().OrgShow(ctx, name, s.Getenv("TMUX"), s.Interactive())
	if err != nil {
		return err
	}
	return s.InTerminal(argv)
}

type orgStopOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Runs    bool
}

func newOrgStopCmd(d *cli.Deps, runF func(context.Context, *orgStopOptions) error) *cobra.Command {
	o := &orgStopOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "stop",
		GroupID: "main",
		Short:   "Stop the project's organization",
		Long: `Ask every standing agent to stop, end those that do not, and end their session.
Nothing is lost: cmux start brings them back, in their conversations and with their
unfinished tasks. Runs continue, unless you give --runs.`,
		Example: "  cmux stop --runs",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runOrgStop)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.Runs, "runs", false, "stop the runs of the project as well")
	return cmd
}

func runOrgStop(ctx context.Context, o *orgStopOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	return o.stop(ctx, p)
}

func (o *orgStopOptions) stop(ctx context.Context, p *control.Project) error {
	s, err := p.StopOrg(ctx, o.Runs)
	if err != nil {
		return err
	}
	if s.Already {
		_, err := fmt.Fprintln(o.Out, "The organization is already stopped. To continue: cmux start")
		return err
	}
	ended := "no agent was at work"
	if len(s.Agents) > 0 {
		ended = "ended: " + say.List(s.Agents, 10)
	}
	fmt.Fprintf(o.Out, "Stopped the organization (%s). To continue: cmux start\n", ended)
	if len(s.Runs) > 0 {
		fmt.Fprintf(o.Out, "Stopped the runs of %s.\n", say.List(s.Runs, 10))
	}
	if len(s.GoOn) > 0 {
		fmt.Fprintf(o.Out, "The runs of %s continue; cmux agents stop stops them.\n", say.List(s.GoOn, 10))
	}
	return nil
}

func newOrgRestartCmd(d *cli.Deps, runF func(context.Context, *orgStartOptions) error) *cobra.Command {
	o := &orgStartOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "restart",
		GroupID: "main",
		Short:   "Stop the project's organization and start it again",
		Long: `Stop the organization and start it again, with the cmux that you call: every agent
comes back in its conversation, with its unfinished task.`,
		Example: "  cmux restart --detach",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runOrgRestart)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVarP(&o.Detach, "detach", "d", false, "do not attach this terminal")
	cmd.Flags().BoolVar(&o.StartOrg.Env, "env", false, "give agents your environment of now, not that of the first start")
	return cmd
}

func runOrgRestart(ctx context.Context, o *orgStartOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if org, err := p.Overview().Organization(ctx); err != nil {
		return err
	} else if org.State != overview.OrgStopped {
		if err := (&orgStopOptions{IO: o.IO}).stop(ctx, p); err != nil {
			return err
		}
	}
	return runOrgStart(ctx, o)
}

type orgAttachOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Name    string
}

func newOrgAttachCmd(d *cli.Deps, runF func(context.Context, *orgAttachOptions) error) *cobra.Command {
	o := &orgAttachOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:     "attach [NAME]",
		GroupID: "main",
		Short:   "Talk to the supervisor, or look at another agent",
		Long: `Attach this terminal to the session of the organization, at the window of the named
agent (default: the supervisor). Inside tmux, open a window of your own tmux that shows the session.

What you type to an agent is its normal use: messages wait until the turn that you
began has ended and the input line is empty.

  C-b n, C-b p   the next window, the one before
  C-b d          detach; the agents continue`,
		Example:           "  cmux attach supervisor",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = cli.First(args)
			return cli.Either(runF, runOrgAttach)(cmd.Context(), o)
		},
	}
}

func runOrgAttach(ctx context.Context, o *orgAttachOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	return showOrg(ctx, o.IO, p, o.Name)
}

type orgLogsOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	logs.Log
}

func newOrgLogsCmd(d *cli.Deps, runF func(context.Context, *orgLogsOptions) error) *cobra.Command {
	o := &orgLogsOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print what a standing agent did",
		Long: `Print what a standing agent was told (>), thought (~), said and did (*), and the
results (|), over all of its lives. With -f, print new output until you press ^C. With
--tail, begin with the last lines. With --json, print its events, one line of JSON
each (see cmux help events).`,
		Example:           "  cmux logs supervisor -f",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node = args[0]
			if cmd.Flags().Changed("tail") && o.Tail < 1 {
				return project.Usage(cmd.CommandPath()+" --help", "--tail must be 1 or more")
			}
			return cli.Either(runF, runOrgLogs)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "print new output as it comes")
	cmd.Flags().IntVarP(&o.Tail, "tail", "n", 0, "begin with the last `N` lines")
	cmd.Flags().BoolVar(&o.Prompt, "prompt", false, "print prompts as well")
	cmd.Flags().BoolVar(&o.Events, "json", false, "print its events")
	return cmd
}

func runOrgLogs(ctx context.Context, o *orgLogsOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	return p.Logs().Agent(ctx, o.Log, func(bool) io.Writer {
		if !o.Events && o.Color() {
			return cli.NewDimmer(o.Out)
		}
		return o.Out
	})
}

// newRootLogsCmd is logs of a standing agent at the root of the commands.
func newRootLogsCmd(d *cli.Deps) *cobra.Command {
	cmd := newOrgLogsCmd(d, nil)
	cmd.GroupID = "main"
	return cmd
}
