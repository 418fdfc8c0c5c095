package commands

import (
	"context"
	"errors"
	"io"

	"github.com/charmbracelet/log"

	"cmux/agents/control/machines"
	"cmux/agents/control/runs"
	"cmux/agents/org/standing"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/worktree"
)

// Launch gives a run that was made, or is continued, its runner.
type Launch struct {
	Run     *run.Run
	Resumed bool // it was there before

	Repo *worktree.Repo // as the start found it; nil: it is looked for
}

func (l Launch) how() string {
	if l.Resumed {
		return runner.HowResume
	}
	return runner.HowStart
}

// Launch starts the runner in tmux, where it goes on by itself.
func (p *Commands) Launch(ctx context.Context, l Launch) error {
	_, err := runner.StartInTmux(ctx, l.Run, l.how())
	return err
}

// Carry is a Launch without tmux: the runner is this process, to the run's end.
type Carry struct {
	Launch
	Live io.Writer    // the nodes' output; one with a method For(node) io.Writer is asked for each
	Tell func(string) // is told what happens, a line each; must not wait for anything
}

// Carry returns the run as it stood when its runner left, and its result:
// nil when it is done, ErrUnfinished when a node is not. Without a view it could
// not be carried. When ctx ends it ends its agents and leaves.
func (p *Commands) Carry(ctx context.Context, c Carry) (*run.View, error) {
	logFile, err := RunnerLog(c.Run)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	tell := func(h *run.History, rec *run.Record) {
		if line := runs.Story(h, rec); line != "" {
			c.Tell(rec.At.Format("15:04:05") + "  " + line)
		}
	}
	state, err := Carried(ctx, c.Run, runner.Options{Repo: c.Repo, How: c.how(), Kinds: p.Kinds, Live: c.Live, Tell: tell, Log: RunnerLogger(logFile), Far: machines.Wrap(c.Run)})
	if err != nil {
		return nil, err
	}
	r, err := run.OpenAhead(c.Run.Plan.Root, c.Run.Plan.ID) // as an update left it
	if err != nil {
		return nil, err
	}
	v, err := r.View(context.WithoutCancel(ctx), p.Now())
	if err != nil {
		return nil, err
	}
	return v, cameOut(v, state, ctx.Err() != nil)
}

// Carried is runner.Run for r as it is on disk, again for each plan that it is
// given meanwhile.
func Carried(ctx context.Context, r *run.Run, o runner.Options) (dag.RunState, error) {
	for o.Run = r; ; o.How = runner.HowResume {
		state, err := runner.Run(ctx, o)
		if !errors.Is(err, runner.ErrUpdated) {
			return state, err
		}
		if o.Run, err = run.OpenDir(r.Dir); err != nil {
			return "", err
		}
	}
}

// RunnerLogger writes what a runner has to say into its log. A line costs a tenth
// of what it does in the form for terminals, and the next node waits for it.
func RunnerLogger(w io.Writer) *log.Logger {
	return log.NewWithOptions(w, log.Options{ReportTimestamp: true, TimeFormat: "2006-01-02 15:04:05.000", Level: log.DebugLevel, Formatter: log.LogfmtFormatter})
}

// Revive has tmux start again what keeps a run or an organization, and has died:
// tmux misses such a death now and then. A wrapper that has found it dead calls it.
func Revive(ctx context.Context, dir string) error {
	r, err := run.OpenPlan(dir)
	if err != nil {
		return err
	}
	if r.IsOrganization() {
		return standing.Revive(ctx, r, runner.TmuxServer(r.Plan.Root, r.Plan.Socket))
	}
	if err := r.LoadGraph(); err != nil {
		return err
	}
	return runner.Revive(ctx, r)
}
