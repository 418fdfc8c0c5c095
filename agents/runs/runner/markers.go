package runner

import (
	"context"
	"errors"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

func dirOf(path string) string  { return filepath.Dir(path) }
func baseOf(path string) string { return filepath.Base(path) }

// markers looks at every marker.
func (r *Runner) markers(ctx context.Context) error {
	now, before := time.Now(), r.disowned()
	seen, _, err := r.scanner.Scan(now)
	if errors.Is(err, signals.ErrNoDir) {
		// Not a removal of each: all are put back.
		if err := signals.Init(r.Run.Plan.Root); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return r.judge(ctx, now, before, slices.All(seen))
}

// look looks at the markers of some nodes.
func (r *Runner) look(ctx context.Context, nodes ...int) error {
	if len(nodes) == 0 {
		return nil
	}
	now, before := time.Now(), r.disowned()
	seen := make(map[int]signals.Observed, len(nodes))
	for _, i := range nodes {
		// Most often it is what this runner wrote itself.
		if n := &r.hist.Nodes[i]; n.Marker != nil && n.Published && r.scanner.Same(i, n.Marker.Identity) {
			continue
		}
		o, err := r.scanner.Look(i, now)
		if err != nil {
			r.Log.Error("a marker cannot be looked at", "node", r.g.Nodes[i].Name, "err", err)
			continue
		}
		seen[i] = o
	}
	return r.judge(ctx, now, before, maps.All(seen))
}

// judge acts on what was observed: it records a person's decisions, puts back
// what is missing, and reruns what a person removed. Nodes that were disowned
// before it was observed, or are since, say nothing in this run.
func (r *Runner) judge(ctx context.Context, now time.Time, before map[int]bool, seen iter.Seq2[int, signals.Observed]) error {
	var (
		recs   []run.Record
		resets []int
		errs   []error
	)
	seen, err := r.agreed(ctx, seen)
	if err != nil {
		return err
	}
	if r.hist.Final != "" {
		own, done, err := r.ownOnly(ctx, now, before, seen)
		if err != nil {
			r.Log.Warn("what a person did to a marker waits: the run has lost names that it needs to go on", "err", err)
			return nil
		}
		defer done()
		seen = own
	}
	for i, o := range seen {
		if now.Before(r.putOff[i]) {
			continue
		}
		delete(r.putOff, i)
		found, again, err := r.answerMarker(ctx, i, o, now)
		if err != nil {
			errs = append(errs, err)
			// Not when a file comes or goes: the try itself makes one that goes.
			r.putOff[i] = now.Add(rescan)
		}
		recs = append(recs, found...)
		if again {
			resets = append(resets, i)
		}
	}
	if len(recs) > 0 {
		if err := r.commit(ctx, recs...); err != nil {
			return err
		}
	}
	if len(resets) > 0 {
		recs := Moved(ctx, r.repo, r.hist, resets...)
		for _, i := range resets {
			recs = append(recs, r.byHand(i, "removed")...)
			recs = append(recs, run.Record{Type: run.Reset, Node: r.g.Nodes[i].Name})
		}
		if err := r.learn(ctx, recs...); err != nil {
			return err
		}
	}
	if err := errors.Join(errs...); err != nil {
		// A marker is a copy of a record: what could not be done to one is
		// tried again later, and stops nothing.
		r.Log.Error("a marker could not be put right; trying again", "err", err)
	}
	return nil
}

// recorded is what the records say of a node's marker.
type recorded struct {
	signals.Recorded
	withdrawn *run.Written
	attempts  int
}

func (r *Runner) recorded(i int) recorded {
	n := &r.hist.Nodes[i]
	return recorded{n.Recorded(), n.Withdrawn, n.Fact.Attempts}
}

// agreed returns what was seen of markers, at a moment at which all that the records
// say of them was known. An attempt in a pane records its end and publishes its marker
// by itself, at any moment: what is seen before or after its records are read would
// look as if a person had written or removed the marker.
func (r *Runner) agreed(ctx context.Context, seen iter.Seq2[int, signals.Observed]) (iter.Seq2[int, signals.Observed], error) {
	known := make(map[int]recorded)
	for i := range seen {
		known[i] = r.recorded(i)
	}
	if len(known) == 0 {
		return seen, r.flush(ctx)
	}
	again := make(map[int]signals.Observed)
	for {
		if err := r.learn(ctx); err != nil {
			return nil, err
		}
		changed := false
		for i, was := range known {
			is := r.recorded(i)
			if is == was {
				continue
			}
			o, err := r.scanner.Look(i, time.Now())
			if err != nil {
				r.Log.Error("a marker cannot be looked at", "node", r.g.Nodes[i].Name, "err", err)
				r.putOff[i] = time.Now().Add(rescan)
			}
			changed, known[i], again[i] = true, is, o
		}
		if !changed {
			break
		}
	}
	return func(yield func(int, signals.Observed) bool) {
		for i, o := range seen {
			if newer, ok := again[i]; ok {
				o = newer
			}
			if !yield(i, o) {
				return
			}
		}
	}, nil
}

// answerMarker is what to record of what stands in the place of node i's marker,
// and whether the node is to run again.
func (r *Runner) answerMarker(ctx context.Context, i int, o signals.Observed, now time.Time) (recs []run.Record, again bool, err error) {
	delete(r.unwritten, i)
	n, name := &r.hist.Nodes[i], r.g.Nodes[i].Name
	if n.Stale(o) {
		if n.Marker != nil {
			r.unseen[i] = now // it was in the way of the one that counts
		}
		return nil, false, signals.RemoveOnly(r.Run.Signals(), name, o.Identity)
	}
	v := n.Judge(o, now)
	if r.hist.Final != "" && v.Kind.Done() && !n.Skipped && n.Recorded().Content.Success() {
		return nil, false, nil // changes nothing in this run: a person's word on the next one
	}
	switch v.Kind {
	case signals.None:
	case signals.Ours:
		if n.Marker != nil && !n.Published {
			recs = append(recs, run.Record{Type: run.Published, Node: name})
		}
		if n.Marker != nil && o.Identity != n.Marker.Identity && r.hist.Final == "" {
			// A touch of a done node changes nothing: not at the next start either,
			// which takes what was touched since the run's end for a person's word.
			recs = append(recs, adopted(name, n, o))
		}
	case signals.Adopt:
		recs = append(recs, adopted(name, n, o))
	case signals.Retry, signals.PutBack, signals.Torn:
		if v.Kind == signals.Retry && n.Blocked == "" {
			return nil, true, nil
		}
		// A 99 is derived: it goes when its cause does, and not before.
		rec, err := r.putBack(i)
		if err != nil {
			return nil, false, err
		}
		recs = append(recs, rec)
	case signals.Unsettled:
		r.unseen[i] = v.Until
	default:
		recs, err = r.answerPerson(ctx, i, v, o)
	}
	return recs, false, err
}

// adopted is the record that the marker of a node is this file now.
func adopted(name string, n *run.Node, o signals.Observed) run.Record {
	w := *n.Marker
	w.Identity = o.Identity
	return run.Record{Type: run.Published, Node: name, Marker: &w}
}

// answerPerson is what to record of a marker of node i that cmux did not write:
// a person's decision, or what an agent may not.
func (r *Runner) answerPerson(ctx context.Context, i int, v signals.Verdict, o signals.Observed) (recs []run.Record, err error) {
	if v.Kind.Done() && r.g.Nodes[i].AsksCode() {
		return r.keepClosed(i, o)
	}
	by := r.suspects(ctx, v.Kind, o)
	if by == nil {
		rec, err := r.decided(ctx, i, v, o)
		if err != nil {
			return nil, err
		}
		return append(r.byHand(i, "written"), rec), nil
	}
	back, err := r.takeBack(i, o)
	if err != nil {
		return nil, err
	}
	if back != nil {
		recs = append(recs, *back)
	}
	if rec := r.suspected(i, by); !r.hist.Known(rec.How, rec.Detail) {
		r.Log.Warn("incident", "how", rec.How, "node", rec.Node, "what", rec.Detail)
		recs = append(recs, rec)
	}
	return recs, nil
}

// putBack publishes the recorded marker of node i again.
func (r *Runner) putBack(i int) (run.Record, error) {
	n, name := &r.hist.Nodes[i], r.g.Nodes[i].Name
	w := *n.Marker
	c := n.Recorded().Content
	if c.Kind == signals.Bad { // what cmux did not write, it says in its own way
		w = run.Written{Code: 1}
		c = signals.Content{Kind: signals.Code, Code: w.Code}
	}
	id, err := signals.Replace(r.Run.Signals(), name, c)
	if run.NoSpace(err) {
		r.unwritten[i] = true
	}
	w.Identity = id
	return run.Record{Type: run.Published, Node: name, Marker: &w}, err
}

// decided is the record of a person's marker.
func (r *Runner) decided(ctx context.Context, i int, v signals.Verdict, o signals.Observed) (run.Record, error) {
	name := r.g.Nodes[i].Name
	rec, _ := run.OverrideBy(name, v, o)
	if v.Kind == signals.Touched {
		// What the marker holds becomes what the person meant by touching it.
		id, err := signals.Replace(r.Run.Signals(), name, signals.Content{Kind: signals.Empty})
		if err != nil {
			return rec, err
		}
		rec.Code = 0
		rec.Marker = &run.Written{Empty: true, Identity: id}
	}
	if rec.Code == 0 && rec.How != run.HowBad {
		rec.Tip = tip(ctx, r.repo, &r.g.Nodes[i])
	}
	return rec, nil
}

// withdraw removes the markers that records say no longer count. One that is
// not the recorded one stays: it is a person's.
func (r *Runner) withdraw(nodes []int) error {
	now, disowned := time.Now(), r.disowned()
	var errs []error
	for _, i := range nodes {
		n := &r.hist.Nodes[i]
		if n.Withdrawn == nil || disowned[i] {
			continue
		}
		o, err := r.scanner.Look(i, now)
		if err == nil && o.Exists && o.Identity == n.Withdrawn.Identity {
			err = signals.RemoveOnly(r.Run.Signals(), r.g.Nodes[i].Name, o.Identity)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		r.Log.Error("a withdrawn marker could not be removed; trying again", "err", err)
	}
	return nil
}

// success reports whether node i has ended as a success.
func (r *Runner) success(i int) bool {
	f := r.hist.State.Fact(i)
	return f.Phase == dag.Ended && f.Outcome.Success()
}
