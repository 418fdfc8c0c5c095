package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/dag/keys"
	"cmux/worktree/hint"
)

// LatestView is the run that is meant, as it stands.
func (p *Runs) LatestView(ctx context.Context) (*run.View, error) {
	r, err := p.Latest(ctx)
	if err != nil {
		return nil, err
	}
	return r.View(ctx, p.Now())
}

// Named is the run with an id, or the one that is meant where that is empty. A part of the
// id that no other run's has, from its beginning or its end, will do.
func (p *Runs) Named(ctx context.Context, id string) (*run.Run, error) {
	return p.NamedFor(ctx, id, "")
}

// NamedFor is Named for what is asked of a node, as meant is Latest.
func (p *Runs) NamedFor(ctx context.Context, id, node string) (*run.Run, error) {
	if id == "" {
		return p.Meant(ctx, node)
	}
	ids, err := run.List(p.Root)
	if err != nil {
		return nil, err
	}
	if slices.Contains(ids, id) {
		return run.Open(p.Root, id)
	}
	var fits []string
	for _, full := range ids {
		if strings.HasPrefix(full, id) || strings.HasSuffix(full, id) {
			fits = append(fits, full)
		}
	}
	switch len(fits) {
	case 0:
		return nil, project.Usage("cmux agents list", "%w", project.Tag(fmt.Errorf("there is no run %q", id), project.ErrMissing))
	case 1:
		return run.Open(p.Root, fits[0])
	}
	return nil, project.Usage("cmux agents list", "%q may be any of %s", id, say.List(fits, 5))
}

// Node is the run that is meant, as it stands, and the index of the named node.
func (p *Runs) Node(ctx context.Context, name string) (*run.View, int, error) {
	r, err := p.Meant(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	return p.NodeOf(ctx, r, name)
}

// NodeOf is a run as it stands, and the index of the named node.
func (p *Runs) NodeOf(ctx context.Context, r *run.Run, name string) (*run.View, int, error) {
	i, err := Index(r, name)
	if err != nil {
		return nil, 0, err
	}
	v, err := r.View(ctx, p.Now())
	return v, i, err
}

// Index is the index of the named node in r's graph.
func Index(r *run.Run, name string) (int, error) {
	g := r.Plan.Graph
	if i := g.Index(name); i >= 0 {
		return i, nil
	}
	names := g.Names()
	err := project.Tag(project.Tag(fmt.Errorf("run %s has no node %q: it has %s", r.Plan.ID, name, say.List(names, 20)), project.ErrUsage), project.ErrMissing)
	if near := Nearest(name, names); near != "" {
		return 0, hint.New(err, near+" instead of "+name)
	}
	return 0, err
}

// HadNode is the id of the newest run that has a node of that name; empty: none has.
func (p *Runs) HadNode(name string) string {
	ids, _ := run.List(p.Root)
	for _, id := range slices.Backward(ids) {
		if r, err := run.Open(p.Root, id); err == nil && r.Plan.Graph.Index(name) >= 0 {
			return id
		}
	}
	return ""
}

// hasNode reports whether a run has a node, or the nodes of a matrix, of a name.
func hasNode(r *run.Run, name string) bool {
	return r.Plan.Graph.Index(name) >= 0 || HasMatrix(r.Plan.Graph, name)
}

func HasMatrix(g *dag.Graph, name string) bool {
	return slices.ContainsFunc(g.Nodes, func(n dag.Node) bool { return n.Matrix != nil && n.Matrix.Name == name })
}

// Nearest is the name that s was most likely meant to be, or one that begins
// with it; empty when there is none.
func Nearest(s string, names []string) string {
	if near := keys.Nearest(s, names); near != "" || s == "" {
		return near
	}
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(strings.ToLower(n), strings.ToLower(s)) }); i >= 0 {
		return names[i]
	}
	return ""
}
