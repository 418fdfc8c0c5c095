package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Preview is what a recovery would do.
type Preview struct {
	Healthy bool     `json:"healthy"` // nothing
	Output  string   `json:"output"`  // of the check
	Restart string   `json:"restart"` // command that is tried first
	Refused string   `json:"refused"` // why nothing is checked out
	Older   []string `json:"older"`   // commits that are tried, one after the other
	Range   []string `json:"range"`   // commits that are bisected then
}

// Preview runs the check, and says what a recovery would do. It changes nothing but
// what is known of the files that the check leaves.
func (d *Driver) Preview(ctx context.Context, s *State) (*Preview, error) {
	if _, err := os.Lstat(d.Tree); d.Own && errors.Is(err, fs.ErrNotExist) {
		return &Preview{Refused: "cmux's own worktree is not there yet: the first look makes it", Older: []string{}, Range: []string{}}, nil
	}
	before, err := d.Repo.Workplace(ctx, d.Tree)
	if err != nil {
		return nil, err
	}
	prints := d.prints(before)
	r, err := d.Run(ctx, d.Tree, d.Commands.Check)
	if err != nil {
		return nil, err
	}
	if !d.Own {
		after, err := d.Repo.Workplace(ctx, d.Tree)
		if err != nil {
			return nil, err
		}
		s.Made = learn(s.Made, prints, d.prints(after), false)
		if err := (Store{d.Root}).Save(s); err != nil {
			return nil, err
		}
	}
	p := &Preview{Healthy: r.OK, Output: r.Output, Restart: d.Commands.Restart, Older: []string{}, Range: []string{}}
	f := d.survey(ctx, s)
	if f.Err != nil {
		return nil, f.Err
	}
	p.Older, p.Range = append(p.Older, f.Older...), append(p.Range, f.Range...)
	switch {
	case !d.Rollback:
		p.Refused = "health.rollback is not on"
	case f.Refused != "":
		p.Refused = f.Refused
	case len(f.Older) == 0:
		p.Refused = "no commit is known on which the check passed"
	}
	return p, nil
}

// Order carries out a recovery that a person wants now, to its end. If one was cut
// off, Order continues it. If the project is healthy, Order begins none.
func (d *Driver) Order(ctx context.Context, s *State) error {
	if !s.Run.Over() {
		return d.Finish(ctx, s)
	}
	f := d.check(ctx, s)
	if f.Err != nil {
		return f.Err
	}
	if f.At = d.Now().UTC().Truncate(time.Millisecond); f.OK {
		s.checked(Config{Every: d.Every}, f)
		d.note("healthy: %s passes on %s", d.Commands.Check, Short(f.Head))
		return Store{d.Root}.Save(s)
	}
	if !d.Config.Restart && !d.Config.Rollback {
		return errors.New("the project is not healthy, and neither health.restart nor health.rollback says what to do about it")
	}
	s.look(f)
	s.Begin(d.Config, "user", f.At)
	s.Run.Broken, s.Run.Branch = f.Head, f.Branch
	if err := d.open(ctx, s, f); err != nil {
		return err
	}
	if err := (Store{d.Root}).Save(s); err != nil {
		return err
	}
	return d.Finish(ctx, s)
}

const maxWait = 10 * time.Second

// Finish carries what is under way to its end.
func (d *Driver) Finish(ctx context.Context, s *State) error {
	for !s.Run.Over() {
		next, err := d.Step(ctx, s)
		if err != nil {
			return err
		}
		if s.Run.Over() {
			return nil // next is when it is looked at again
		}
		timer := time.NewTimer(min(next.Sub(d.Now()), maxWait)) // clocks jump
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("interrupted; the recovery continues later: %w", context.Cause(ctx))
		}
	}
	return nil
}
