package runner

import (
	"context"
	"errors"
	"os"
	"strings"

	"cmux/agents/platform/tmux"
	"cmux/agents/runs/monitor"
	"cmux/agents/runs/run"
)

// StartInTmux starts a runner of r in the monitor window of its session, as
// monitor.Process says.
func StartInTmux(ctx context.Context, r *run.Run, how string) (tmux.SessionID, error) {
	name := r.Plan.TmuxSession()
	p := monitor.Process{
		Run: r, Name: "the runner", Server: Server(r), Session: name, Owner: r.Plan.Root,
		Args: []string{"agents", "run", "--run", r.Dir, "--how", how},
		Dead: "the runner died five times in a minute: cmux agents resume",
		Find: func(ctx context.Context, c *tmux.Client) (tmux.SessionID, bool, error) {
			id, err := c.FindSession(ctx, name)
			if errors.Is(err, tmux.ErrNotFound) {
				return "", false, nil
			}
			return id, err == nil, err
		},
		Vacate: func(ctx context.Context) (func() error, error) {
			holder, err := Vacate(ctx, r)
			if holder != nil && err == nil {
				err = monitor.ErrThere
			}
			return func() error { return nil }, err
		},
	}
	return p.Start(ctx)
}

// AdoptEnv replaces the environment of this process, which is the tmux
// server's and may be of another day, by the run's frozen one.
func AdoptEnv(r *run.Run) error {
	env, err := r.Env()
	if err != nil {
		return err
	}
	keep := map[string]string{}
	for _, k := range []string{"TERM", "TMUX", "TMUX_PANE"} {
		if v, ok := os.LookupEnv(k); ok {
			keep[k] = v
		}
	}
	os.Clearenv()
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			os.Setenv(k, v)
		}
	}
	for k, v := range keep {
		os.Setenv(k, v)
	}
	return nil
}
