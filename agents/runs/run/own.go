package run

import "cmux/dag"

// WithOwn returns g with the named nodes taken from from. Each keeps what ties it into the
// graph: name, dependencies, join, condition, role, branch, kind of agent, outputs, and
// position in the configuration. It skips a name that one of the graphs does not have.
func WithOwn(g, from *dag.Graph, names ...string) (*dag.Graph, error) {
	b, err := g.Encode()
	if err != nil {
		return nil, err
	}
	c, err := dag.Decode(b)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		i, j := c.Index(name), from.Index(name)
		if i < 0 || j < 0 {
			continue
		}
		was := c.Nodes[i]
		n := &c.Nodes[i]
		*n = from.Nodes[j]
		n.Name, n.DependsOn, n.When, n.If, n.Finally = was.Name, was.DependsOn, was.When, was.If, was.Finally
		n.Role, n.Branch, n.Agent, n.Approve, n.Command = was.Role, was.Branch, was.Agent, was.Approve, was.Command
		n.Outputs, n.Matrix, n.Line, n.File = was.Outputs, was.Matrix, was.Line, was.File
	}
	return c, nil
}
