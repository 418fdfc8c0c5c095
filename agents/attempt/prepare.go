package attempt

import (
	"fmt"
	"path/filepath"

	"cmux/agents/guard"
	"cmux/agents/prompt"
	"cmux/agents/run"
	"cmux/signals"
)

// File is a file of this attempt in the node's folder.
func (s *Stage) File(name, ext string) string {
	return filepath.Join(s.Run.NodeDir(s.Node.Name), fmt.Sprintf("%s-%d%s", name, s.Spec.Attempt, ext))
}

// Prompt composes the prompt of the attempt and keeps it in file.
func (s *Stage) Prompt() (text, file string, err error) {
	earlier, err := s.earlier()
	if err != nil {
		return "", "", err
	}
	long := s.File("whole", ".md")
	text, whole := prompt.ComposeWhole(prompt.Input{Node: s.Node, Spec: s.Spec, Base: s.Run.Plan.Base, Earlier: earlier, Tool: s.tool, Whole: long})
	if whole != "" {
		if err := signals.PutFile(long, []byte(whole), 0o600); err != nil {
			return "", "", err
		}
		s.readable = []string{long}
	}
	if s.again != nil {
		text += "\n" + s.Resumption() + "\n" // where its conversation is gone
	}
	file = s.File("prompt", ".md")
	s.readable = append(s.readable, file)
	return text, file, signals.PutFile(file, []byte(text), 0o600)
}

// Readable are the files that Prompt names or wrote, for the agent to read.
func (s *Stage) Readable() []string { return s.readable }

// reopened is what has an agent go on whose program ended without a report.
type reopened struct{ said string } // by a person; may be empty

// Resumption is what an agent is told that goes on in a conversation.
func (s *Stage) Resumption() string {
	if s.again != nil {
		return prompt.Reopened(s.again.said)
	}
	return prompt.Resumed
}

// Again is Resumption for a kind that reads no prompt, where the agent goes on
// after an end without a report.
func (s *Stage) Again() (text string, ok bool) { return s.Resumption(), s.again != nil }

// earlier are the attempts of the node before this one.
func (s *Stage) earlier() ([]run.Attempt, error) {
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

// Policy is what the node may do.
func (s *Stage) Policy() guard.Policy {
	p := guard.Policy{
		Role: s.Node.Role, Root: s.Run.Plan.Root, Tree: s.Spec.Place.Tree,
		Scope: s.Node.Scope, Context: s.Node.Context, Branch: s.Spec.Place.Branch, Verify: s.Node.Verify,
		Headless: s.Terminal == nil, Resolve: guard.Follow, Machine: guard.Here(s.Dir, s.Env),
	}
	if dir, err := run.KeyFolder(); err == nil { // else there is no key of theirs
		p.Private = []string{dir}
	}
	if g := s.Run.Plan.Graph; g != nil {
		for i := range g.Nodes {
			if n := &g.Nodes[i]; n.HasTree() && n.Name != s.Node.Name {
				p.Peers = append(p.Peers, g.TreePath(p.Root, n))
			}
		}
	}
	return p
}
