package preflight

import (
	"fmt"

	"cmux/agents/control/finding"
	"cmux/agents/platform/fence"
	"cmux/dag"
	"cmux/worktree/hint"
)

// fenced looks whether the fences that g wants can be put up: a note where some cannot
// and need not be, an error where they must.
func fenced(g *dag.Graph) (note string, err error) {
	wants := false
	for i := range g.Nodes {
		wants = wants || g.Nodes[i].Fence.On()
	}
	if !wants {
		return "", nil
	}
	_, err = fence.Support()
	if err == nil {
		return hidden(g)
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Fence.Mode == dag.FenceRequire {
			return "", hint.Errorf("fence: auto, to run without a fence where there is none", "%s has fence: require, but there can be %w", n.Name, err)
		}
	}
	return fmt.Sprintf("there can be %v. What agents write elsewhere is found out afterwards", err), nil
}

// hidden is fenced for what the fences hide.
func hidden(g *dag.Graph) (note string, err error) {
	_, err = fence.Hides()
	if err == nil {
		return "", nil
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Fence.Mode == dag.FenceRequire && len(n.Fence.Hide) > 0 {
			return "", hint.Errorf("fence: {mode: auto, hide: [...]}, to run where nothing can be hidden", "%s has fence: require and hide, but %w", n.Name, err)
		}
	}
	return fmt.Sprintf("%v. Agents in a fence can read cmux's key and reach tmux servers", err), nil
}

// Standing looks whether the fence f around standing agents can be put up: a note where it
// cannot and need not be, an error where it must.
func Standing(f dag.Fence) (note string, err error) {
	if !f.On() {
		return "", nil
	}
	_, err = fence.Support()
	switch {
	case err == nil:
		return "", nil
	case f.Mode == dag.FenceRequire:
		return "", hint.Errorf("fence: auto in .cmux/config.yml, then cmux config apply, to run without a fence where there is none", "fence: require holds for the organization, but there can be %w", err)
	}
	return fmt.Sprintf("there can be %v. What agents write elsewhere is found out afterwards", err), nil
}

// Fence says which fence this system has, as a finding; it is wrong where g requires one
// and there is none. g may be nil.
func Fence(g *dag.Graph) finding.Finding {
	if g != nil {
		if _, err := fenced(g); err != nil {
			return finding.Wrong("fence", err)
		}
	}
	name, err := fence.Support()
	if err != nil {
		return finding.Finding{What: "fence", OK: true, Detail: err.Error()}
	}
	detail := name + " can keep agents in their worktrees (cmux help configuration fence)"
	how, err := fence.Hides()
	if err != nil {
		return finding.Finding{What: "fence", OK: true, Detail: detail + ", but " + err.Error()}
	}
	return finding.Finding{What: "fence", OK: true, Detail: detail + ", and " + how + " hides your key and the sockets of tmux from them"}
}
