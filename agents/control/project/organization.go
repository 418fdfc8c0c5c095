package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"cmux/agents/org/standing"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Org is the project's organization.
func (p *Project) Org() (*standing.Org, error) {
	org, err := standing.Open(p.Root)
	if errors.Is(err, run.ErrNoOrganization) {
		return nil, hint.New(err, "cmux start")
	}
	return org, err
}

// StandingAgent finds a standing agent by its name, display name or id.
func (p *Project) StandingAgent(name string) (*standing.Org, *standing.Agent, error) {
	org, err := p.Org()
	if err != nil {
		return nil, nil, err
	}
	a, err := org.Find(name)
	var unknown *standing.UnknownError
	if errors.As(err, &unknown) {
		return nil, nil, Usage("cmux workers list", "%w", Tag(err, ErrMissing))
	}
	return org, a, err
}

// Running is the organization of the project, which somebody keeps.
func (p *Project) Running() (*standing.Org, error) {
	org, err := p.Org()
	if err == nil && !org.Run.RunnerLives() {
		err = hint.New(errors.New("the organization is not running"), "cmux start")
	}
	return org, err
}

// keeperPatience bounds the wait for the monitor's answer. What was asked for
// stands whatever becomes of who asked.
const keeperPatience = 90 * time.Second

// AskKeeper leaves a request for the monitor and waits for its answer, which is
// read into made.
func (p *Project) AskKeeper(ctx context.Context, op run.Op, name string, ask standing.Ask, made any) error {
	org, err := p.Running()
	if err != nil {
		return err
	}
	q, err := standing.Request(op, name, ask)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, keeperPatience)
	defer cancel()
	w := signals.Watch(ctx, org.Run.Dir)
	defer w.Close()
	if q, err = org.Run.Ask(q); err != nil {
		return err
	}
	for {
		if err := org.Look(); err != nil {
			return err
		}
		if a, ok := org.Answers[q.ID]; ok {
			if err := Refusal(a); err != nil || made == nil || len(a.Made) == 0 {
				return err
			}
			return json.Unmarshal(a.Made, made)
		}
		select {
		case <-w.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return hint.New(fmt.Errorf("the monitor has not done this within %s; it does it when it can", keeperPatience), "cmux status")
			}
			return ctx.Err()
		}
	}
}

// Refusal is the reason of a refused request as an error; nil: it was carried out.
func Refusal(a standing.Answer) error {
	if a.Refused != "" {
		return errors.New(a.Refused)
	}
	return nil
}

// SetAside tells that a file held lines that do not count; empty: it held none.
func (p *Project) SetAside(file, aside string) {
	if aside != "" {
		p.Tell(fmt.Sprintf("%s held lines that do not count; it was saved aside as .cmux/%s, and the others stay", file, aside))
	}
}

// OrgTmux is the tmux server in which the organization has its windows.
func (p *Project) OrgTmux(org *standing.Org) *tmux.Server {
	return runner.TmuxServer(p.Root, org.Run.Plan.Socket)
}

// OrgRuns reports whether the monitor of the project's organization is at work.
func (p *Project) OrgRuns() bool {
	r, err := run.OpenOrganization(p.Root)
	return err == nil && r.RunnerLives()
}

// ConfigPath is the path of the organization's configuration.
func (p *Project) ConfigPath() string {
	return filepath.Join(run.Folder(p.Root), standing.ConfigFile)
}

// ReadConfig reads the organization's configuration at path. It follows no link.
func ReadConfig(path string) ([]byte, error) { return signals.ReadFile(path, 1<<20) }

// Configured reads and checks the organization's configuration, which need not be there.
func (p *Project) Configured() (*standing.Config, error) {
	src, err := ReadConfig(p.ConfigPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return p.ParseConfig(src)
}

// ParseConfig reads a text as the organization's configuration.
func (p *Project) ParseConfig(src []byte) (*standing.Config, error) {
	return standing.ParseConfig(p.Short(p.ConfigPath()), src)
}
