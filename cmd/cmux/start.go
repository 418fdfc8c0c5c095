package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/charmbracelet/log"
	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/say"
	"cmux/agents/run"
	"cmux/agents/runner"
	"cmux/dag"
	"cmux/signals"
)

// startFlags is what start is told on the command line.
type startFlags struct {
	yes, detach, dryRun, headless, fresh, renew bool
	config, base                                string
}

func newStartCmd(d *Deps) *cobra.Command {
	var f startFlags
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start the graph of agents",
		Long: `Check the configuration and the repository, show what would be started, ask, and
start it in tmux. A run that was not finished is gone on with instead.

Interrupted before it says that the run has started, it either has started
nothing or ends what it began, as cmux agents stop does, and says which; the exit
code is 130.

With --headless there is no tmux and no terminal: the output of all nodes comes
on stdout, each line behind its node's name, and the command ends with the run,
with exit code 3 when a node is not done. Interrupted (Ctrl-C, SIGTERM, SIGHUP,
SIGQUIT, or nobody reads its output any more) it ends its agents and then itself, with exit
code 130; cmux agents resume goes on in their conversations. A second Ctrl-C does
not wait for them.`,
		Example: "  cmux agents start --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return d.start(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fl.BoolVar(&f.detach, "detach", false, "do not attach to the session (the default without a terminal)")
	fl.StringVar(&f.config, "config", "", "configuration (default: .cmux-agents.yml at the project's root)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show the schedule as it would unfold, and start nothing")
	fl.BoolVar(&f.headless, "headless", false, "without tmux and terminal, as for CI")
	fl.StringVar(&f.base, "base", "", "commit or branch to start from (default: the configuration's base, or HEAD)")
	fl.BoolVar(&f.renew, "new", false, "end an unfinished run first and begin another")
	fl.BoolVar(&f.fresh, "fresh", false, "continue no branch or worktree: save what is there and start from the base")
	return cmd
}

func (d *Deps) start(ctx context.Context, f startFlags) error {
	r, how, err := d.prepare(ctx, f)
	switch {
	case byInterrupt(ctx, err):
		return errNothing
	case err != nil || r == nil:
		return err
	}
	return d.launch(ctx, r, f.detach, how)
}

// prepare makes the run that start is to start, or takes up the unfinished one.
// There is none after a dry run. Once the run is there a signal no longer ends
// it with an error: what then becomes of it is for launch to say.
func (d *Deps) prepare(ctx context.Context, f startFlags) (r *run.Run, how string, err error) {
	p, err := d.project(ctx)
	if err != nil {
		return nil, "", err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("the path of this program: %w", err)
	}
	if f.config != "" {
		f.config = p.Abs(f.config)
	}
	o := runner.StartOptions{
		Root: p.Root, Config: f.config, Base: f.base, New: f.renew, Fresh: f.fresh, Headless: f.headless,
		Binary: binary, Env: d.Env, Kinds: d.Kinds, Socket: d.Getenv("CMUX_TMUX_SOCKET"),
	}
	l, err := runner.Plan(ctx, o)
	var hinted *runner.TryError
	if _, missing := os.Stat(p.Config(f.config)); errors.As(err, &hinted) && errors.Is(missing, os.ErrNotExist) {
		return nil, "", p.NoConfig(ctx, p.Config(f.config))
	}
	if err != nil {
		return nil, "", err
	}
	if u := l.Unfinished; u != nil {
		if f.dryRun {
			return nil, "", &Hint{Err: fmt.Errorf("run %s is not finished, so start would go on with it", u.Plan.ID), Try: "cmux agents status, or --new with --dry-run"}
		}
		fmt.Fprintf(d.Err, "Run %s is not finished: going on with it (--new ends it and begins another).\n", u.Plan.ID)
		return u, runner.HowResume, u.WriteEnv(d.Env)
	}
	notes, unfit := control.Preflight(ctx, l)
	if err := ctx.Err(); err != nil {
		return nil, "", err // what was looked for in vain may well be there
	}
	if unfit != nil && !f.dryRun {
		return nil, "", unfit
	}
	linked, err := p.Linked(ctx, o, l)
	if err != nil {
		return nil, "", err
	}
	if linked != nil {
		fmt.Fprintln(d.Err, linked)
	}
	if _, err := fmt.Fprint(d.Out, launchTable(l, d.width(), d.colour())); err != nil {
		return nil, "", err
	}
	for _, n := range notes {
		fmt.Fprintf(d.Out, "warning: %s\n", n)
	}
	if unfit != nil {
		fmt.Fprintf(d.Out, "warning: start would refuse this now: %v\n", unfit)
	}
	if f.dryRun {
		var b strings.Builder
		if err := l.Graph.Draw(&b, "text"); err != nil {
			return nil, "", err
		}
		_, err := fmt.Fprintf(d.Out, "\n%s\n%s", &b, schedule(l))
		return nil, "", err
	}
	if err := d.confirm(ctx, f.yes, "Start?"); err != nil {
		return nil, "", err
	}
	r, err = l.Create(ctx)
	for _, path := range l.SetAside {
		fmt.Fprintf(d.Err, "Set aside unread: %s\n", path)
	}
	return r, runner.HowStart, err
}

// launchFunc gives a run its runner: how is a start or a resume.
type launchFunc func(ctx context.Context, r *run.Run, detach bool, how string) error

// launch gives a created run its runner.
func (d *Deps) launch(ctx context.Context, r *run.Run, detach bool, how string) error {
	if r.Plan.Headless {
		err := d.headless(ctx, r, how)
		if byInterrupt(ctx, err) {
			err = d.interruptedStart(ctx, r, how)
		}
		return err
	}
	_, err := runner.StartInTmux(ctx, r, how)
	if ctx.Err() != nil {
		return d.interruptedStart(ctx, r, how)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "Run %s has started in session %s.\n  cmux agents status --watch\n  cmux agents attach\n", r.Plan.ID, r.Plan.Graph.Session)
	if detach || !d.interactive() {
		return nil
	}
	err = d.show(ctx, &control.Project{Caller: d.caller(), Root: r.Plan.Root}, control.Session(r))
	if byInterrupt(ctx, err) {
		err = stillRunning(r, nil)
	}
	return err
}

// headless carries a run in this process to its end. A reader of its output
// who goes away ends it as a signal does: nobody sees the agents any more.
func (d *Deps) headless(ctx context.Context, r *run.Run, how string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer catchPipe()()
	stdout, stderr := whileRead{d.Out, cancel}, whileRead{d.Err, cancel}
	logFile, err := signals.OpenFile(r.RunnerLog(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer logFile.Close()
	fmt.Fprintf(d.Err, "Run %s, headless.\n", r.Plan.ID)
	live := newPrefixed(stdout, r.Plan.Graph)
	told := narrate(stderr)
	state, err := runner.Run(ctx, runner.Options{Run: r, How: how, Kinds: d.Kinds, Live: live, Tell: told.tell, Log: newLogger(logFile)})
	live.flush()
	told.close()
	if err != nil {
		return err
	}
	v, err := r.View(context.WithoutCancel(ctx), d.Now())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(d.Out, "\n"+renderStatus(v, d.Now(), d.look())); err != nil && ctx.Err() == nil {
		return err
	}
	switch {
	case state == dag.RunDone:
		return nil
	case state == dag.RunFailed:
		return silent{errUnfinished}
	case ctx.Err() != nil:
		if at := control.AtWork(v); len(at) > 0 {
			return &Hint{Err: control.Tag(fmt.Errorf("%s did not end within %s of being told to", strings.Join(at, ", "), runner.StopPatience), errInterrupted), Try: "cmux agents stop"}
		}
		return &Hint{Err: errInterrupted, Try: "cmux agents resume"}
	}
	return &Hint{Err: fmt.Errorf("the run is %s", state), Try: "cmux agents resume"}
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

func newLogger(w io.Writer) *log.Logger {
	return log.NewWithOptions(w, log.Options{ReportTimestamp: true, TimeFormat: "2006-01-02 15:04:05.000", Level: log.DebugLevel})
}

var launchColumns = []column{
	{head: "AGENT"},
	{head: "KIND", give: 3, least: 7},
	{head: "ROLE"},
	{head: "BRANCH", give: 1, least: 12},
	{head: "DEPENDS ON", give: 2, least: 10},
	{head: "SCOPE", give: 4, least: 8},
	{head: "CHECKS", give: 5, least: 8},
}

// launchTable says what a start would start. It is pure.
func launchTable(l *runner.Launch, width int, colour bool) string {
	g := l.Graph
	rows := make([][]string, g.Len())
	trees, reviews, gates := 0, 0, 0
	for i := range g.Nodes {
		n := &g.Nodes[i]
		branch := n.Branch
		if c := l.Rows[i].Continues; c != "" {
			branch = c
		}
		kind := n.Agent
		switch {
		case n.Role == dag.RoleGate:
			gates++
			kind = ""
		case n.Role == dag.RoleReview:
			reviews++
		}
		if n.HasTree() {
			trees++
		}
		deps := strings.Join(n.DependsOn, ", ")
		if n.When != dag.AllSuccess && deps != "" {
			deps += " (" + string(n.When) + ")"
		}
		rows[i] = []string{n.Name, orDash(kind), string(n.Role), orDash(branch), orDash(deps),
			orDash(strings.Join(n.Scope, " ")), orDash(strings.Join(n.Verify, "; "))}
	}
	var b strings.Builder
	b.WriteString(table(launchColumns, rows, width, colour))
	fmt.Fprintf(&b, "\n%s: %s, %s, %s; at most %d at a time, session %s\n", say.Count(g.Len(), "agent"), say.Count(trees, "worktree"),
		say.Count(reviews, "review"), say.Count(gates, "gate"), g.MaxParallel, g.Session)
	if g.Budget.Tokens > 0 {
		fmt.Fprintf(&b, "budget: %s tokens for all agents together\n", say.Short(g.Budget.Tokens))
	}
	base := fmt.Sprintf("base: %s (%.12s)", l.Base.Ref, l.Base.Commit)
	if !l.Dirt.Clean() {
		base += fmt.Sprintf("; not committed, so in no worktree: %s", l.Dirt)
		if len(l.Dirt.Paths) > 0 {
			base += " (" + say.Line(say.List(l.Dirt.Paths, 5)) + ")"
		}
	}
	b.WriteString(base + "\n")
	for i := range g.Nodes {
		if p := l.Rows[i].Preset; p.State != "" {
			fmt.Fprintf(&b, "note: %s starts as %s: .cmux/signals/%s.done was put there by hand\n", g.Nodes[i].Name, p, g.Nodes[i].Name)
		}
		if l.Rows[i].Closed {
			fmt.Fprintf(&b, "note: %s asks for a code: .cmux/signals/%s.done was put there by hand and does not count\n", g.Nodes[i].Name, g.Nodes[i].Name)
		}
	}
	for _, w := range l.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w.Error())
	}
	for _, o := range l.Overlaps {
		fmt.Fprintf(&b, "warning: %s and %s may run at the same time and both write %s\n",
			g.Nodes[o.A].Name, g.Nodes[o.B].Name, both(o.PatternA, o.PatternB))
	}
	return b.String()
}

func both(a, b string) string {
	if a == b {
		return a
	}
	return a + ", " + b
}

// schedule says in which order the nodes of a launch would start if every one
// succeeded, taking equally long. The real scheduler decides.
func schedule(l *runner.Launch) string {
	g := l.Graph
	var presets []dag.Change
	for i := range g.Nodes {
		switch l.Rows[i].Preset.State {
		case "":
		case dag.NodeDone:
			presets = append(presets, dag.Change{Kind: dag.Overridden, Node: i, Outcome: dag.Override})
		default:
			presets = append(presets, dag.Change{Kind: dag.Overridden, Node: i, Outcome: dag.Failed, Exit: 1, Reason: dag.ReasonByHand})
		}
	}
	s := dag.Rebuild(g, dag.Facts{Nodes: make([]dag.Fact, g.Len())})
	effects := s.Step(presets...)
	var b strings.Builder
	fmt.Fprintf(&b, "As it would unfold if every node succeeded, all in the same time, %d at a time:\n", g.MaxParallel)
	for wave := 1; len(effects) > 0; wave++ {
		var (
			started, opened, blocked []string
			ends                     []dag.Change
		)
		for _, e := range effects {
			name := g.Nodes[e.Node].Name
			switch e.Kind {
			case dag.Start:
				started = append(started, name)
				ends = append(ends, dag.Change{Kind: dag.AttemptEnded, Node: e.Node, Attempt: e.Attempt, Outcome: dag.Done})
			case dag.Open:
				opened = append(opened, name)
				ends = append(ends, dag.Change{Kind: dag.Overridden, Node: e.Node, Outcome: dag.Done})
			case dag.Block:
				blocked = append(blocked, name)
			}
		}
		var parts []string
		for _, p := range []struct {
			names []string
			what  string
		}{{started, "%s"}, {opened, "a person approves %s"}, {blocked, "blocked: %s"}} {
			if len(p.names) > 0 {
				parts = append(parts, fmt.Sprintf(p.what, strings.Join(p.names, ", ")))
			}
		}
		fmt.Fprintf(&b, "%4d  %s\n", wave, strings.Join(parts, "; "))
		effects = s.Step(ends...)
	}
	return b.String()
}
