package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/run"
	"cmux/agents/runner"
	"cmux/dag"
	"cmux/signals"
)

func newResumeCmd(d *Deps) *cobra.Command {
	var (
		f      startFlags
		update bool
	)
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Go on with a run that was stopped or lost its runner",
		Long: `Go on with the newest run: after a stop, a crash, a reboot, or with what retry
asked of a run that had ended. Nodes that were lost are done again.

With --update the edited configuration is frozen anew: done nodes stay, all
others take their new definition at their next attempt. What changes is shown
and asked about.`,
		Example: "  cmux agents resume --update",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			r, err := d.latest(ctx)
			if err != nil {
				return err
			}
			if holder, err := runner.Vacate(ctx, r); err != nil {
				return err
			} else if holder != nil {
				try := "cmux agents attach"
				if update {
					try = "cmux agents stop, then cmux agents resume --update"
				}
				return &Hint{Err: fmt.Errorf("%w (%s, by %s)", runner.ErrRunning, r.Plan.ID, holder), Try: try}
			}
			v, err := r.View(ctx, d.Now())
			if err != nil {
				return err
			}
			ended, err := r.Over()
			if err != nil {
				return err
			}
			if ended && over(v) && len(v.Pending) == 0 && !update {
				return &Hint{Err: fmt.Errorf("run %s has ended (%s): there is nothing to go on with", r.Plan.ID, v.RunState),
					Try: "cmux agents retry NAME, or cmux agents start"}
			}
			if update {
				if err := d.update(ctx, v, f.yes); err != nil {
					return err
				}
			}
			if err := r.WriteEnv(d.Env); err != nil {
				return err
			}
			return d.launch(ctx, r, f, runner.HowResume)
		},
	}
	cmd.Flags().BoolVar(&f.detach, "detach", false, "do not attach to the session (the default without a terminal)")
	cmd.Flags().BoolVar(&update, "update", false, "freeze the edited configuration anew")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask about an update")
	return cmd
}

// update shows what the configuration on disk would change in a run and, after
// asking, freezes it.
func (d *Deps) update(ctx context.Context, v *run.View, yes bool) error {
	r := v.Run
	src, err := run.ReadConfig(r.Plan.Config)
	if err != nil {
		return err
	}
	g, _, err := runner.ParseConfig(r, src, d.Kinds, d.Env)
	if err != nil {
		return err
	}
	changes, err := planChanges(v, g)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintln(d.Out, "The configuration says what the plan says: nothing to update.")
		return err
	}
	rows := make([][]string, len(changes))
	for i, c := range changes {
		rows[i] = []string{c.Name, c.What, c.Then}
	}
	columns := []column{{head: "NODE"}, {head: "CHANGE", give: 1, least: 20}, {head: "THEN"}}
	if _, err := fmt.Fprint(d.Out, table(columns, rows, d.width(), d.colour())); err != nil {
		return err
	}
	if err := d.confirm(ctx, yes, "Freeze this?"); err != nil {
		return err
	}
	lock, err := signals.TryLock(run.LockPath(r.Plan.Root))
	if err != nil {
		return err
	}
	defer lock.Unlock()
	book, err := r.OpenBook()
	if err != nil {
		return err
	}
	defer book.Close()
	if err := r.Refreeze(g, src); err != nil {
		return err
	}
	return book.Append(ctx, run.Record{Type: run.Updated, Detail: fmt.Sprintf("%s changed", count(len(changes), "node"))})
}

// planChange is what an update does to one node, or to the run (no Name).
type planChange struct{ Name, What, Then string }

// planChanges compares the frozen plan with g. A node that is at work cannot
// be taken out.
func planChanges(v *run.View, g *dag.Graph) ([]planChange, error) {
	old := v.Run.Plan.Graph
	var (
		all  []planChange
		errs []error
	)
	if old.Session != g.Session {
		errs = append(errs, &Hint{Err: fmt.Errorf("the session cannot be changed under a run: %s is now %s", old.Session, g.Session),
			Try: "cmux agents start --new"})
	}
	what, err := changedKeys(old, g, "nodes", "session")
	if err != nil {
		return nil, err
	}
	if what != "" {
		all = append(all, planChange{"(run)", what, "at once"})
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		j := old.Index(n.Name)
		if j < 0 {
			all = append(all, planChange{n.Name, "new", "starts when it is ready"})
			continue
		}
		what, err := changedKeys(&old.Nodes[j], n, "line")
		if err != nil {
			return nil, err
		}
		if what == "" {
			continue
		}
		then := "at its next attempt"
		if control.Succeeded(&v.Nodes[j]) {
			then = "stays done"
		}
		all = append(all, planChange{n.Name, what, then})
	}
	for j := range old.Nodes {
		name := old.Nodes[j].Name
		if g.Index(name) >= 0 {
			continue
		}
		if v.Nodes[j].Fact.Live() {
			errs = append(errs, &Hint{Err: fmt.Errorf("%s is not in the configuration any more, and is running", name), Try: "cmux agents stop " + name})
		}
		all = append(all, planChange{name, "removed", "is left out; its branch and worktree stay"})
	}
	return all, errors.Join(errs...)
}

// changedKeys names the keys in which the JSON forms of a and b differ.
func changedKeys(a, b any, except ...string) (string, error) {
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
