// Package machines has the commands of machines that carry out attempts for runs whose home
// is elsewhere.
package machines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control/commands"
	"cmux/agents/control/preflight"
	"cmux/agents/control/project"
	"cmux/agents/far"
	"cmux/agents/far/machine"
	"cmux/agents/far/pipe"
	"cmux/agents/kinds"
	"cmux/agents/kinds/agent"
	"cmux/agents/platform/say"
	"cmux/agents/runs/attempt"
	"cmux/cmd/cmux/cli"
	"cmux/worktree/hint"
)

// NewCmd builds cmux machines and its commands. version is that of cmux.
func NewCmd(d *cli.Deps, version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "machines",
		GroupID: "main",
		Short:   "Let this machine carry out agents of runs elsewhere",
		Long: `A run may have its agents carried out by other machines. On each of them runs a worker:
cmux machines serve. The project, its run and its runner stay at home, where the run was
started; cmux machines list is for there. docs/machines.md says what travels.`,
		Example: "  cmux machines serve --labels gpu\n  cmux machines status\n  cmux machines list --on ssh://box",
	}
	cmd.AddCommand(newServeCmd(d, version, nil), newListCmd(d, nil), newPipeCmd(d), newStatusCmd(d, nil), newDrainCmd(d, nil), newStopCmd(d, nil), newKeptCmd(d, nil), newGuardCmd())
	return cmd
}

type serveOptions struct {
	*cli.IO
	Kinds    agent.Kinds
	Dir      string
	Version  string
	Labels   []string
	Slots    int
	Name     string
	Projects []string
	Accept   bool
	SSH      string
}

func newServeCmd(d *cli.Deps, version string, runF func(context.Context, *serveOptions) error) *cobra.Command {
	o := &serveOptions{IO: &d.IO, Kinds: d.Kinds, Version: version}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Carry out agents of runs elsewhere, until interrupted",
		Long: `Run the worker of this machine in the foreground. It carries out agents for the homes that
reach it: by ssh as your user, who then runs what they send. Its agents use the logins of
this machine.

When the worker ends, also when it is killed, its agents work on. The next worker
continues them. An agent whose home cannot be reached for too long is ended, and its work
is kept: see cmux machines kept.

Labels say what this machine has. A label has small letters, digits and -. The operating
system and architecture are a label by themselves, such as linux/arm64.`,
		Example: "  cmux machines serve\n  cmux machines serve --labels gpu,big --slots 8 --projects 'github.com/acme/*'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, l := range o.Labels {
				if err := far.CheckLabel(l); err != nil {
					return project.Usage("", "--labels: %v", err)
				}
			}
			if len(o.Labels) > mostLabels {
				return project.Usage("", "--labels: %d labels, and a machine has at most %d", len(o.Labels), mostLabels)
			}
			if o.Slots < 1 {
				return project.Usage("", "--slots %d: want at least 1", o.Slots)
			}
			return cli.Either(runF, runServe)(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Labels, "labels", nil, "labels of this machine, for runs_on")
	f.IntVar(&o.Slots, "slots", 4, "how many agents work at once")
	f.StringVar(&o.Name, "name", "", "`NAME` of this machine (default: its hostname)")
	f.StringArrayVar(&o.Projects, "projects", nil, "work only for projects whose remote matches, such as github.com/acme/*; may be given several times")
	f.BoolVar(&o.Accept, "auto-accept", false, "also carry out agents with auto_accept, which ask nobody")
	f.StringVar(&o.SSH, "ssh", "", "`USER@HOST` at which homes reach this machine by ssh, to attach")
	return cmd
}

// mostLabels bounds the labels of a person.
const mostLabels = 3

func runServe(ctx context.Context, o *serveOptions) error {
	dir, err := machine.Dir()
	if err != nil {
		return err
	}
	if o.Name == "" {
		if o.Name, err = os.Hostname(); err != nil {
			return hint.New(fmt.Errorf("the name of this machine: %w", err), "cmux machines serve --name NAME")
		}
	}
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	w, err := machine.Open(ctx, machine.Options{
		Dir: dir, Trees: machine.Trees(o.Getenv),
		Machine: far.Machine{
			Name: o.Name, Labels: append(slices.Clone(o.Labels), runtime.GOOS+"/"+runtime.GOARCH), Slots: o.Slots,
			Accepts: o.Accept, Cmux: o.Version, SSH: o.SSH,
		},
		Projects: o.Projects, Agents: func(ctx context.Context) map[string]string { return ready(ctx, o.Env, o.Accept) },
		Kinds: o.Kinds, Env: o.Env, Binary: binary, Log: commands.RunnerLogger(o.Err),
	})
	if errors.Is(err, machine.ErrRuns) {
		return hint.New(err, "cmux machines status")
	}
	if err != nil {
		return err
	}
	err = o.serve(ctx, w)
	return errors.Join(err, w.Leave())
}

// serve says what the machine offers, and serves until somebody ends it.
func (o *serveOptions) serve(ctx context.Context, w *machine.Worker) error {
	m, err := w.Describe(ctx)
	if err != nil {
		return err
	}
	if err := o.offer(&m); err != nil {
		return err
	}
	err = w.Listen(ctx, func(ctx context.Context, c net.Conn) error { return pipe.Serve(ctx, c, w, far.Beat) })
	if err == nil {
		s, e := w.Status(context.WithoutCancel(ctx))
		if err = e; err == nil && m.Busy+len(s.Jobs) > 0 {
			_, err = fmt.Fprintf(o.Out, "The worker has ended. Agents work on: %s\n", working(s))
		}
	}
	return err
}

// offer says what the machine offers.
func (o *serveOptions) offer(m *far.Machine) error {
	var fit, unfit []string
	for _, k := range kinds.Listed() {
		switch why, has := m.Agents[k.Name]; {
		case has && why == "":
			fit = append(fit, k.Name)
		case has:
			unfit = append(unfit, fmt.Sprintf("%s is not ready: %s", k.Name, why))
		}
	}
	of := "all projects"
	if len(o.Projects) > 0 {
		of = strings.Join(o.Projects, ", ")
	}
	at := m.SSH
	if at == "" {
		at = "USER@" + m.Name
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s carries out agents: %s\n", m.Name, strings.Join(fit, ", "))
	for _, u := range unfit {
		fmt.Fprintf(&b, "  %s\n", u)
	}
	fmt.Fprintf(&b, "labels: %s\nslots: %d\nprojects: %s\n", strings.Join(m.Labels, ", "), m.Slots, of)
	fmt.Fprintf(&b, "At home: cmux agents start --on ssh://%s\n", at)
	_, err := io.WriteString(o.Out, b.String())
	return err
}

// working names the attempts that are not over.
func working(s *machine.Status) string {
	var all []string
	for _, j := range s.Jobs {
		if j.State != far.Ended {
			all = append(all, fmt.Sprintf("%s of %s", j.Ref.Node, j.Project))
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// ready finds out which kinds of agents this machine can run, and why one is not ready.
func ready(ctx context.Context, env []string, accept bool) map[string]string {
	all := make(map[string]string)
	installed := kinds.Installed(env)
	for _, k := range kinds.Listed() {
		switch {
		case k.Can.Program == "":
			all[k.Name] = "" // its nodes name their programs
		case slices.Contains(installed, k.Name):
			all[k.Name] = ""
			fit := preflight.Kind(ctx, k.Name, agent.Setup{Env: env, Headless: true, AutoAccept: accept, Asks: true})
			for _, p := range fit.Problems {
				if p.Fatal {
					all[k.Name] = p.What
					break
				}
			}
		}
	}
	return all
}

func newPipeCmd(d *cli.Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "pipe",
		Short: "Connect standard input and output to this machine's worker (for cmux itself)",
		Long: `Connect standard input and output to the worker of this machine. A run at home calls it by
ssh.`,
		Example: "  ssh USER@HOST cmux machines pipe",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := machine.Dir()
			if err != nil {
				return err
			}
			c, err := machine.Dial(cmd.Context(), dir)
			if err != nil {
				return none(err)
			}
			defer c.Close()
			defer context.AfterFunc(cmd.Context(), func() { c.Close() })()
			go func() { // ends with the process
				_, _ = io.Copy(c, d.In)
				_ = c.CloseWrite()
			}()
			_, err = io.Copy(d.Out, c)
			return err
		},
	}
}

// none names the way out if no worker runs.
func none(err error) error {
	if errors.Is(err, machine.ErrNone) {
		return hint.New(err, "cmux machines serve")
	}
	return err
}

type askOptions struct {
	*cli.IO
	Now  func() time.Time
	JSON bool
	Off  bool
}

// ask makes a request to this machine's worker.
func ask(ctx context.Context, op machine.Op) (*machine.Status, error) {
	dir, err := machine.Dir()
	if err != nil {
		return nil, err
	}
	s, err := machine.Ask(ctx, dir, op)
	return s, none(err)
}

const statusShape = `  {"machine": {"name", "labels", "agents", "slots", "busy", "draining", "auto_accept",
   "cmux", "version", "ssh"}, "pid", "jobs": [{"ref": {"project", "run", "node", "n"},
   "project", "home", "state", "since"}], "kept": [KEPT]}
where state is waiting, claimed, ended or lost, and KEPT is as in cmux machines kept.`

func newStatusCmd(d *cli.Deps, runF func(context.Context, *askOptions) error) *cobra.Command {
	o := &askOptions{IO: &d.IO, Now: d.Now}
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show what this machine's worker carries out",
		Long:    "Show the agents that this machine's worker carries out. With --json the shape is\n" + statusShape,
		Example: "  cmux machines status\n  cmux machines status --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runStatus)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runStatus(ctx context.Context, o *askOptions) error {
	s, err := ask(ctx, machine.OpStatus)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, s)
	}
	m := &s.Machine
	state := ""
	if m.Draining {
		state = ", draining"
	}
	if _, err := fmt.Fprintf(o.Out, "%s: %d of %d slots busy%s (pid %d)\n", say.Line(m.Name), m.Busy, m.Slots, state, s.PID); err != nil {
		return err
	}
	var rows [][]string
	for _, j := range s.Jobs {
		rows = append(rows, []string{say.Line(j.Project), say.Line(j.Ref.Node), string(j.State), ago(o.Now().Sub(j.Since)), j.Ref.Run})
	}
	if len(rows) == 0 {
		return nil
	}
	_, err = io.WriteString(o.Out, cli.Table([]cli.Column{{Head: "PROJECT"}, {Head: "AGENT"}, {Head: "STATE"}, {Head: "SINCE"}, {Head: "RUN"}}, rows, 0, false))
	return err
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

func newDrainCmd(d *cli.Deps, runF func(context.Context, *askOptions) error) *cobra.Command {
	o := &askOptions{IO: &d.IO}
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Take no new agents on this machine",
		Long: `Have this machine's worker take no new agents. Those that it has work on. Drain a machine
before you upgrade cmux on it.`,
		Example: "  cmux machines drain\n  cmux machines drain --off",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runDrain)(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.Off, "off", false, "take new agents again")
	return cmd
}

func runDrain(ctx context.Context, o *askOptions) error {
	op, said := machine.OpDrain, "takes no new agents"
	if o.Off {
		op, said = machine.OpAccept, "takes new agents"
	}
	s, err := ask(ctx, op)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s %s. At work: %s\n", say.Line(s.Machine.Name), said, say.Line(working(s)))
	return err
}

func newStopCmd(d *cli.Deps, runF func(context.Context, *askOptions) error) *cobra.Command {
	o := &askOptions{IO: &d.IO}
	return &cobra.Command{
		Use:   "stop",
		Short: "End this machine's worker",
		Long: `End this machine's worker. Its agents work on, and the next cmux machines serve continues
them. Without a worker, an agent is ended when its home was not heard for too long.`,
		Example: "  cmux machines stop",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runStop)(cmd.Context(), o) },
	}
}

func runStop(ctx context.Context, o *askOptions) error {
	s, err := ask(ctx, machine.OpStop)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "The worker of %s ends. Agents that work on: %s\n", say.Line(s.Machine.Name), say.Line(working(s)))
	return err
}

const keptShape = `  {"ref": {"project", "run", "node", "n"}, "project", "home", "why", "at", "until", "tree",
   "snapshot"}
where until is when it is removed, and snapshot may be missing.`

func newKeptCmd(d *cli.Deps, runF func(context.Context, *askOptions) error) *cobra.Command {
	o := &askOptions{IO: &d.IO}
	cmd := &cobra.Command{
		Use:   "kept",
		Short: "List work on this machine that its home has not got",
		Long: `List the work of agents that were ended here because their home could not be reached, or
did not want them any more. It is kept for 14 days. With --json the shape of each is
` + keptShape,
		Example: "  cmux machines kept",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runKept)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runKept(_ context.Context, o *askOptions) error {
	dir, err := machine.Dir()
	if err != nil {
		return err
	}
	all, bad := machine.ReadKept(dir) // of a folder that cannot be read, after all others
	if o.JSON {
		return errors.Join(cli.PrintJSON(o.Out, append([]machine.Kept{}, all...)), bad)
	}
	for _, k := range all {
		if _, err := fmt.Fprintf(o.Out, "%s of %s, run %s, until %s: %s\n  %s\n",
			say.Line(k.Ref.Node), say.Line(k.Project), k.Ref.Run, k.Until.Format(time.DateOnly), say.Line(k.Why), k.Tree); err != nil {
			return err
		}
	}
	return bad
}

func newGuardCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "guard FOLDER NODE PID",
		Hidden: true,
		Short:  "End an agent whose home is not heard any more (for cmux itself)",
		Args:   cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[2])
			if err != nil {
				return err
			}
			return machine.Guard(cmd.Context(), args[0], args[1], pid, attempt.Limits{}.Patience())
		},
	}
}
