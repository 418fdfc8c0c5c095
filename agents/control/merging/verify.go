package merging

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/platform/say"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// Verify orders that the checks of a node are run now, in its worktree. It
// changes nothing about the node.
type Verify struct {
	Node string `json:"node"`

	Output io.Writer      `json:"-"` // what the checks write
	Begun  func(string)   `json:"-"` // is told each check's command before it is run; may be nil
	Ended  func(*Checked) `json:"-"` // is told the result; may be nil
}

// Checked is a check that was run.
type Checked struct {
	Command string        `json:"command"`
	Failed  string        `json:"failed,omitempty"` // why; empty: it passed
	Took    time.Duration `json:"took"`
}

// Verify runs the checks of a node, one after the other, in the environment in
// which its attempt runs them. What the person's environment has stands beneath.
func (p *Merging) Verify(ctx context.Context, o Verify) ([]Checked, error) {
	v, i, err := p.Runs.Node(ctx, o.Node)
	if err != nil {
		return nil, err
	}
	n := &v.Nodes[i]
	if len(n.Spec.Verify) == 0 {
		return nil, fmt.Errorf("%s has no verify commands", o.Node)
	}
	a := n.Attempt()
	if a == nil || a.Place.Dir == "" && !a.Place.Away() {
		return nil, fmt.Errorf("%s has no worktree yet (%s)", o.Node, n.Status.Label)
	}
	if err := elsewhere(n, a, v.Run.Plan.Root); err != nil {
		return nil, err
	}
	if _, err := os.Stat(a.Place.Dir); err != nil {
		return nil, fmt.Errorf("the worktree of %s is gone: %w", o.Node, err)
	}
	var all []Checked
	err = p.check(ctx, v.Run, n, a.Place.Dir, n.Spec.Verify, o.Output, o.Begun, func(c Checked) error {
		all = append(all, c)
		if o.Ended != nil {
			o.Ended(&c)
		}
		return nil
	})
	return all, err
}

// elsewhere refuses to run the checks of a node here whose work is in no worktree here: the
// project's root holds other files.
func elsewhere(n *run.NodeView, a *run.Attempt, root string) error {
	name, try := n.Spec.Name, "cmux agents retry "+n.Spec.Name
	if n.Fact.Live() {
		try = "cmux agents logs " + name + " -f"
	}
	if n.Spec.HasBranch() {
		try += fmt.Sprintf(", or git worktree add ../%s-checks %s and run them there", say.Word(name), say.Word(n.Spec.Branch))
	}
	switch {
	case a.Place.Away() && a.Place.Machine == "":
		return hint.New(fmt.Errorf("%s waits for a machine: its checks run there", name), try)
	case a.Place.Away():
		return hint.New(fmt.Errorf("%s worked on %s: its checks run there", name, a.Place.Machine), try)
	case n.Spec.HasTree() && (a.Place.Tree == "" || a.Place.Dir == root):
		return hint.New(fmt.Errorf("%s has no worktree here, and its checks do not run in %s", name, root), try)
	}
	return nil
}

// check runs commands in dir as the attempts of node n run their checks, and
// tells the result of each; an error of ended ends them.
func (p *Merging) check(ctx context.Context, r *run.Run, n *run.NodeView, dir string, commands []string, out io.Writer, begun func(string), ended func(Checked) error) error {
	spawner, err := proc.NewSpawner()
	if err != nil {
		return err
	}
	defer spawner.Close()
	node := *n.Spec
	node.Verify = commands
	spec := &run.Spec{Node: node.Name, Frame: r.Frame(), Def: &node}
	if a := n.Attempt(); a != nil {
		spec.Attempt, spec.Place = a.N, a.Place
	}
	if spec.Place.Dir != dir {
		spec.Place.Dir, spec.Place.Tree = dir, ""
		spec.Place.Far, spec.Place.Machine = "", "" // the commands run here
	}
	if begun == nil {
		begun = func(string) {}
	}
	job := attempt.Job{Spec: spec, Paths: r.Paths, Env: git.CleanEnv(p.Env), Spawner: spawner}
	return attempt.Verify(ctx, job, out, begun, func(check run.Check) error {
		c := Checked{Command: check.Command, Took: time.Duration(check.Took)}
		switch {
		case check.TimedOut:
			c.Failed = "took too long (" + time.Duration(node.VerifyTimeout).String() + ")"
		case check.Exit != 0:
			c.Failed = fmt.Sprintf("exit status %d", check.Exit)
		}
		return ended(c)
	})
}
