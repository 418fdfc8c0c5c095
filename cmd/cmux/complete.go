package main

import (
	"context"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/dag"
)

// completeNode completes the name of a node of the run that is meant.
func (d *Deps) completeNode(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.completeNodes(cmd, args, func(*dag.Node) bool { return true })
}

// completeRun completes the id of a run.
func (d *Deps) completeRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.complete(cmd, args, func(p *control.Project) ([]string, error) { return p.Runs().RunIDs() })
}

// completeRunNode completes the name of a node, of the run that is meant or of the one
// before it.
func (d *Deps) completeRunNode(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return d.complete(cmd, nil, func(p *control.Project) ([]string, error) {
		names, err := p.Runs().Nodes(cmd.Context(), first(args), func(*dag.Node) bool { return true })
		if len(args) == 0 {
			ids, _ := p.Runs().RunIDs()
			names = append(names, ids...)
		}
		return names, err
	})
}

// completeGate completes the name of a gate of the run that is meant.
func (d *Deps) completeGate(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.completeNodes(cmd, args, func(n *dag.Node) bool { return n.Role == dag.RoleGate })
}

func (d *Deps) completeNodes(cmd *cobra.Command, args []string, fits func(*dag.Node) bool) ([]string, cobra.ShellCompDirective) {
	return d.complete(cmd, args, func(p *control.Project) ([]string, error) { return p.Runs().Nodes(cmd.Context(), "", fits) })
}

// complete completes the first argument by what of gives.
func (d *Deps) complete(cmd *cobra.Command, args []string, of func(*control.Project) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p, err := d.project(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := of(p) // where there is no run there are none
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completing completes the first argument by what of gives.
func (d *Deps) completing(of func(context.Context, *control.Project) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return d.complete(cmd, args, func(p *control.Project) ([]string, error) { return of(cmd.Context(), p) })
	}
}

// completeAgent completes the name of a standing agent.
func (d *Deps) completeAgent(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return d.complete(cmd, args, func(p *control.Project) ([]string, error) { return p.AgentNames() })
}

// completeSession completes the name of a session.
func (d *Deps) completeSession(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := d.project(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := p.Runs().Sessions() // where there is no run there are none
	return names, cobra.ShellCompDirectiveNoFileComp
}

// first is the first argument, empty without one.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
