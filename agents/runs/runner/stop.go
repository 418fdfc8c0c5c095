package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// Stop ends the agents of a run that has no runner and records the run as
// stopped. A *signals.HeldError says that it has one, to be asked instead. A
// *run.AwayError says which agents work on other machines, and go on.
func Stop(ctx context.Context, r *run.Run) error {
	lock, err := r.TryLock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return stopAll(ctx, r, run.Record{Type: run.Stopped})
}

// giveUp ends a run for good. The caller holds the run's lock. While agents of it work on
// other machines it refuses: nothing would end them or collect their work.
func giveUp(ctx context.Context, r *run.Run) error {
	away, err := run.AwayOf(r)
	if err == nil && len(away) > 0 {
		err = tried(&run.AwayError{Nodes: away})
	}
	if err != nil {
		return err
	}
	return errors.Join(
		stopAll(ctx, r,
			run.Record{Type: run.Stopped},
			run.Record{Type: run.RunEnded, How: string(dag.RunStopped), Detail: "given up by start --new"}),
		r.DropEnv())
}

func stopAll(ctx context.Context, r *run.Run, recs ...run.Record) error {
	book, err := r.OpenBook()
	if err != nil {
		return err
	}
	defer book.Close()
	if err := book.Append(ctx, recs...); err != nil {
		return err
	}
	_, err = endAgents(ctx, r, "", order(attempt.OpStop))
	var away *run.AwayError
	if err != nil && !errors.As(err, &away) {
		return err
	}
	if _, err := EndLeftovers(ctx, r); err != nil {
		return fmt.Errorf("what nodes left running: %w", err)
	}
	return errors.Join(err, r.Withdraw(time.Now())) // what a runner that was killed did not carry out
}

// Cancel ends the agent of a node, or all that are at work (node is empty),
// in a run that has no runner, and returns whose agents it ended. What they
// hold stays in their worktrees. A node that a person had decided stays as
// decided. A *signals.HeldError says that the run has a runner, to be asked
// instead, a *run.AwayError which agents work on other machines, and go on.
func Cancel(ctx context.Context, r *run.Run, node string) ([]string, error) {
	lock, err := r.TryLock()
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	return cancelAll(ctx, r, node)
}

// cancelAll is Cancel for those who hold the run's lock.
func cancelAll(ctx context.Context, r *run.Run, node string) ([]string, error) {
	ended, err := endAgents(ctx, r, node, order(attempt.OpCancel))
	if err != nil {
		return ended, err
	}
	if state, _, err := r.Final(); err != nil || state != dag.RunDone {
		return ended, err
	}
	return ended, r.DropEnv() // nobody wants it any more
}

// order gives an attempt an order.
func order(op attempt.Op) func(context.Context, host.Link) error {
	return func(ctx context.Context, l host.Link) error {
		_, err := l.Say(ctx, attempt.Message{Op: op})
		return err
	}
}

// endAgents tells the agents that live, or that of one node, to end, and waits
// until they have. Those on other machines it leaves alone: a *run.AwayError names them.
func endAgents(ctx context.Context, r *run.Run, node string, tell func(context.Context, host.Link) error) (ended []string, err error) {
	h := run.NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		return nil, err
	}
	var away []run.AwayNode
	var links []host.Link
	defer func() {
		for _, l := range links {
			l.Close()
		}
	}()
	for i := range h.Nodes {
		a := h.Nodes[i].Attempt()
		name := r.Plan.Graph.Nodes[i].Name
		if a == nil || a.Over() || a.Place.Child != "" || node != "" && node != name {
			continue
		}
		if a.Place.Away() {
			away = append(away, run.AwayNode{Name: name, Machine: a.Place.Machine})
			continue
		}
		ref := host.Ref{Node: name, N: a.N}
		pulse, release, err := host.Find(r, ref)
		if err != nil {
			return ended, err
		}
		if pulse == host.Gone {
			// Or not there yet, and without its spec it leaves again.
			if err := errors.Join(r.DropSpec(name, a.N), release()); err != nil {
				return ended, err
			}
			continue
		}
		l, err := host.Dial(ctx, r, ref)
		if err != nil {
			return ended, fmt.Errorf("the agent of %s lives but cannot be reached: %w", name, err)
		}
		links = append(links, l)
		if err := tell(ctx, l); err != nil && !errors.Is(err, host.ErrGone) { // gone: it ends by itself
			return ended, fmt.Errorf("the agent of %s was told to stop: %w", name, err)
		}
		ended = append(ended, name)
	}
	patience := time.NewTimer(StopPatience)
	defer patience.Stop()
	for _, l := range links {
		select {
		case <-l.Gone():
		case <-ctx.Done():
			return ended, ctx.Err()
		case <-patience.C:
			return ended, errTooLong
		}
	}
	// A wrapper records the end before it lets go of its lock, which may be
	// after its connections close.
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for _, name := range ended {
		for {
			if _, held, err := signals.ReadHolder(r.NodeLock(name)); !held || err != nil {
				break
			}
			select {
			case <-look.C:
			case <-ctx.Done():
				return ended, ctx.Err()
			case <-patience.C:
				return ended, errTooLong
			}
		}
	}
	if len(away) > 0 {
		return ended, tried(&run.AwayError{Nodes: away, Over: h.Final != ""})
	}
	return ended, nil
}

var errTooLong = errors.New("an agent did not end within 30 s of being told to")
