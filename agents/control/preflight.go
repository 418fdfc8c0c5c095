package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/agent"
	"cmux/agents/kinds"
	"cmux/agents/runner"
	"cmux/dag"
)

// preflight looks, before anything is made, for what would keep the agents of
// a launch from working. The error names all that must be put right first; the
// notes are for the table.
func preflight(ctx context.Context, l *runner.Launch) (notes []string, err error) {
	for i := range l.Graph.Nodes {
		if n := &l.Graph.Nodes[i]; hasAgent(n) {
			for _, m := range kinds.Missing(n) {
				notes = append(notes, n.Name+": "+m)
			}
		}
	}
	var errs []error
	for _, u := range kindsOf(l.Graph) {
		s := u.setup
		s.Env, s.Root, s.Headless = l.Options.Env, l.Options.Root, l.Options.Headless
		for _, p := range kinds.Preflight(ctx, u.kind, s).Problems {
			text := fmt.Sprintf("%s: %s (%s)", u.kind, p.What, p.Try)
			if p.Fatal {
				errs = append(errs, errors.New(text))
			} else {
				notes = append(notes, text)
			}
		}
	}
	return notes, errors.Join(errs...)
}

// hasAgent reports whether an agent works at the node.
func hasAgent(n *dag.Node) bool {
	return n.Role != dag.RoleGate && (n.Role != dag.RoleMerge || n.Task != "")
}

// use is a kind of agent and what a graph wants of it.
type use struct {
	kind  string
	setup agent.Setup
}

// kindsOf are the kinds that g uses, by name. g may be nil.
func kindsOf(g *dag.Graph) []use {
	var all []use
	if g == nil {
		return nil
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if !hasAgent(n) {
			continue
		}
		k := slices.IndexFunc(all, func(u use) bool { return u.kind == n.Agent })
		if k < 0 {
			k, all = len(all), append(all, use{kind: n.Agent})
		}
		s := &all[k].setup
		s.AutoAccept, s.Asks = s.AutoAccept || n.AutoAccept, s.Asks || !n.AutoAccept
		if len(n.Command) > 0 && !slices.Contains(s.Programs, n.Command[0]) {
			s.Programs = append(s.Programs, n.Command[0])
		}
	}
	slices.SortFunc(all, func(a, b use) int { return strings.Compare(a.kind, b.kind) })
	return all
}

// examineKinds looks at every kind that has a program, as start would at those
// that g uses: what is in order, then a finding for each thing that is amiss.
// With a kind that g does not use nothing is wrong.
func examineKinds(ctx context.Context, env []string, root string, g *dag.Graph) []Finding {
	var all []Finding
	used, installed := kindsOf(g), kinds.Installed(env)
	for _, c := range kinds.Listed() {
		if c.Can.Program == "" {
			continue
		}
		u := use{kind: c.Name}
		k := slices.IndexFunc(used, func(u use) bool { return u.kind == c.Name })
		if k >= 0 {
			u = used[k]
		} else if !slices.Contains(installed, c.Name) {
			all = append(all, Finding{What: c.Name, OK: true, Detail: "not installed; no node uses it"})
			continue
		}
		u.setup.Env, u.setup.Root = env, root
		fit := kinds.Preflight(ctx, u.kind, u.setup)
		unused := ""
		if k < 0 {
			unused = "no node uses it"
		}
		if facts := join(", ", append(slices.Clone(fit.Facts), unused)...); facts != "" {
			all = append(all, Finding{What: c.Name, OK: true, Detail: facts})
		}
		for _, p := range fit.Problems {
			all = append(all, Finding{What: c.Name, OK: !p.Fatal || k < 0, Detail: join("; ", p.What, unused), Try: p.Try})
		}
	}
	return all
}

// join joins the texts that are not empty.
func join(sep string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), sep)
}
