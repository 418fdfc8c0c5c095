package wrapper

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// An attempt with a worktree learns of all that are the run's; one without is
// spared the graph, which may be large.
func TestPeersOfAnAttempt(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	g, _, err := dag.Parse("x.yml", []byte("session: s\ndefaults: {agent: command}\nsetup: [make]\nagents: [{name: a, task: x}, {name: b, task: x}, {name: r, role: review, task: x}]\n"), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := run.Create(run.Plan{ID: run.NewID(time.Now()), Root: root, Graph: g}, nil, nil, "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if err := made.WriteSpec(&run.Spec{Node: n.Name, Attempt: 1, Def: n, Frame: made.Frame()}); err != nil {
			t.Fatal(err)
		}
		r, err := run.OpenPlan(made.Dir)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := Options{Node: n.Name, Attempt: 1}.specified(r)
		if err != nil {
			t.Fatal(err)
		}
		want := []run.Peer{
			{Name: "a", Branch: "s/a", Tree: g.TreePath(root, &g.Nodes[0])},
			{Name: "b", Branch: "s/b", Tree: g.TreePath(root, &g.Nodes[1])},
		}
		if !n.HasTree() {
			want = nil
		}
		if f := spec.Frame; !slices.Equal(f.Peers, want) || f.Root != root || f.Run != made.Plan.ID || !slices.Equal(f.Setup, g.Setup) {
			t.Errorf("%s is told %+v, want the peers %+v", n.Name, f, want)
		}
		if (r.Plan.Graph != nil) != n.HasTree() {
			t.Errorf("%s: the graph was read: %v", n.Name, r.Plan.Graph != nil)
		}
	}
}
