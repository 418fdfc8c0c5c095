package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/runview"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/worktree/hint"
)

// Resumable is the run that is meant, if it can go on as it is.
func (p *Commands) Resumable(ctx context.Context) (*run.View, error) {
	r, err := p.Runs.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if holder, err := runner.Vacate(ctx, r); err != nil {
		return nil, err
	} else if holder != nil {
		return nil, hint.New(fmt.Errorf("run %s %w (%s)", r.Plan.ID, runner.ErrRunning, holder.Brief(p.Now())), "cmux agents attach")
	}
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return nil, err
	}
	ended, err := r.Over()
	if err != nil {
		return nil, err
	}
	if ended && runview.Over(v) && len(v.Pending) == 0 {
		return nil, hint.New(fmt.Errorf("run %s has ended (%s): there is nothing to resume", r.Plan.ID, v.RunState),
			"cmux agents retry NAME, or cmux agents start")
	}
	if r.Plan.Headless {
		if err := run.CheckFiles(); err != nil {
			return nil, err
		}
	}
	return v, runner.Claim(ctx, r)
}

// Resume freezes the environment of the caller with a run, for the next runner. It
// notes how this environment differs from the one before. It withdraws an order to
// stop that no runner has carried out.
func (p *Commands) Resume(v *run.View) error {
	if frozen, err := v.Run.Env(); err == nil {
		if differ := differing(frozen, p.Env); len(differ) > 0 {
			p.Tell(fmt.Sprintf("The nodes get the environment of this shell. It differs from that of the run's start in %s.", say.List(differ, 8)))
		}
	} else if err := p.tellMissing(v.Run); err != nil {
		return err
	}
	return errors.Join(v.Run.Withdraw(time.Now()), v.Run.WriteEnv(p.Env))
}

// GoOn resumes the run that is meant with a runner in tmux. The run keeps the
// environment of its start while there is one: the caller is a server, which may
// have come from another shell.
func (p *Commands) GoOn(ctx context.Context) (*run.View, error) {
	v, err := p.Resumable(ctx)
	if err != nil {
		return nil, err
	}
	if v.Run.Plan.Headless {
		return nil, hint.New(fmt.Errorf("run %s is headless: its runner is a process in your terminal", v.Run.Plan.ID), "cmux agents resume")
	}
	if err := v.Run.Withdraw(time.Now()); err != nil {
		return nil, err
	}
	if _, err := v.Run.Env(); err != nil {
		if err := p.environment(v.Run); err != nil {
			return nil, err
		}
	}
	if err := p.Launch(ctx, Launch{Run: v.Run, Resumed: true}); err != nil {
		return nil, err
	}
	return v.Run.View(ctx, p.Now())
}

// Updatable is the run that is meant, live or not.
func (p *Commands) Updatable(ctx context.Context) (*run.View, error) { return p.Runs.LatestView(ctx) }

// Update is what the configuration on disk would change in a run.
type Update struct {
	Changes []Change `json:"changes"`

	run   *run.Run
	graph *dag.Graph
	src   []byte
}

// Change is what an update does to one node.
type Change struct {
	Name string `json:"name"` // (run): what is no node's
	What string `json:"what"` // the keys that differ, or new, or removed
	Then string `json:"then"` // what follows
}

// PlanUpdate compares the plan of a run with the configuration on disk.
func (p *Commands) PlanUpdate(ctx context.Context, v *run.View) (*Update, error) {
	path := v.Run.Plan.Config
	src, err := run.ReadConfig(path)
	switch {
	case !errors.Is(err, os.ErrNotExist):
	case path == p.Configurations.Config(""):
		return nil, p.Configurations.NoConfig(ctx, path)
	default: // it was named to start, and has no other name here
		return nil, project.Usage("", "there is no %s", path)
	}
	if err != nil {
		return nil, err
	}
	g, _, err := runner.ParseConfig(v.Run, src, p.Kinds, p.Env)
	if err != nil {
		return nil, err
	}
	changes, err := planChanges(v, g)
	if err != nil {
		return nil, err
	}
	return &Update{changes, v.Run, g, src}, nil
}

// Sum names the configuration that u was made from.
func (u *Update) Sum() string { return run.Sum(u.src) }

// UpdateSeen has the runner take the configuration on disk in, as long as it is the
// one that a person was shown, by its sum.
func (p *Commands) UpdateSeen(ctx context.Context, sum string) (Taken, error) {
	v, err := p.Updatable(ctx)
	if err != nil {
		return Taken{}, err
	}
	u, err := p.PlanUpdate(ctx, v)
	if err != nil {
		return Taken{}, err
	}
	if u.Sum() != sum {
		return Taken{}, hint.New(fmt.Errorf("%s has changed since it was looked at: nothing was updated", p.Short(v.Run.Plan.Config)), "cmux agents update, which shows what it changes")
	}
	return p.Update(ctx, u)
}

// Draw draws the graph as it would be.
func (u *Update) Draw(w io.Writer) error { return u.graph.Draw(w, "text") }

// Update has the runner take in what u shows, and gives the run one where it has
// none.
func (p *Commands) Update(ctx context.Context, u *Update) (Taken, error) {
	v, err := u.run.View(ctx, p.Now())
	if err != nil {
		return Taken{}, err
	}
	return p.order(ctx, v, run.Request{Op: run.OpUpdate, Sum: run.Sum(u.src)})
}

// planChanges compares the frozen plan with g.
func planChanges(v *run.View, g *dag.Graph) ([]Change, error) {
	old := v.Run.Plan.Graph
	var (
		all  []Change
		errs []error
	)
	if old.Session != g.Session {
		errs = append(errs, hint.New(fmt.Errorf("the session cannot be changed under a run: %s is now %s", old.Session, g.Session),
			runview.SessionWay(v)))
	}
	what, err := ChangedKeys(old, g, "nodes", "session", "included")
	if err != nil {
		return nil, err
	}
	if what != "" {
		all = append(all, Change{"(run)", what, "at once"})
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		j := old.Index(n.Name)
		if j < 0 {
			all = append(all, Change{n.Name, "new", "starts when it is ready"})
			continue
		}
		what, err := ChangedKeys(&old.Nodes[j], n, "line", "file")
		if err != nil {
			return nil, err
		}
		if what == "" {
			continue
		}
		then := "at its next attempt"
		switch {
		case runview.Succeeded(&v.Nodes[j]):
			then = "stays done"
		case v.Nodes[j].Fact.Live():
			then = "at its next attempt: it runs, and ends as it was"
		}
		all = append(all, Change{n.Name, what, then})
	}
	for j := range old.Nodes {
		name := old.Nodes[j].Name
		if g.Index(name) >= 0 {
			continue
		}
		then := "is left out; its branch and worktree stay"
		if v.Nodes[j].Fact.Live() {
			then = "its agent is ended; its branch and worktree stay"
		}
		all = append(all, Change{name, "removed", then})
	}
	return all, errors.Join(errs...)
}

// ChangedKeys names the keys in which the JSON forms of a and b differ.
func ChangedKeys(a, b any, except ...string) (string, error) {
	fields := func(v any) (map[string]json.RawMessage, error) {
		m := make(map[string]json.RawMessage)
		j, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(j, &m)
		}
		return m, err
	}
	x, err := fields(a)
	if err != nil {
		return "", err
	}
	y, err := fields(b)
	if err != nil {
		return "", err
	}
	keys := make(map[string]bool)
	for _, m := range []map[string]json.RawMessage{x, y} {
		for k := range m {
			keys[k] = keys[k] || string(x[k]) != string(y[k])
		}
	}
	var changed []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if keys[k] && !slices.Contains(except, k) {
			changed = append(changed, k)
		}
	}
	return strings.Join(changed, ", "), nil
}
