package runner

import (
	"context"
	"slices"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// finished reports whether Run has nothing left to do.
func (r *Runner) finished() (dag.RunState, bool) {
	if r.leaving != "" {
		busy := r.lives.Bound()
		if r.parting != "" { // also one that cannot be spoken to yet
			busy = busy || slices.ContainsFunc(r.hist.Nodes, func(n run.Node) bool { return n.Fact.Live() })
		}
		if busy && time.Now().Before(r.patient) {
			return "", false
		}
		if r.hist.Final != "" {
			return r.hist.Final, true
		}
		return dag.RunStopped, true
	}
	state := r.hist.State.Run()
	if state != dag.RunDone && state != dag.RunFailed {
		return state, false
	}
	// An overridden node's attempt may go on; where it needs nobody it does, but a
	// bound one would die with this process, and git in the middle of its work.
	return state, r.placing == 0 && !r.radar.atWork() && !r.lives.Bound()
}

// end records that the run has ended, or how Run left before that. It reports
// whether the runner stays all the same.
func (r *Runner) end(ctx context.Context, state dag.RunState) (stays bool, err error) {
	var recs []run.Record
	ended := r.leaving == "" && r.hist.Final != state // else that is on record
	if ended {
		recs = append(recs, run.Record{Type: run.RunEnded, How: string(state)})
	}
	switch {
	case r.leaving != "":
		r.Log.Info("runner leaves", "why", r.leaving)
		state = dag.RunNoRunner
		if r.parting != "" {
			state = dag.RunStopped
		}
		if r.hist.Final == "" && !r.updated {
			r.headline(state, time.Now())
		}
		recs = append(recs, run.Record{Type: run.RunnerDown, How: r.leaving})
	case r.Stay:
		stays = true
	default:
		recs = append(recs, run.Record{Type: run.RunnerDown, How: string(state)})
	}
	if len(recs) > 0 {
		err = r.learn(ctx, recs...)
	}
	if ended {
		r.Log.Info("run ended", "state", state)
		r.headline(state, time.Now())
		r.audit()
		r.notifyEnd(ctx, state)
	}
	if err != nil || stays || r.updated || r.hist.Final == "" {
		return stays, err
	}
	if slices.ContainsFunc(r.hist.Nodes, func(n run.Node) bool { return n.Fact.StillOpen }) {
		return false, nil // its wrapper may still want the environment
	}
	if r.hist.Final == dag.RunFailed {
		return false, nil // a retry wants it, from whatever shell; cleanup and the next start delete it
	}
	return false, r.Run.DropEnv()
}

// pace sets how often everything is looked at as if no notification ever came:
// in a run that has ended hardly ever, so that staying costs nothing.
func (r *Runner) pace(net *time.Ticker) {
	every := rescan
	if r.hist.Final != "" && !r.deaf {
		every = idleRescan
	}
	if every != r.every {
		net.Reset(every)
		r.every = every
	}
}

// interrupted answers the end of ctx: a signal to the runner. In a pane it
// leaves the agents, which a person sees, at work. Headless nobody sees them:
// the person who ended the command ended the run, as by stop.
func (r *Runner) interrupted(ctx context.Context) error {
	if r.leaving != "" {
		return nil
	}
	if r.Server != nil {
		r.hist.State.Take(dag.Change{Kind: dag.Stop, At: time.Now()})
		r.leave(run.HowInterrupted)
		return nil
	}
	if err := r.learn(ctx, run.Record{Type: run.Stopped, Detail: run.HowInterrupted}); err != nil {
		return err
	}
	r.part(ctx, run.HowInterrupted, attempt.OpBreak)
	return nil
}

func (r *Runner) leave(why string) {
	r.leaving, r.patient = why, time.Now().Add(StopPatience)
}

// stop ends every attempt and then Run; the run is stopped until resume.
func (r *Runner) stop(ctx context.Context) { r.part(ctx, run.HowStopped, attempt.OpStop) }

// part ends every attempt with op, and then Run.
func (r *Runner) part(ctx context.Context, why string, op attempt.Op) {
	r.leave(why)
	r.parting = op
	for node, l := range r.lives.All() {
		if !l.Bound || l.Stands() { // else it has heard
			r.lives.Say(ctx, node, attempt.Message{Op: op})
		}
	}
}
