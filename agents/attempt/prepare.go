package attempt

import (
	"cmux/agents/guard"
	"cmux/agents/prompt"
	"cmux/agents/run"
	"cmux/signals"
)

// brief gives the stage what an agent that reads a prompt is told: the prompt of
// the attempt, kept in a file, and what it may do.
func (a *attempt) brief() error {
	earlier, err := a.earlier()
	if err != nil {
		return err
	}
	s := a.stage
	s.Policy = a.policy()
	s.Readable = nil
	long := s.Files.File("whole", ".md")
	text, whole := prompt.ComposeWhole(prompt.Input{Spec: a.spec, Base: a.job.Run.Plan.Base, Earlier: earlier, Tool: a.kind.Tool, Whole: long})
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

// earlier are the attempts of the node before this one.
func (a *attempt) earlier() ([]run.Attempt, error) {
	if a.spec.Attempt <= 1 {
		return nil, nil
	}
	r := *a.job.Run
	if r.Plan.Graph == nil {
		if err := r.LoadGraph(); err != nil {
			return nil, err
		}
	}
	h := run.NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		return nil, err
	}
	i := r.Plan.Graph.Index(a.spec.Node)
	if i < 0 {
		return nil, nil
	}
	var earlier []run.Attempt
	for _, before := range h.Nodes[i].Attempts {
		if before.N < a.spec.Attempt {
			earlier = append(earlier, before)
		}
	}
	return earlier, nil
}

// policy is what the agent may do.
func (a *attempt) policy() guard.Policy {
	plan := &a.job.Run.Plan
	p := guard.Policy{
		Role: a.node.Role, Root: plan.Root, Tree: a.spec.Place.Tree,
		Scope: a.node.Scope, Context: a.node.Context, Branch: a.spec.Place.Branch, Verify: a.node.Verify,
		Headless: a.stage.Terminal == nil, Resolve: guard.Follow, Machine: guard.Here(a.stage.Dir, a.stage.Env),
	}
	if dir, err := run.KeyFolder(); err == nil { // else there is no key of theirs
		p.Private = []string{dir}
	}
	if g := plan.Graph; g != nil {
		for i := range g.Nodes {
			if n := &g.Nodes[i]; n.HasTree() && n.Name != a.node.Name {
				p.Peers = append(p.Peers, g.TreePath(p.Root, n))
			}
		}
	}
	return p
}
