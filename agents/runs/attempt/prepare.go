package attempt

import (
	"cmp"
	"path/filepath"
	"slices"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/rights"
	"cmux/agents/platform/endpoint"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
)

// brief gives the stage what an agent that reads a prompt is told: the prompt of
// the attempt, kept in a file, and what it may do.
func (a *attempt) brief() error {
	s := a.stage
	s.Policy = a.policy()
	s.Readable = nil
	long := s.Files.File("whole", ".md")
	text, whole := prompt.ComposeWhole(prompt.Input{Spec: a.spec, Base: a.spec.Frame.Base, Tool: a.kind.Tool, Whole: long})
	if whole != "" {
		if err := signals.PutFile(long, []byte(whole), 0o600); err != nil {
			return err
		}
		s.Readable = []string{long}
	}
	if s.Again {
		text += "\n" + s.Resumption + "\n" // where its conversation is gone
	}
	s.Prompt, s.PromptFile = text, s.Files.File("prompt", ".md")
	s.Readable = append(s.Readable, s.PromptFile)
	return signals.PutFile(s.PromptFile, []byte(text), 0o600)
}

// leads reports whether a standing agent is a supervisor, or a sentry, which acts
// for one: it changes no file either.
func leads(m *run.Member) bool {
	return m.Role == "supervisor" || m.Role == "project-supervisor" || m.Role == "sentry"
}

// scopes are the node's patterns as judge and guard take them: what exists when
// the attempt begins is meant by its name.
type scopes struct{ write, read []string }

func scopesOf(n *dag.Node, tree string) scopes {
	exists := worktree.Exists(tree)
	return scopes{dag.Literal(n.Scope, exists), dag.Literal(n.Context, exists)}
}

// policy is what the agent may do.
func (a *attempt) policy() guard.Policy {
	if a.tree == nil { // nothing was made ready
		a.scopes = scopesOf(a.node, cmp.Or(a.spec.Place.Tree, a.spec.Place.Dir))
	}
	p := guard.Policy{
		Role: a.node.Role, Root: a.spec.Frame.Root, Tree: a.spec.Place.Tree, Dir: a.stage.Dir,
		Scope: a.scopes.write, Context: a.scopes.read, Branch: a.spec.Place.Branch, Verify: slices.Concat(a.node.Verify, a.spec.Checks),
		Headless: a.stage.Terminal == nil, Resolve: guard.Follow, Linked: guard.Linked, Machine: guard.Here(a.spec.Place.Dir, a.stage.Env),
	}
	if m := a.spec.Member; m != nil {
		p.Leads = leads(m)
		p.Holder = rights.Holder{Stays: true, Leads: p.Leads && m.Role != "sentry", Sentry: m.Role == "sentry", TeamLead: m.TeamLead}
		if dir, err := filepath.EvalSymlinks(m.Dir); err == nil && p.Leads && dir != p.Root {
			p.Led = dir
			p.Private = append(endpoint.Secrets(dir), run.OrganizationDir(dir))
		}
		if m.Tree == "" && !p.Leads { // it may work in the folder that it shares
			p.Tree, p.Branch, p.Shared = m.Dir, "", true
		}
		p.Beside = a.spec.Beside
		p.Private = append(p.Private, run.OrganizationDir(p.Root))
		p.Mine = []string{a.job.Paths.NodeDir(a.node.Name)}
		p.Zones = guard.Zones(a.spec.Zones)
		p.Zones.Safe = dag.Literal(p.Zones.Safe, worktree.Exists(cmp.Or(p.Tree, p.Root)))
	}
	if dir, err := run.KeyFolder(); err == nil { // else there is no key of theirs
		p.Private = append(p.Private, dir)
	}
	p.Private = append(p.Private, endpoint.Secrets(p.Root)...)
	for _, n := range a.spec.Frame.Peers {
		if n.Tree != "" && n.Name != a.node.Name {
			p.Peers = append(p.Peers, n.Tree)
		}
	}
	return p
}
