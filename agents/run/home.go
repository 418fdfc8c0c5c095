package run

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"cmux/agents/mail"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree"
)

// What an attempt can only ask while it works, a Run answers from its folder:
// the methods below and Unrest.

// RunnerLives reports whether a runner has the run.
func (r *Run) RunnerLives() bool {
	_, held, err := signals.ReadHolder(r.LockPath())
	return err == nil && held
}

// AtWork are the nodes, other than the one named, of which an attempt was at
// work since a moment.
func (r *Run) AtWork(but string, since time.Time) ([]string, error) {
	var busy []string
	began := make(map[string]bool)
	err := r.EachRecord(func(rec *Record) {
		if rec.Node == "" || rec.Node == but {
			return
		}
		switch rec.Type {
		case Started:
			began[rec.Node] = true
		case AttemptEnd, Vanished:
			if began[rec.Node] && rec.At.After(since) {
				busy = append(busy, rec.Node)
			}
			delete(began, rec.Node)
		}
	})
	for node := range began {
		busy = append(busy, node)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return busy, err
}

// startPatience is how long after the branch of a node has appeared the runner
// may take to record that an attempt of the node has started.
const startPatience = 15 * time.Second

// AwaitWork waits until an attempt of each of the nodes is at work since a
// moment, as long as a runner may be about to start one: it makes a node's branch
// before it records the start. That nobody starts one in time is no error.
func (r *Run) AwaitWork(ctx context.Context, nodes []string, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	w := signals.Watch(ctx, r.Dir)
	defer w.Close()
	for {
		busy, err := r.AtWork("", since)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(nodes, func(n string) bool { return !slices.Contains(busy, n) }) || !r.RunnerLives() {
			return nil
		}
		select {
		case <-w.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Limit is the limit of an account as recorded; zero: it has none.
func (r *Run) Limit(account string) (Limit, error) {
	h := NewHistory(new(dag.Graph)) // no node matters to it
	_, err := r.Replay(h, 0, nil)
	return h.Limits[account], err
}

// Post writes a message to the project's mailbox, for which the run vouches.
func (r *Run) Post(ctx context.Context, m mailbox.Message, files ...mail.Enclosure) (mailbox.Message, error) {
	p, err := mail.Open(r.Plan.Root, time.Now)
	if err != nil {
		return m, err
	}
	return p.Send(ctx, m, true, files...)
}

// Pushable is what all worktrees shared when the run began, which says where a
// branch is pushed to; nil: an earlier cmux did not keep it. It is a *DriftError
// when what decides about a push has changed since.
func (r *Run) Pushable(ctx context.Context, repo *worktree.Repo) (*worktree.Shared, error) {
	return r.Undrifted(ctx, repo, "not pushed", worktree.Change.Sensitive)
}
