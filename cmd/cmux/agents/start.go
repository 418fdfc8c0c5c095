package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/configfile"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/control/terminals"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
)

type startOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	launch  launchFunc
	commands.Start
	Yes, Detach bool
}

func newStartCmd(d *cli.Deps, runF func(context.Context, *startOptions) error) *cobra.Command {
	o := &startOptions{IO: &d.IO, Project: d.Project, launch: launcher(d)}
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start the graph of agents",
		Long: `Check the configuration and the repository, show what will start, ask, and start it
in tmux. If there is an unfinished run, start resumes it instead, as it is: then it
refuses --fresh, --base, and --headless for a run in tmux, which are for a new run.
The run starts from the HEAD of the worktree where you stand, also a linked one, and
reads the nearest .cmux-agents.yml: from your folder up to the worktree's root, else
at the main worktree's root. The table before the start shows both.

If you interrupt start before it says that the run has started, it has either
started nothing, or it stops what it began, as cmux agents stop does. It says which.
The exit code is 130.

With --headless, start needs no tmux and no terminal. It prints the output of all
nodes on stdout, each line after the node's name, and exits when the run ends. The
exit code is 3 if a node is not done. If it is interrupted (Ctrl-C, SIGTERM, SIGHUP,
SIGQUIT, or nobody reads its output any more), it ends its agents and exits with
130; cmux agents resume continues their conversations. A second Ctrl-C does not
wait for them.

With --if-changed, start does nothing if the commit of the base and the
configuration, with all files that it names, are the same as in its last successful
run. It says so and exits with 0. Use it with cron:
  0 2 * * * cd /src/shop && git pull -q && cmux agents start --headless --yes --if-changed`,
		Example: "  cmux agents start --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runStart)(cmd.Context(), o) },
	}
	fl := cmd.Flags()
	fl.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	fl.BoolVar(&o.Detach, "detach", false, "do not attach to the session (the default without a terminal)")
	fl.StringVar(&o.Config, "config", "", "configuration (default: the nearest .cmux-agents.yml, from here up to the project's root)")
	fl.BoolVar(&o.Dry, "dry-run", false, "show the graph and the order of the nodes, and start nothing")
	fl.BoolVar(&o.Headless, "headless", false, "run without tmux and terminal, for example in CI")
	fl.StringArrayVar(&o.On, "on", nil, "machine that carries out nodes with runs_on: ssh://[USER@]HOST[:PORT] (repeatable; default: $CMUX_ON, or on: of your settings)")
	fl.BoolVar(&o.Here, "here", false, "run all nodes at home, whatever their runs_on says")
	fl.StringVar(&o.Base, "base", "", "commit or branch to start from (default: the configuration's base, or HEAD)")
	fl.BoolVar(&o.New, "new", false, "end an unfinished run and begin a new one")
	fl.BoolVar(&o.IfChanged, "if-changed", false, "do nothing if the base and the configuration are the same as in the last successful run (for cron)")
	fl.BoolVar(&o.Fresh, "fresh", false, "save existing work and start from the base, without its branches and worktrees")
	// Given by the monitor, for a supervisor's order.
	fl.StringVar(&o.By, "by", "", "the standing agent that orders it")
	fl.StringVar(&o.Order, "order", "", "the request by which it does")
	for _, hidden := range []string{"by", "order"} {
		if err := fl.MarkHidden(hidden); err != nil {
			panic(err) // it was just made
		}
	}
	return cmd
}

func runStart(ctx context.Context, o *startOptions) error {
	if !o.Dry {
		p, err := o.Project(ctx)
		if err != nil {
			return err
		}
		if leads, err := p.Leads(); leads || err != nil {
			return o.order(ctx, p, err)
		}
	}
	l, err := o.prepare(ctx)
	switch {
	case cli.ByInterrupt(ctx, err):
		return commands.ErrNothing
	case err != nil || l.Run == nil:
		return err
	}
	return o.launch(ctx, l, o.Detach)
}

// order has the monitor start the run.
func (o *startOptions) order(ctx context.Context, p *control.Project, err error) error {
	if err != nil {
		return err
	}
	if !o.Yes {
		return project.Usage("the same with --yes", "there is nobody to ask whether to start")
	}
	made, err := p.Serving().OrderRun(ctx, o.Start)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Out, made.Said)
	if made.Run != "" {
		fmt.Fprintln(o.Out, "You are told by message when it ends, and when somebody is needed.")
	}
	return nil
}

// prepare makes the run that start is to start, or takes up the unfinished one.
// There is none after a dry run. Once the run is there a signal no longer ends
// it with an error: what then becomes of it is for launch to say.
func (o *startOptions) prepare(ctx context.Context) (l commands.Launch, err error) {
	p, err := o.Project(ctx)
	if err != nil {
		return l, err
	}
	if o.Binary, err = os.Executable(); err != nil {
		return l, fmt.Errorf("the path of this program: %w", err)
	}
	o.Socket = o.Getenv("CMUX_TMUX_SOCKET")
	s, err := p.Commands().PlanStart(ctx, o.Start)
	if err != nil {
		return l, err
	}
	if u := s.Unfinished; u != nil {
		fmt.Fprintf(o.Err, "Run %s is not finished: resuming it (--new ends it and begins a new one).\n", u.Plan.ID)
		if s.Changed {
			fmt.Fprintln(o.Err, "The configuration has changed since it began: cmux agents update applies that.")
		}
		l.Resumed = true
		l.Run, _, err = s.Create(ctx)
		return l, err
	}
	if s.Unchanged != nil {
		fmt.Fprintln(o.Out, s.Unchanged)
		return l, nil
	}
	if _, err := fmt.Fprint(o.Out, launchTable(s, o.Width(), o.Color())); err != nil {
		return l, err
	}
	if o.Dry {
		var b strings.Builder
		if err := s.Draw(&b); err != nil {
			return l, err
		}
		_, err := fmt.Fprintf(o.Out, "\n%s\n%s", &b, launchOrder(s))
		return l, err
	}
	if err := o.Confirm(ctx, o.Yes, "Start?"); err != nil {
		return l, err
	}
	r, aside, err := s.Create(ctx)
	l.Run, l.Repo = r, s.Repo()
	for _, path := range aside {
		fmt.Fprintf(o.Err, "Set aside unread: %s\n", path)
	}
	return l, err
}

// launchFunc gives a run its runner.
type launchFunc func(ctx context.Context, l commands.Launch, detach bool) error

// launcher is launch for the commands that start with d.
func launcher(d *cli.Deps) launchFunc {
	return func(ctx context.Context, l commands.Launch, detach bool) error { return launch(ctx, d, l, detach) }
}

// launch gives a run its runner, and shows it until the person leaves or, headless,
// to its end.
func launch(ctx context.Context, d *cli.Deps, l commands.Launch, detach bool) error {
	r := l.Run
	p := &control.Project{Project: project.Project{Caller: d.Caller(), Root: r.Plan.Root}}
	undo := func() error {
		return p.Commands().Undo(ctx, l, func(line string) { fmt.Fprintln(d.Err, line) })
	}
	if r.Plan.Headless {
		err := headless(ctx, d, p, l)
		if cli.ByInterrupt(ctx, err) {
			err = undo()
		}
		return err
	}
	err := p.Commands().Launch(ctx, l)
	if ctx.Err() != nil {
		return undo()
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "Run %s has started in session %s.\n  cmux agents top\n  cmux agents attach\n", r.Plan.ID, r.Plan.Graph.Session)
	if detach || !d.Interactive() {
		return nil
	}
	err = d.ShowSession(ctx, p, terminals.Session(r))
	if cli.ByInterrupt(ctx, err) {
		err = commands.StillRunning(r, nil)
	}
	return err
}

// headless carries a run in this process to its end. A reader of its output
// who goes away ends it as a signal does: nobody sees the agents any more.
func headless(ctx context.Context, d *cli.Deps, p *control.Project, l commands.Launch) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer catchPipe()()
	stdout, stderr := whileRead{d.Out, cancel}, whileRead{d.Err, cancel}
	fmt.Fprintf(d.Err, "Run %s, headless.\n", l.Run.Plan.ID)
	live := newPrefixed(stdout, l.Run.Plan.Graph)
	told := narrate(stderr)
	v, err := p.Commands().Carry(ctx, commands.Carry{Launch: l, Live: live, Tell: told.tell})
	live.flush()
	told.close()
	if v == nil {
		return err
	}
	if _, err := fmt.Fprint(d.Out, "\n"+renderStatus(v, d.Now(), d.Look())); err != nil && ctx.Err() == nil {
		return err
	}
	if errors.Is(err, runs.ErrUnfinished) {
		err = cli.Silent(err) // the table says it
	}
	return err
}

// catchPipe keeps a closed pipe from killing this process before it has ended
// its agents: writing to it fails instead. Ignored, the signal would stay so in
// every program that is started.
func catchPipe() (restore func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGPIPE)
	return func() { signal.Stop(ch) }
}

// whileRead calls gone when whoever reads from w has gone.
type whileRead struct {
	w    io.Writer
	gone func()
}

func (w whileRead) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		w.gone()
	}
	return n, err
}

var launchColumns = []cli.Column{
	{Head: "AGENT"},
	{Head: "KIND", Give: 3, Least: 7},
	{Head: "ROLE"},
	{Head: "BRANCH", Give: 1, Least: 12},
	{Head: "DEPENDS ON", Give: 2, Least: 10},
	{Head: "SCOPE", Give: 4, Least: 8},
	{Head: "CHECKS", Give: 5, Least: 8},
}

// launchTable says what a start would start. It is pure.
func launchTable(s *commands.Starting, width int, color bool) string {
	columns := launchColumns
	dirs := slices.ContainsFunc(s.Nodes, func(n commands.Planned) bool { return n.Dir != "" })
	if dirs {
		columns = append(slices.Clip(columns), cli.Column{Head: "DIR", Give: 4, Least: 8})
	}
	away := slices.ContainsFunc(s.Nodes, func(n commands.Planned) bool { return n.Where != "" })
	if away {
		columns = append(slices.Clip(columns), cli.Column{Head: "WHERE", Give: 4, Least: 8})
	}
	rows := make([][]string, len(s.Nodes))
	trees, reviews, gates := 0, 0, 0
	for i := range s.Nodes {
		n := &s.Nodes[i]
		branch := n.Branch
		if n.Continues != "" {
			branch = n.Continues
		}
		switch {
		case n.Role == dag.RoleGate:
			gates++
		case n.Role == dag.RoleReview:
			reviews++
		}
		if n.Tree {
			trees++
		}
		rows[i] = []string{n.Name, cli.OrDash(n.Kind), string(n.Role), cli.OrDash(branch), cli.OrDash(n.Waits()),
			cli.OrDash(strings.Join(n.Scope, " ")), cli.OrDash(strings.Join(n.Verify, "; "))}
		if dirs {
			rows[i] = append(rows[i], cli.OrDash(n.Dir))
		}
		if away {
			rows[i] = append(rows[i], cmp.Or(n.Where, "home"))
		}
	}
	var b strings.Builder
	b.WriteString(cli.Table(columns, rows, width, color))
	fmt.Fprintf(&b, "\n%s: %s, %s, %s; at most %d at a time, session %s\n", say.Count(len(s.Nodes), "agent"), say.Count(trees, "worktree"),
		say.Count(reviews, "review"), say.Count(gates, "gate"), s.Parallel, s.Session)
	if s.Tmux != "" {
		fmt.Fprintf(&b, "tmux session: %s; %s is taken\n", s.Tmux, s.Session)
	}
	if s.Folders != "" {
		fmt.Fprintf(&b, "worktrees: %s-NAME; another project has %s-NAME\n", s.Folders, s.Session)
	}
	if s.Tokens > 0 {
		fmt.Fprintf(&b, "budget: %s tokens for all agents together\n", say.Short(s.Tokens))
	}
	if s.Config != configfile.DefaultConfig {
		fmt.Fprintf(&b, "configuration: %s\n", s.Config)
	}
	base := fmt.Sprintf("base: %s (%.12s)", s.Base, s.Commit)
	if s.Linked != "" {
		if s.Branch != "" && s.Branch != s.Base {
			base = fmt.Sprintf("base: %s, branch %s (%.12s)", s.Base, s.Branch, s.Commit)
		}
		base += ", of the worktree " + s.Linked
	}
	if s.Dirt != "" {
		base += "; not committed, so in no worktree: " + s.Dirt
	}
	b.WriteString(base + "\n")
	for _, line := range s.Remarks {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// launchOrder says in which order the nodes would start.
func launchOrder(s *commands.Starting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Order of the nodes if each succeeds and takes equally long (at most %d at a time):\n", s.Parallel)
	for i, wave := range s.Waves() {
		fmt.Fprintf(&b, "%4d  %s\n", i+1, wave)
	}
	return b.String()
}
