package stdio

import (
	"os"
	"path/filepath"

	"cmux/agents/attempt"
	"cmux/agents/guard"
	"cmux/agents/prompt"
	"cmux/agents/run"
)

// Prompt composes the prompt of the session's attempt and keeps it in file.
func (s *Session) Prompt() (text, file string, err error) {
	earlier, err := earlierAttempts(s.Stage)
	if err != nil {
		return "", "", err
	}
	g := s.Stage
	text = prompt.Compose(prompt.Input{Node: g.Node, Spec: g.Spec, Base: g.Run.Plan.Base, Earlier: earlier})
	file = s.File("prompt", ".md")
	return text, file, os.WriteFile(file, []byte(text), 0o600)
}

// earlierAttempts are the attempts of the node before this one.
func earlierAttempts(s *attempt.Stage) ([]run.Attempt, error) {
	if s.Spec.Attempt <= 1 {
		return nil, nil
	}
	r := *s.Run
	if r.Plan.Graph == nil {
		if err := r.LoadGraph(); err != nil {
			return nil, err
		}
	}
	h := run.NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		return nil, err
	}
	i := r.Plan.Graph.Index(s.Spec.Node)
	if i < 0 {
		return nil, nil
	}
	var earlier []run.Attempt
	for _, a := range h.Nodes[i].Attempts {
		if a.N < s.Spec.Attempt {
			earlier = append(earlier, a)
		}
	}
	return earlier, nil
}

// Policy is what the stage's node may do.
func Policy(s *attempt.Stage) guard.Policy {
	p := guard.Policy{
		Role: s.Node.Role, Root: s.Run.Plan.Root, Tree: s.Spec.Place.Tree,
		Scope: s.Node.Scope, Context: s.Node.Context, Branch: s.Spec.Place.Branch,
		Headless: s.Terminal == nil, Resolve: guard.Follow,
	}
	g := s.Run.Plan.Graph
	if g == nil {
		return p
	}
	base := g.WorktreeBase
	if !filepath.IsAbs(base) {
		base = filepath.Join(p.Root, base)
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.HasTree() && n.Name != s.Node.Name {
			p.Peers = append(p.Peers, filepath.Join(base, g.Session+"-"+n.Name))
		}
	}
	return p
}
