package run_test

import (
	"runtime"
	"testing"
	"time"

	"cmux/agents/platform/fence"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// With a fence, a changed time of what cmux wrote is nobody's decision; another content is.
func TestFencedMarker(t *testing.T) {
	id := func(inode uint64, at int64) signals.Identity {
		return signals.Identity{Inode: inode, Size: 2, MTime: at}
	}
	for _, c := range []struct {
		name    string
		fence   dag.FenceMode
		none    bool // the system has no fence
		marker  run.Written
		skipped bool
		seen    signals.Identity
		content signals.Content
		want    signals.VerdictKind
	}{
		{"touched", dag.FenceOff, false, run.Written{Code: 1, Identity: id(1, 5)}, false, id(1, 6), signals.Exit(1), signals.Touched},
		{"touched in a fence", dag.FenceAuto, false, run.Written{Code: 1, Identity: id(1, 5)}, false, id(1, 6), signals.Exit(1), signals.Ours},
		{"touched where there is no fence", dag.FenceAuto, true, run.Written{Code: 1, Identity: id(1, 5)}, false, id(1, 6), signals.Exit(1), signals.Touched},
		{"a skipped one where there is no fence", dag.FenceAuto, true, run.Written{Identity: id(1, 5)}, true, id(1, 6), signals.Exit(0), signals.Touched},
		{"a skipped one", dag.FenceOff, false, run.Written{Identity: id(1, 5)}, true, id(1, 6), signals.Exit(0), signals.Touched},
		{"a skipped one in a fence", dag.FenceRequire, false, run.Written{Identity: id(1, 5)}, true, id(1, 6), signals.Exit(0), signals.Ours},
		{"another content in a fence", dag.FenceRequire, false, run.Written{Code: 1, Identity: id(1, 5)}, false, id(1, 6), signals.Exit(0), signals.Override},
	} {
		t.Setenv("CMUX_LANDLOCK", "")
		if c.none {
			if t.Setenv("CMUX_LANDLOCK", "0"); runtime.GOOS != "linux" {
				continue
			}
		} else if _, err := fence.Support(); err != nil && c.fence != dag.FenceOff {
			continue // what is told apart needs one
		}
		g, _, err := dag.Parse("x.yml", []byte("session: s\nagents:\n  - {name: a, agent: command, task: 'true'}\n  - {name: b, agent: command, task: 'true', fence: "+string(c.fence)+"}\n"), dag.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h := run.NewHistory(g)
		n := &h.Nodes[0]
		n.Marker, n.Published, n.Skipped = &c.marker, true, c.skipped
		if v := n.Judge(signals.Observed{Exists: true, Marker: signals.Marker{Identity: c.seen, Content: c.content}}, time.Unix(100, 0)); v.Kind != c.want {
			t.Errorf("%s: %v; want %v", c.name, v.Kind, c.want)
		}
	}
}
