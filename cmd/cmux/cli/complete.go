package cli

import (
	"context"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/room/book"
	"cmux/dag"
)

// CompleteNode completes the name of a node of the run that is meant.
func (d *Deps) CompleteNode(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.CompleteNodes(cmd, args, func(*dag.Node) bool { return true })
}

// CompleteRun completes the id of a run.
func (d *Deps) CompleteRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.complete(cmd, args, func(p *control.Project) ([]string, error) { return p.Runs().RunIDs() })
}

// CompleteRunNode completes the name of a node, of the run that is meant or of the one
// before it.
func (d *Deps) CompleteRunNode(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return d.complete(cmd, nil, func(p *control.Project) ([]string, error) {
		names, err := p.Runs().Nodes(cmd.Context(), First(args), func(*dag.Node) bool { return true })
		if len(args) == 0 {
			ids, _ := p.Runs().RunIDs()
			names = append(names, ids...)
		}
		return names, err
	})
}

// CompleteGate completes the name of a gate of the run that is meant.
func (d *Deps) CompleteGate(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.CompleteNodes(cmd, args, func(n *dag.Node) bool { return n.Role == dag.RoleGate })
}

// CompleteNodes completes the name of a node that fits, of the run that is meant.
func (d *Deps) CompleteNodes(cmd *cobra.Command, args []string, fits func(*dag.Node) bool) ([]string, cobra.ShellCompDirective) {
	return d.complete(cmd, args, func(p *control.Project) ([]string, error) { return p.Runs().Nodes(cmd.Context(), "", fits) })
}

// complete completes the first argument by what of gives.
func (d *Deps) complete(cmd *cobra.Command, args []string, of func(*control.Project) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p, err := d.Project(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := of(p) // where there is no run there are none
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Completing completes the first argument by what of gives.
func (d *Deps) Completing(of func(context.Context, *control.Project) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return d.complete(cmd, args, func(p *control.Project) ([]string, error) { return of(cmd.Context(), p) })
	}
}

// CompleteAgent completes the name of a standing agent.
func (d *Deps) CompleteAgent(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.complete(cmd, args, func(p *control.Project) ([]string, error) { return p.Overview().AgentNames() })
}

// CompleteRoom completes the name of a room.
func (d *Deps) CompleteRoom(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.complete(cmd, args, func(p *control.Project) ([]string, error) { return book.Rooms(p.Root) })
}

// completeSession completes the name of a session.
func (d *Deps) completeSession(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := d.Project(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := p.Runs().Sessions() // where there is no run there are none
	return names, cobra.ShellCompDirectiveNoFileComp
}

// First is the first argument, empty without one.
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
