package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// A runner takes another plan in by leaving and coming again with it: agents
// need no runner, and it keeps nothing that it cannot read back.

// errStale says that the configuration is not what the person was shown.
var errStale = errors.New("the configuration has been edited since it was shown: ask for this again")

// configured is the configuration as it is now, if it is the one that was shown.
func (r *Runner) configured(sum string) (*dag.Graph, []byte, error) {
	src, err := run.ReadConfig(r.Run.Plan.Config)
	if err != nil {
		return nil, nil, err
	}
	if run.Sum(src) != sum {
		return nil, nil, errStale
	}
	g, _, err := ParseConfig(r.Run, src, r.Kinds, r.env)
	return g, src, err
}

// answerUpdate takes the whole configuration in. Agents of nodes that it removes
// are ended first.
func (r *Runner) answerUpdate(ctx context.Context, q run.Request) deed {
	if r.lives.Bound() {
		return refuse("a headless run whose commands are running takes no update: cmux agents stop, then cmux agents update")
	}
	g, src, err := r.configured(q.Sum)
	if err != nil {
		return deed{refusal: err}
	}
	if g.Session != r.g.Session {
		return refuse("the session cannot be changed under a run: %s is now %s", r.g.Session, g.Session)
	}
	var gone []int
	waits := false
	for i := range r.g.Nodes {
		name := r.g.Nodes[i].Name
		if g.Index(name) >= 0 {
			continue
		}
		gone = append(gone, i)
		if !r.hist.Nodes[i].Fact.Live() {
			continue
		}
		waits = true
		key := q.ID + "/" + name
		a := r.asked[key]
		if a == nil {
			a = &asked{node: i, cancel: true}
			r.asked[key] = a
		}
		if l := r.lives.Of(name); l != nil && l.N != a.attempt {
			a.attempt = l.N
			r.lives.Say(ctx, name, attempt.Message{Op: attempt.OpCancel})
		}
	}
	if waits {
		return deed{wait: true}
	}
	done, err := r.takeNew(ctx, g)
	if err != nil {
		return deed{refusal: err}
	}
	defer done()
	for _, i := range gone {
		delete(r.asked, q.ID+"/"+r.g.Nodes[i].Name)
		if err := r.archive(i); err != nil {
			return deed{refusal: err}
		}
	}
	return r.refreeze(g, src, deed{})
}

// own is the plan in which the node of a retry is as the configuration has it,
// but for what ties it into the graph; src is nil where the rest of that is still
// to be taken in. Without a plan nothing is taken.
func (r *Runner) own(q run.Request) (g *dag.Graph, src []byte, err error) {
	if q.Sum == "" {
		return nil, nil, nil
	}
	way := "cmux agents retry " + q.Node + " --frozen runs it as it was"
	if r.lives.Bound() {
		return nil, nil, fmt.Errorf("a headless run whose commands are running keeps its definitions: %s", way)
	}
	now, src, err := r.configured(q.Sum)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (%s)", err, way)
	}
	if g, err = run.WithOwn(r.g, now, q.Node); err != nil {
		return nil, nil, err
	}
	if !g.Same(now) {
		src = nil
	}
	return g, src, nil
}

// refreeze makes g the plan once what d comes to is recorded, and has the runner
// come again with it. src is nil where g is not all of the configuration.
func (r *Runner) refreeze(g *dag.Graph, src []byte, d deed) deed {
	// Not this process's own: others are reading that.
	plan, err := run.OpenDir(r.Run.Dir)
	if err == nil {
		err = plan.Refreeze(g, src)
	}
	if err != nil {
		return deed{refusal: err}
	}
	then := d.then
	d.recs = append([]run.Record{{Type: run.Updated}}, d.recs...)
	d.then = func() error {
		r.updated = true
		r.leave(run.HowUpdated)
		if then != nil {
			return then()
		}
		return nil
	}
	return d
}

// archive moves the marker of a node that leaves the run into its folder.
func (r *Runner) archive(i int) error {
	name, n := r.g.Nodes[i].Name, &r.hist.Nodes[i]
	if n.Marker == nil {
		return nil
	}
	text := ""
	if !n.Marker.Empty {
		text = fmt.Sprintf("%d\n", n.Marker.Code)
	}
	dir := filepath.Dir(r.Run.NodeLock(name))
	if err := signals.MkdirAll(dir, 0o700); err != nil { // a silent command has made none
		return err
	}
	if err := signals.WriteFile(filepath.Join(dir, "removed"+signals.Suffix), []byte(text), 0o600); err != nil {
		return err
	}
	return signals.Remove(r.Run.Signals(), name)
}
