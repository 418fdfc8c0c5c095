package attempt

import (
	"context"
	"errors"
	"time"

	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// patiently runs f, which writes for cmux itself, and repeats it while the disk is full:
// that is neither a failure nor a try. It reports this once, and continues when there is
// space. A different error of f (a setup command has its own message) counts too if a disk
// of the node is full. The time does not count for the node's timeout.
func (a *attempt) patiently(f func() error) error {
	waited := false
	for {
		err := f()
		var outside *fromOutside
		if err == nil || errors.As(err, &outside) || !run.NoSpace(err) && !run.NoFiles(err) && !a.cramped() {
			if waited && a.progress.told && (a.progress.detail == waitsForSpace || a.progress.detail == waitsForFiles) && err == nil {
				err = a.progress.become(a.progress.activity, time.Time{}, "")
			}
			return err
		}
		if !waited {
			waited = true
			why := waitsForSpace
			if run.NoFiles(err) {
				why = waitsForFiles
			}
			a.out.Say("%s (%v)", why, err)
			if a.progress.told && !run.Cramped(a.paths.Dir) {
				if err := a.progress.become(a.progress.activity, time.Time{}, why); err != nil {
					return err
				}
			}
		}
		running := !a.progress.budget.since.IsZero()
		a.progress.budget.run(false)
		timer := time.NewTimer(a.limits.Space)
		e := a.serve(nil, timer.C, nil)
		timer.Stop()
		if e != nil {
			return e
		}
		a.progress.budget.run(running)
	}
}

const (
	waitsForSpace = "the disk is full: waiting for space"
	waitsForFiles = "too many open files: waiting until one is closed"
)

// setUp runs f, a part of the set-up, with the retries of patiently. An error of f ends the
// attempt: it failed.
func setUp(a *attempt, f func() error) error {
	var failure error
	err := a.patiently(func() error {
		failure = f()
		return failure
	})
	if failure != nil && errors.Is(err, failure) {
		return verdict.Failed(dag.ReasonSetup, "%v", failure)
	}
	return err
}

// roomily is during with the retries of patiently.
func (a *attempt) roomily(f func(context.Context) error) (failure, err error) {
	err = a.patiently(func() error {
		var outside error
		if failure, outside = a.during(f); outside != nil {
			return &fromOutside{outside}
		}
		return failure
	})
	var (
		o     *fromOutside
		ended *verdict.Final
	)
	switch {
	case errors.As(err, &o):
		return failure, o.error
	case errors.Is(err, ErrInterrupted), errors.As(err, &ended):
		return nil, err // it came while there was no space
	}
	return err, nil
}

// fromOutside wraps what ended the wait from outside, not f's error.
type fromOutside struct{ error }
