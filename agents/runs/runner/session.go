package runner

import (
	"context"
	"errors"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/monitor"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// Session is the tmux session of r; ok is false when it is gone, or never was,
// or when the session of that name belongs to another project.
func Session(ctx context.Context, r *run.Run) (id tmux.SessionID, ok bool, err error) {
	s := Server(r)
	if s == nil {
		return "", false, nil
	}
	id, owner, err := monitor.Session(ctx, s, r.Plan.TmuxSession())
	return id, id != "" && owner == r.Plan.Root, err
}

// Revive has tmux start a runner again whose death it missed: the monitor's pane
// is dead and nobody let go of it. The caller has found the run without one.
func Revive(ctx context.Context, r *run.Run) error {
	session, ok, err := Session(ctx, r)
	if err != nil || !ok {
		return err
	}
	return Server(r).ReviveMonitor(ctx, session, r.Plan.Root)
}

// EndSession ends the tmux session of r, and with it every process in its
// panes. The caller has made sure that none of them is at work.
func EndSession(ctx context.Context, r *run.Run) error {
	id, ok, err := Session(ctx, r)
	if err != nil || !ok {
		return err
	}
	_, err = Server(r).Exec(ctx, "kill-session", "-t", string(id))
	if errors.Is(err, tmux.ErrNoServer) || errors.Is(err, tmux.ErrNotFound) {
		return nil
	}
	return err
}

// ParseConfig parses the configuration of a run again, as Plan does, for the
// environment in which the run resumes.
func ParseConfig(r *run.Run, config []byte, kinds agent.Kinds, env []string) (*dag.Graph, []dag.Warning, error) {
	g, warnings, err := parse(StartOptions{Root: r.Plan.Root, Config: r.Plan.Config, Kinds: kinds, Env: env}, config, nil)
	if g != nil {
		g.Folders = r.Plan.Graph.Folders // where the run's worktrees are
	}
	return g, warnings, err
}
