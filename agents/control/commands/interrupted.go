package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/worktree/hint"
)

// ErrInterrupted says that whoever gave an order broke it off.
var ErrInterrupted = errors.New("interrupted")

// ErrNothing is what an interrupt left of a start that had made no run yet.
var ErrNothing = project.Tag(errors.New("interrupted: nothing was started"), ErrInterrupted)

// Undo says what an interrupt left of a start or resume whose run is there, after
// ending what it began. Nobody has seen this run start, so none is left at work
// unseen. A run that was there before and was not continued stays as it was.
// tell is told what is waited for.
func (p *Commands) Undo(ctx context.Context, l Launch, tell func(string)) error {
	ctx = context.WithoutCancel(ctx)
	r, now := l.Run, p.Now
	v, err := r.View(ctx, now())
	if err != nil {
		return interrupted(r, "was made", err)
	}
	if v.Holder == nil && l.Resumed {
		return hint.New(ErrNothing, "cmux agents resume")
	}
	if v.Holder != nil {
		tell(fmt.Sprintf("interrupted (again: leaves at once): stopping run %s, for at most %s", r.Plan.ID, runner.StopPatience))
	}
	ended := End(ctx, v, now)
	if v, err = r.View(ctx, now()); err != nil {
		return interrupted(r, "was made", err)
	}
	if v.Holder != nil || len(runview.AtWork(v)) > 0 {
		return StillRunning(r, ended)
	}
	return hint.New(interrupted(r, "was made and is stopped", ended), "cmux agents resume, or cmux agents start --new")
}

// StillRunning says that a run goes on after an interrupt, and why, if err knows.
func StillRunning(r *run.Run, err error) error {
	return hint.New(interrupted(r, "is running", err), "cmux agents stop, which ends it, or cmux agents attach")
}

// interrupted says what an interrupt left of a run, and why, if err knows.
func interrupted(r *run.Run, what string, err error) error {
	text := fmt.Errorf("interrupted: run %s %s", r.Plan.ID, what)
	if err != nil {
		text = fmt.Errorf("%w: %w", text, err)
	}
	return project.Tag(text, ErrInterrupted)
}

// cameOut is what a run came to whose runner has left in this state; nil: it is
// done. An ErrUnfinished has been told by the table. brokenOff says that the
// runner was told to leave.
func cameOut(v *run.View, state dag.RunState, brokenOff bool) error {
	switch {
	case state == dag.RunDone:
		return nil
	case state == dag.RunFailed:
		return runs.ErrUnfinished
	case !brokenOff:
		return hint.New(fmt.Errorf("the run is %s", state), "cmux agents resume")
	}
	if at := runview.AtWork(v); len(at) > 0 {
		return hint.New(project.Tag(fmt.Errorf("%s did not end within %s of being told to", strings.Join(at, ", "), runner.StopPatience), ErrInterrupted), "cmux agents stop")
	}
	return hint.New(ErrInterrupted, "cmux agents resume")
}
