package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"cmux/signals"
)

// resumable is how long a run without a runner, that has not ended, is taken for
// one that a person will resume.
const resumable = 7 * 24 * time.Hour

// NodeGone says why nobody will hand anything to a node of this name any more:
// its run has ended and has no runner, or has had none for a week, or there is no
// such run. Empty: a runner has it, or may have it yet.
func NodeGone(root, name string, now time.Time) (why string, err error) {
	why, _, err = NodeKept(root, name, now)
	return why, err
}

// NodeKept is NodeGone, and says whether a runner has the node.
func NodeKept(root, name string, now time.Time) (why string, kept bool, err error) {
	owners, err := Owners(root)
	if err != nil {
		return "", false, err
	}
	for i := range owners {
		o := &owners[i]
		if !o.Owns(name) {
			continue
		}
		r, err := Open(root, o.ID)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was pruned this moment
		}
		if err != nil {
			return "", false, err // nobody knows
		}
		if r.Plan.Graph.Index(name) < 0 {
			continue
		}
		if _, held, err := signals.ReadHolder(r.LockPath()); err != nil || held {
			return "", held, err
		}
		switch over, err := r.Over(); {
		case err != nil:
			return "", false, err
		case over:
			return fmt.Sprintf("its run %s has ended", o.ID), false, nil
		}
		info, err := os.Lstat(r.Records())
		if err != nil || now.Sub(info.ModTime()) < resumable {
			return "", false, err
		}
		return fmt.Sprintf("its run %s has had no runner for a week", o.ID), false, nil
	}
	return fmt.Sprintf("no run has a node %q any more", name), false, nil
}

// NodeAt is the run that has a node of this name under way, with its attempt; nil: it has
// none.
func NodeAt(root, name string) (r *Run, attempt *Attempt, err error) {
	owners, err := Owners(root)
	if err != nil {
		return nil, nil, err
	}
	for i := range owners {
		if !owners[i].Owns(name) {
			continue
		}
		r, err := Open(root, owners[i].ID)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was pruned this moment
		}
		if err != nil {
			return nil, nil, err
		}
		at := r.Plan.Graph.Index(name)
		if at < 0 {
			continue
		}
		h := NewHistory(r.Plan.Graph)
		if _, err := r.Replay(h, 0, nil); err != nil {
			return nil, nil, err
		}
		if a := h.Nodes[at].Attempt(); a != nil && a.Ended.IsZero() {
			return r, a, nil
		}
		return r, nil, nil
	}
	return nil, nil, nil
}
