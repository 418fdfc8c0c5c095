package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"

	"cmux/agents/claude"
	"cmux/agents/codex"
	"cmux/agents/kimi"
	"cmux/agents/kinds"
	"cmux/agents/runner"
	"cmux/dag"
)

// preflight looks, before anything is made, for what would keep the agents of
// a launch from working. The error names all that must be put right first; the
// notes are for the table.
func preflight(ctx context.Context, l *runner.Launch) (notes []string, err error) {
	used := make(map[string]claude.Setup)
	for i := range l.Graph.Nodes {
		n := &l.Graph.Nodes[i]
		if n.Role == dag.RoleGate || n.Role == dag.RoleMerge && n.Task == "" {
			continue
		}
		for _, m := range kinds.Missing(n) {
			notes = append(notes, n.Name+": "+m)
		}
		s := used[n.Agent]
		s.AutoAccept, s.Asks = s.AutoAccept || n.AutoAccept, s.Asks || !n.AutoAccept
		used[n.Agent] = s
	}
	var errs []error
	for _, kind := range slices.Sorted(maps.Keys(used)) {
		switch kind {
		case claude.Name:
			s := used[kind]
			s.Env, s.Root, s.Headless = l.Options.Env, l.Options.Root, l.Options.Headless
			for _, p := range claude.Preflight(ctx, s) {
				text := fmt.Sprintf("%s: %s (%s)", kind, p.What, p.Try)
				if p.Fatal {
					errs = append(errs, errors.New(text))
				} else {
					notes = append(notes, text)
				}
			}
		case codex.Name, kimi.Name:
			if _, err := exec.LookPath(kind); err != nil {
				errs = append(errs, fmt.Errorf("%s: the program is not installed, and nodes of this kind need it", kind))
			}
		}
	}
	return notes, errors.Join(errs...)
}
