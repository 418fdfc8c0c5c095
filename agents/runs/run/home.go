package run

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"cmux/agents/records/mail"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree"
	"cmux/worktree/common"
)

// What an attempt can only ask while it works, a Run answers from its folder:
// the methods below and Unrest.

// RunnerLives reports whether a runner has the run.
func (r *Run) RunnerLives() bool {
	_, held, err := signals.ReadHolder(r.LockPath())
	return err == nil && held
}

// Halted is the process id of the runner whose process a signal has stopped; 0
// when there is none.
func (r *Run) Halted() int {
	if h, held, err := signals.ReadHolder(r.LockPath()); err == nil && held && halted(h) {
		return h.PID
	}
	return 0
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

// Tell records a change of what all worktrees share whose author is not known: as
// an incident, or as a note where it can harm nobody. It is told once for the
// whole run; first is false where it was told before.
func (r *Run) Tell(ctx context.Context, detail string, grave bool) (first bool, err error) {
	rec := Record{Type: Noted, How: IncidentShared, Detail: detail}
	if grave {
		rec.Type = Incident
	}
	first = true
	err = r.EachRecord(func(q *Record) {
		first = first && (q.Type != rec.Type || q.How != rec.How || q.Detail != rec.Detail)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !first {
		return false, err
	}
	book, err := r.OpenBook()
	if err != nil {
		return false, err
	}
	return true, errors.Join(book.Append(ctx, rec), book.Close())
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
func (r *Run) Pushable(ctx context.Context, repo *worktree.Repo) (*common.State, error) {
	base, changes, err := r.Drift(ctx, repo)
	if err != nil || base == nil {
		return nil, err
	}
	if changes = slices.DeleteFunc(changes, func(c common.Change) bool { return !base.Pushes(c) }); len(changes) > 0 {
		return nil, &DriftError{"not pushed", changes}
	}
	return base, nil
}
