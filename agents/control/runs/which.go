package runs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/worktree/hint"
)

// candidate is the newest run of a session.
type candidate struct {
	run.Owner
	run  *run.Run
	over bool // it has ended, or its names were given up: nobody means it by saying nothing
}

// Latest is the run that a command means: that of Session; else the one in whose
// worktree, or attempt, the caller stands; else the only one that has not ended.
// Of several the caller chooses, and where all have ended it is the newest.
func (p *Runs) Latest(ctx context.Context) (*run.Run, error) { return p.Meant(ctx, "") }

// Meant is Latest for an order to a node, whose name decides between runs: no two
// unfinished ones have it.
func (p *Runs) Meant(ctx context.Context, node string) (*run.Run, error) {
	owners, err := run.Owners(p.Root)
	switch {
	case err != nil:
		return nil, err
	case len(owners) == 0:
		return nil, hint.New(run.ErrNone, "cmux agents start")
	case p.Session != "":
		return p.ofSession(owners)
	case len(owners) == 1:
		return run.OpenAhead(p.Root, owners[0].ID)
	}
	all, err := p.candidates(owners)
	if err != nil {
		return nil, err
	}
	if c := p.standsIn(all); c != nil && (node == "" || hasNode(c.run, node)) {
		return c.run, nil
	}
	open := unended(all)
	if node != "" && len(open) != 1 {
		if having := slices.DeleteFunc(slices.Clone(open), func(c candidate) bool { return !hasNode(c.run, node) || !c.Owns(node) }); len(having) == 1 {
			return having[0].run, nil
		}
	}
	switch len(open) {
	case 0:
		return all[len(all)-1].run, nil
	case 1:
		return open[0].run, nil
	}
	return p.choose(ctx, open)
}

func unended(all []candidate) []candidate {
	return slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return c.over })
}

// candidates opens the newest runs of the sessions, oldest first.
func (p *Runs) candidates(owners []run.Owner) ([]candidate, error) {
	all := make([]candidate, 0, len(owners))
	for _, o := range owners {
		r, err := run.Open(p.Root, o.ID)
		if err != nil {
			return nil, err
		}
		over, err := r.Over()
		if err != nil {
			return nil, err
		}
		all = append(all, candidate{o, r, over || o.Free && !r.RunnerLives()})
	}
	return all, nil
}

// ofSession is the newest run of the session that was asked for.
func (p *Runs) ofSession(owners []run.Owner) (*run.Run, error) {
	var sessions []string
	for _, o := range owners {
		if o.Session == p.Session {
			return run.Open(p.Root, o.ID)
		}
		sessions = append(sessions, o.Session)
	}
	try := "cmux agents list"
	if near := Nearest(p.Session, sessions); near != "" {
		try = "--session " + near
	}
	return nil, project.Usage(try, "there is no run of session %q in this project: there are %s", p.Session, say.List(sessions, 10))
}

// standsIn is the run that the caller works for, or in one of whose worktrees
// they are; nil: in none.
func (p *Runs) standsIn(all []candidate) *candidate {
	attempt, _, _ := strings.Cut(p.Getenv("CMUX_ATTEMPT"), "/")
	dirs := []string{p.Dir}
	if real, err := filepath.EvalSymlinks(p.Dir); err == nil && real != p.Dir {
		dirs = append(dirs, real)
	}
	for i := range slices.Backward(all) {
		c := &all[i]
		if c.ID == attempt {
			return c
		}
		g := c.run.Plan.Graph
		for k := range g.Nodes {
			if !g.Nodes[k].HasTree() {
				continue
			}
			tree := g.TreePath(c.run.Plan.Root, &g.Nodes[k])
			if slices.ContainsFunc(dirs, func(dir string) bool {
				rel, err := filepath.Rel(tree, dir)
				return err == nil && filepath.IsLocal(rel)
			}) {
				return c
			}
		}
	}
	return nil
}

// choose asks which of several runs is meant, or says how to say so.
func (p *Runs) choose(ctx context.Context, open []candidate) (*run.Run, error) {
	choices := make([]project.Choice, len(open))
	for i, c := range open {
		v, err := c.run.View(ctx, p.Now())
		if err != nil {
			return nil, err
		}
		choices[i] = project.Choice{ID: c.ID, Session: c.Session, Stands: fmt.Sprintf("%s, %d of %d done", v.RunState, Count(v).Done, len(v.Nodes))}
	}
	if p.Choose != nil {
		k, err := p.Choose(ctx, choices)
		if err != nil {
			return nil, err
		}
		p.Session = choices[k].Session // for the rest of what is asked
		return open[k].run, nil
	}
	command := p.Command
	if command == "" {
		command = "cmux agents status"
	}
	lines := []string{"several runs have not ended, and any of them may be meant:"}
	for _, c := range choices {
		lines = append(lines, fmt.Sprintf("  %s --session %s   (%s)", command, c.Session, c.Stands))
	}
	return nil, project.Usage("one of these", "%s", strings.Join(lines, "\n"))
}

// Several are the project's unfinished runs, newest first, where the caller
// means none of them in particular.
func (p *Runs) Several(ctx context.Context) (runs []*run.Run, err error) {
	owners, err := run.Owners(p.Root)
	if err != nil || len(owners) < 2 || p.Session != "" {
		return nil, err
	}
	all, err := p.candidates(owners)
	if err != nil || p.standsIn(all) != nil {
		return nil, err
	}
	for _, c := range slices.Backward(unended(all)) {
		runs = append(runs, c.run)
	}
	return runs, ctx.Err()
}

// Newest is the newest run of a session; nil: it has none.
func (p *Runs) Newest(session string) (*run.Run, error) {
	owners, err := run.Owners(p.Root)
	if err != nil {
		return nil, err
	}
	for _, o := range owners {
		if o.Session == session {
			return run.Open(p.Root, o.ID)
		}
	}
	return nil, nil
}

// IsNewest reports whether r is the newest run of its session: commands go on
// with no other.
func (p *Runs) IsNewest(r *run.Run) (bool, error) {
	own, err := r.Owner()
	return own != nil, err
}

// Sessions are the project's sessions that have a run.
func (p *Runs) Sessions() (names []string, err error) {
	owners, err := run.Owners(p.Root)
	for _, o := range owners {
		names = append(names, o.Session)
	}
	return names, err
}
