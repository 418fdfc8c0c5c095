package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cmux/dag"
)

// framed is a run of n nodes that build, and of one of each other kind.
func framed(t *testing.T, n int) *Run {
	t.Helper()
	r := newRun(t)
	var config strings.Builder
	config.WriteString("session: s\nworktree_base: ../trees\nsetup: [make]\ncopy: [.env]\nlink: [lib]\ndefaults: {agent: command}\nagents:\n" +
		"  - {name: read, role: review, task: x}\n  - {name: look, role: review, task: x, verify: [y]}\n")
	for i := range n {
		fmt.Fprintf(&config, "  - {name: n%d, task: x}\n", i)
	}
	g, _, err := dag.Parse("x.yml", []byte(config.String()), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.Plan.Base, r.Plan.BaseBranch = "c", "main"
	if err := r.Refreeze(g, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFrame(t *testing.T) {
	r := framed(t, 1)
	trees := filepath.Join(filepath.Dir(r.Plan.Root), "trees")
	want := &Frame{
		Run: r.Plan.ID, Root: r.Plan.Root, Base: "c", BaseBranch: "main",
		Copy: []string{".env"}, Link: []string{"lib"}, Setup: []string{"make"},
		Peers: []Peer{
			{Name: "look", Tree: filepath.Join(trees, "s-look")},
			{Name: "n0", Branch: "s/n0", Tree: filepath.Join(trees, "s-n0")},
		},
	}
	got := r.Frame()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	// It can be sent to another machine.
	b, err := json.Marshal(got)
	back := new(Frame)
	if err == nil {
		err = json.Unmarshal(b, back)
	}
	if err != nil || !reflect.DeepEqual(back, want) {
		t.Errorf("%v: %s", err, b)
	}
}

// A spec holds the frame, but does not grow with the run: who reads it has the
// peers from the graph beside it.
func TestSpecHoldsItsFrame(t *testing.T) {
	size := func(n int) int64 {
		r := framed(t, n)
		s := &Spec{Node: "n0", Attempt: 1, Def: &dag.Node{Name: "n0"}, Frame: r.Frame()}
		if err := r.WriteSpec(s); err != nil {
			t.Fatal(err)
		}
		if len(s.Frame.Peers) != n+1 {
			t.Errorf("after writing it %d peers are left", len(s.Frame.Peers))
		}
		again, err := OpenPlan(r.Dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.ReadSpec("n0", 1)
		if err != nil {
			t.Fatal(err)
		}
		if again.Plan.Graph != nil {
			t.Error("reading the spec read the graph")
		}
		if got.Frame.Peers, err = again.Peers(); err != nil || !reflect.DeepEqual(got.Frame, s.Frame) {
			t.Errorf("%d nodes: it is not what was written: %v", n, err)
		}
		info, err := os.Stat(r.SpecPath("n0", 1))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	one, many := size(1), size(1000)
	if many-one > 200 { // the paths differ in length
		t.Errorf("a spec of a run of 1000 nodes has %d bytes, of one %d", many, one)
	}
}

// A spec that an earlier cmux wrote has no frame: the frozen plan and graph tell
// as much.
func TestFrameOfAnOlderSpec(t *testing.T) {
	r := framed(t, 2)
	if err := r.WriteSpec(&Spec{Node: "n1", Attempt: 1, Def: &dag.Node{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	again, err := OpenPlan(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := again.ReadSpec("n1", 1)
	if err != nil || !reflect.DeepEqual(s.Frame, r.Frame()) {
		t.Errorf("%+v, %v", s, err)
	}
}
