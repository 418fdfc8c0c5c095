package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/runview"
	"cmux/agents/platform/say"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/signals"
)

// A run whose runner is found gone so many times in a row, so far apart, while an
// order waits for it has none: tmux starts one that died again sooner.
const (
	Vigil  = 300 * time.Millisecond
	Vigils = 3
)

// Taken is what has become of an order.
type Taken struct {
	// Launch is to be carried out by whoever gave the order, with Carry: the run is
	// headless and had no runner. Nil: there is nothing left to do.
	Launch *Launch `json:"-"`

	Done bool   `json:"done"`           // it was carried out
	Note string `json:"note,omitempty"` // why it was not yet, and what carries it out

	// Outcome is what happened to an answer: answered, told, or waits; "": it is not
	// known. Why says what it waits for,
	// or which question was answered and whether that allows what was asked for.
	Outcome string `json:"outcome,omitempty"`
	Why     string `json:"why,omitempty"`

	id string // of the request, where Launch carries it out
}

// Refused is why the runner of Launch did not do it, once that has been carried.
func (t *Taken) Refused() (err error) {
	if t.Launch == nil {
		return nil
	}
	rerr := t.Launch.Run.EachRecord(func(rec *run.Record) {
		if rec.Type == run.Requested && rec.Request == t.id && rec.Detail != "" {
			err = errors.New(rec.Detail)
		}
	})
	return errors.Join(err, rerr)
}

// Overtaken reports whether an error of Carry says that another runner was faster.
func Overtaken(err error) bool {
	var held *signals.HeldError
	return errors.As(err, &held)
}

// Settled waits until the order is carried out by the runner that was faster than the
// one of Launch. The error says why that runner has refused it, or has not done it.
func (t *Taken) Settled(ctx context.Context) error {
	r := t.Launch.Run
	is, err := await(ctx, r, run.NewHistory(r.Plan.Graph), 0, t.id, func() (*Taken, error) { return nil, nil })
	if err == nil && !is.Done {
		err = errors.New(is.Note)
	}
	return err
}

// order leaves a request for the runner, and gives the run one that has none
// where the caller wants that. It returns once a runner has carried the request
// out or refused it; without one the request waits for resume.
func (p *Commands) order(ctx context.Context, v *run.View, q run.Request) (Taken, error) {
	r := v.Run
	h := run.NewHistory(r.Plan.Graph)
	offset, err := r.Replay(h, 0, nil)
	if err != nil {
		return Taken{}, err
	}
	if v.Holder == nil && p.Start && q.Op != run.OpStop {
		if err := runner.Claim(ctx, r); err != nil { // else a request would wait that nobody may carry out
			return Taken{}, err
		}
	}
	if q, err = r.Ask(q); err != nil {
		return Taken{}, err
	}
	goOn := func() (*Taken, error) { return p.goOn(ctx, v, q) }
	if v.Holder == nil {
		if t, err := goOn(); err != nil || t != nil {
			return *t, err
		}
	}
	return await(ctx, r, h, offset, q.ID, goOn)
}

// await waits until a runner of r has carried out or refused the request with this id,
// with the records from an offset on. goOn is called if the run has no runner; what it
// returns has become of the request, nil: a runner answers it.
func await(ctx context.Context, r *run.Run, h *run.History, offset int64, id string, goOn func() (*Taken, error)) (Taken, error) {
	w := signals.Watch(ctx, r.Dir)
	defer w.Close()
	deadline, gone := time.NewTimer(project.Patience), time.NewTicker(Vigil)
	defer deadline.Stop()
	defer gone.Stop()
	for absent := 0; ; {
		var (
			answer *run.Record
			err    error
		)
		offset, err = r.Replay(h, offset, func(rec *run.Record) {
			if rec.Type == run.Requested && rec.Request == id {
				answer = rec
			}
		})
		if err != nil {
			return Taken{}, err
		}
		if answer != nil {
			if answer.Detail != "" {
				return Taken{}, errors.New(answer.Detail)
			}
			t := Taken{Done: true}
			t.Outcome, t.Why = attempt.ParseOutcome(answer.Value)
			return t, nil
		}
		select {
		case <-w.C:
		case <-gone.C:
			if absent++; r.RunnerLives() {
				absent = 0
			}
			if absent == Vigils { // it was about to leave when the order was given
				if t, err := goOn(); err != nil || t != nil {
					return *t, err
				}
				deadline.Reset(project.Patience)
			}
		case <-deadline.C:
			return Taken{Note: fmt.Sprintf("the runner has not done this within %s; it does it when it can", project.Patience)}, nil
		case <-ctx.Done():
			return Taken{}, ctx.Err()
		}
	}
}

// goOn gives a run that has no runner one for the order q. What it returns is
// what becomes of the order without one in tmux; nil: that one answers.
func (p *Commands) goOn(ctx context.Context, v *run.View, q run.Request) (*Taken, error) {
	switch {
	case p.Start && q.Op != run.OpStop: // which is no reason to start anything
	case runview.Over(v):
		return &Taken{Note: "the run has ended: this takes effect at cmux agents resume"}, nil
	default:
		return &Taken{Note: "no runner: this takes effect at cmux agents resume"}, nil
	}
	if err := v.Run.Withdraw(q.At); err != nil { // or the runner would leave without carrying out q
		return &Taken{}, err
	}
	if err := p.environment(v.Run); err != nil {
		return &Taken{}, err
	}
	l := Launch{Run: v.Run, Resumed: true}
	if v.Run.Plan.Headless {
		return &Taken{Launch: &l, Note: "the run continues with this, headless", id: q.ID}, nil
	}
	if err := p.Launch(ctx, l); err != nil {
		return &Taken{}, fmt.Errorf("this is recorded, but the run cannot continue: %w", err)
	}
	p.Tell("The run continues: cmux agents status --watch")
	return nil, nil
}

// environment makes sure that the run has an environment to continue with, and says
// how it differs from the caller's. After a run that ended well the environment of
// its start is deleted, and the caller's takes its place.
func (p *Commands) environment(r *run.Run) error {
	frozen, err := r.Env()
	if err == nil {
		if differ := differing(frozen, p.Env); len(differ) > 0 {
			p.Tell(fmt.Sprintf("The nodes get the environment of the run's start. This shell differs in %s. To use this shell's: the same with --no-start, then cmux agents resume.", say.List(differ, 8)))
		}
		return nil
	}
	if err := p.tellMissing(r); err != nil {
		return err
	}
	return r.WriteEnv(p.Env)
}

// tellMissing says what the caller's environment lacks of that of the run's
// start, which is deleted.
func (p *Commands) tellMissing(r *run.Run) error {
	names, err := r.EnvNames()
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range names {
		if !passing(name) && !slices.ContainsFunc(p.Env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		p.Tell(fmt.Sprintf("The environment of the run's start is deleted, and the nodes get this shell's, which has no %s.", say.List(missing, 8)))
	}
	return nil
}

// differing returns the names of the variables in which two environments differ,
// sorted, without those that every shell sets for itself.
func differing(a, b []string) (names []string) {
	x, y := variables(a), variables(b)
	for name, value := range x {
		if other, ok := y[name]; !ok || other != value {
			names = append(names, name)
		}
	}
	for name := range y {
		if _, ok := x[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func variables(env []string) map[string]string {
	all := make(map[string]string, len(env))
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok && !passing(name) {
			all[name] = value
		}
	}
	return all
}

// passing reports whether a variable belongs to a terminal or a shell, and says
// nothing of what a person set.
func passing(name string) bool {
	switch name {
	case "_", "PWD", "OLDPWD", "SHLVL", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLORTERM", "COLUMNS", "LINES", "WINDOWID",
		"TMUX", "TMUX_PANE", "GPG_TTY", "XDG_SESSION_ID", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "SSH_AUTH_SOCK", "STARSHIP_SESSION_KEY", "":
		return true
	}
	return strings.HasPrefix(name, "CMUX_") || strings.HasPrefix(name, "VTE_") || strings.HasPrefix(name, "GIT_")
}
