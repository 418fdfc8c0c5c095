package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"cmux/agents/platform/fence"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// Fence is the fence around the programs of a node, as programs read it.
type Fence struct {
	Node    string        `json:"node"`
	Mode    dag.FenceMode `json:"fence"`             // as the run has it
	System  string        `json:"system,omitempty"`  // what puts it up here
	Missing string        `json:"missing,omitempty"` // why this system has none
	Machine string        `json:"machine,omitempty"` // that carries out the newest attempt, with a fence of its own; empty: this one
	Attempt int           `json:"attempt"`           // the newest that had one; 0: none yet
	Write   []string      `json:"write"`             // what that attempt may write: absolute paths
	Refused []Fenced      `json:"refused"`           // by all attempts, as far as their programs printed it
}

// Fenced is a write that the fence refused.
type Fenced struct {
	Attempt int    `json:"attempt"`
	Path    string `json:"path"`
	Allow   string `json:"allow,omitempty"` // the line of the configuration that allows it; none: nothing does
}

// mostFence bounds the file of a fence.
const mostFence = 4 << 20

// Fence is the fence of the named node.
func (p *Runs) Fence(ctx context.Context, name string) (*Fence, error) {
	v, i, err := p.Node(ctx, name)
	if err != nil {
		return nil, err
	}
	n := &v.Nodes[i]
	f := &Fence{Node: n.Spec.Name, Mode: n.Spec.Fence.Mode, Write: []string{}, Refused: fenced(n)}
	if f.Mode == "" {
		f.Mode = dag.FenceOff
	}
	if a := n.Attempt(); a != nil && a.Place.Away() {
		f.Machine = cmp.Or(a.Place.Machine, "another machine")
		return f, nil // what it may write there is not known here
	}
	if f.System, err = fence.Support(); err != nil {
		f.Missing = err.Error()
	}
	b, err := signals.ReadFile(v.Run.Fence(n.Spec.Name), mostFence)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	var up run.Fence
	if err := json.Unmarshal(b, &up); err != nil {
		return nil, err
	}
	f.Attempt, f.Write = up.Attempt, append(f.Write, up.Write...)
	return f, nil
}

// fenced returns what the fences of a node refused, the oldest first.
func fenced(n *run.NodeView) []Fenced {
	all := make([]Fenced, 0, len(n.Fenced))
	for _, r := range n.Fenced {
		all = append(all, Fenced{r.Attempt, r.Path, allowing(r.Open, n.Spec)})
	}
	return all
}

// allowing returns the line of a node's configuration that opens a place beside the others.
func allowing(place string, n *dag.Node) string {
	line, others := "fence: {write: %s}", n.Fence.Write
	if inside, is := strings.CutPrefix(place, run.OpenScope); is {
		line, others, place = "scope: %s", n.Scope, inside
	}
	if place == "" {
		return ""
	}
	b, err := json.Marshal(append(append([]string{}, others...), place)) // is YAML too
	if err != nil {
		return ""
	}
	return fmt.Sprintf(line, b)
}

// fenceNotices tells of what fences refused.
func fenceNotices(v *run.View) (all []Notice) {
	for i := range v.Nodes {
		if n := &v.Nodes[i]; len(n.Fenced) > 0 {
			all = append(all, Notice{Text: n.Spec.Name + ": the fence refused " + say.Count(len(n.Fenced), "write") + ": cmux agents fence " + n.Spec.Name})
		}
	}
	return all
}
