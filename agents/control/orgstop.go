package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cmux/agents/control/commands"
	"cmux/agents/control/crew"
	"cmux/agents/control/project"
	"cmux/agents/control/runview"
	"cmux/agents/org/standing"
	"cmux/agents/org/trees"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// StoppedOrg is what a stop of the organization came to.
type StoppedOrg struct {
	Session string   `json:"session"`
	Agents  []string `json:"agents"`            // that were at work
	Runs    []string `json:"runs"`              // sessions of runs that were stopped as well
	Already bool     `json:"already,omitempty"` // it was stopped before, and nothing was done
	GoOn    []string `json:"go_on"`             // sessions of runs that go on
}

// stopBound bounds the wait for the monitor to end all agents.
const stopBound = 60 * time.Second

// StopOrg asks every agent to stop, ends those that do not, and ends the
// organization's session. Runs go on unless runs says otherwise.
func (p *Project) StopOrg(ctx context.Context, runs bool) (*StoppedOrg, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	s := stopping(org)
	if org.Stopped && len(s.Agents) == 0 && !org.Run.RunnerLives() && !runs {
		s.Already = true
		return s, nil
	}
	if err := p.endOrg(ctx, org); err != nil {
		return nil, err
	}
	if tmux.Check(ctx) != nil {
		return s, p.endRuns(ctx, s, runs) // it ran without
	}
	server := runner.TmuxServer(p.Root, org.Run.Plan.Socket)
	for _, name := range append(crew.SessionsOf(org), s.Session) {
		id, _, ok, err := standing.Session(ctx, server, p.Root, name)
		if err == nil && ok {
			_, err = server.Exec(ctx, "kill-session", "-t", string(id))
		}
		if err != nil {
			return nil, err
		}
	}
	return s, p.endRuns(ctx, s, runs)
}

// stopping is the stop of an organization before anything is done.
func stopping(org *standing.Org) *StoppedOrg {
	s := &StoppedOrg{Session: org.Run.Plan.Session, Agents: []string{}, Runs: []string{}, GoOn: []string{}}
	for _, name := range org.Names() {
		if org.Agents[name].Life.On() {
			s.Agents = append(s.Agents, name)
		}
	}
	return s
}

// OrderStop stops the organization for a person whose dashboard this process serves. The
// organization's own server ends with it: another process stops it then, and serves the
// page afterwards. OrderStop returns when the agents are being ended.
func (p *Project) OrderStop(ctx context.Context, runs bool) (*StoppedOrg, error) {
	if !p.OrgRuns() {
		return p.StopOrg(ctx, runs)
	}
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	s := stopping(org)
	ended, err := p.Serving().Succeed(runs)
	if err != nil {
		return nil, err
	}
	w := signals.Watch(ctx, org.Run.Dir)
	defer w.Close()
	again := time.NewTicker(commands.Vigil)
	defer again.Stop()
	for !org.Stopped {
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("another process stops the organization")
			}
			return nil, err
		case <-w.C:
		case <-again.C:
		case <-ctx.Done(): // the organization is stopped: this server ends
			return s, nil
		}
		if err := org.Look(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// endOrg has the monitor end all agents, or ends them here where there is none.
func (p *Project) endOrg(ctx context.Context, org *standing.Org) error {
	q, err := org.Run.Ask(run.Request{Op: run.OpStop})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopBound)
	defer cancel()
	w := signals.Watch(ctx, org.Run.Dir)
	defer w.Close()
	gone := time.NewTicker(commands.Vigil)
	defer gone.Stop()
	for absent := 0; ; {
		if err := org.Look(); err != nil {
			return err
		}
		if a, ok := org.Answers[q.ID]; ok {
			if err := project.Refusal(a); err != nil {
				return err
			}
			return awaitMonitor(ctx, org)
		}
		select {
		case <-w.C:
		case <-gone.C:
			if absent++; org.Run.RunnerLives() {
				absent = 0
			}
			if absent < commands.Vigils {
				continue
			}
			absent = 0
			err := endHere(ctx, p)
			var held *signals.HeldError
			if err != nil && !errors.As(err, &held) {
				return err
			}
		case <-ctx.Done():
			return hint.New(fmt.Errorf("not all agents have ended within %s", stopBound), "cmux status")
		}
	}
}

// endHere carries the order to stop out in this process.
func endHere(ctx context.Context, p *Project) error {
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return err
	}
	return standing.Run(ctx, standing.Options{Root: p.Root, Windows: standing.Nowhere{}, Host: standing.Nowhere{}.Host, Trees: trees.Git{Repo: repo}, Kinds: p.Kinds})
}

// awaitMonitor returns when no monitor has the organization any more: one that
// has answered is about to go.
func awaitMonitor(ctx context.Context, org *standing.Org) error {
	holder, held, err := signals.ReadHolder(org.Run.LockPath())
	if err != nil || !held {
		return err
	}
	if err := proc.AwaitExit(ctx, holder.PID); err != nil { // it is waited for all the same
		t := time.NewTicker(commands.Vigil)
		defer t.Stop()
		for org.Run.RunnerLives() {
			select {
			case <-t.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// endRuns stops the runs that are under way, or says which go on.
func (p *Project) endRuns(ctx context.Context, s *StoppedOrg, too bool) error {
	owners, err := run.Owners(p.Root)
	if err != nil {
		return err
	}
	for _, o := range owners {
		r, err := run.Open(p.Root, o.ID)
		if err != nil {
			continue // cmux agents status says what is wrong with it
		}
		v, err := r.View(ctx, p.Now())
		if err != nil {
			return err
		}
		switch {
		case !runview.UnderWay(v):
		case too:
			if err := commands.End(ctx, v, p.Now); err != nil {
				return err
			}
			s.Runs = append(s.Runs, o.Session)
		default:
			s.GoOn = append(s.GoOn, o.Session)
		}
	}
	slices.Sort(s.Runs)
	slices.Sort(s.GoOn)
	return nil
}
