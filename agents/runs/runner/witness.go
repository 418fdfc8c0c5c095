package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/platform/fence"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/signals"
)

const (
	// asking bounds how long a marker waits for what the agents at work and the
	// terminals tell of it. What tells nothing speaks against nobody.
	asking = 2 * time.Second
	// recent is how long before a marker a person may have given input: kernels
	// keep the time of a terminal in steps of 8 s.
	recent = 16 * time.Second
)

// suspects are the nodes whose agents ran a command when a person's marker
// appeared, if nobody gave input at a terminal then. It is a person's where
// that cannot be told. An agent in a fence can change a marker's time, and no more.
func (r *Runner) suspects(ctx context.Context, kind signals.VerdictKind, o signals.Observed) []int {
	if o.Changed.IsZero() {
		return nil
	}
	_, none := fence.Support()
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	var asked []int
	for _, i := range r.atWork() {
		fenced := none == nil && r.g.Nodes[i].Fence.On()
		if r.Kinds[r.g.Nodes[i].Agent].Judge && (!fenced || kind == signals.Touched) {
			asked = append(asked, i)
		}
	}
	yes := make([]bool, len(asked))
	var all sync.WaitGroup
	for k, i := range asked {
		all.Go(func() { yes[k] = r.ranCommand(ctx, i, o.Changed) })
	}
	all.Wait()
	var found []int
	for k, i := range asked {
		if yes[k] {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return nil
	}
	look := r.AtTerminal
	if look == nil {
		look = r.atTerminal
	}
	if there, err := look(ctx, o.Changed); there || err != nil {
		if err != nil {
			r.Log.Warn("whether a person was at a terminal cannot be told; a marker counts as theirs", "err", err)
		}
		return nil
	}
	return found
}

// ranCommand asks the attempt of node i, on a connection of its own: a late
// answer must not be taken for another's.
func (r *Runner) ranCommand(ctx context.Context, i int, at time.Time) bool {
	l, err := r.host.Reach(ctx, host.Ref{Node: r.g.Nodes[i].Name, N: r.hist.Nodes[i].Fact.Attempts})
	if err != nil {
		return false
	}
	defer l.Close()
	reply, err := l.Say(ctx, attempt.Message{Op: attempt.OpRanCommand, At: at})
	return err == nil && reply.Yes
}

// takeBack undoes a marker that does not count. If the marker has changed since it
// was judged, the runner judges it again.
func (r *Runner) takeBack(i int, o signals.Observed) (*run.Record, error) {
	now := time.Now()
	if is, err := r.scanner.Look(i, now); err != nil || !is.Exists || is.Identity != o.Identity {
		r.unseen[i] = now
		return nil, err
	}
	if n := &r.hist.Nodes[i]; n.Marker != nil {
		rec, err := r.putBack(i)
		return &rec, err
	}
	return nil, signals.RemoveOnly(r.Run.Signals(), r.g.Nodes[i].Name, o.Identity)
}

// suspected is the record of a marker that does not count.
func (r *Runner) suspected(i int, by []int) run.Record {
	name := r.g.Nodes[i].Name
	rec := run.Record{Type: run.Incident, How: run.IncidentMarker}
	names := make([]string, len(by))
	for k, j := range by {
		names[k] = r.g.Nodes[j].Name
	}
	if len(by) == 1 {
		rec.Node, rec.Attempt = names[0], r.hist.Nodes[by[0]].Fact.Attempts
	}
	rec.Detail = fmt.Sprintf("a marker of %s appeared while %s ran a command and nobody was at a terminal; it does not count: if it was you, cmux agents override %s",
		name, strings.Join(names, " and "), name)
	return rec
}

// terminal is one that a person may sit at.
type terminal struct {
	device uint64
	read   time.Time // when input was last taken from it, in the kernel's steps
}

// typed reports whether one of the terminals, but for those of programs, shows
// input shortly before a moment or since.
func typed(terminals []terminal, programs map[uint64]bool, at time.Time) bool {
	for _, t := range terminals {
		if !programs[t.device] && t.read.After(at.Add(-recent)) {
			return true
		}
	}
	return false
}

// atTerminal is Options.AtTerminal on this machine.
func (r *Runner) atTerminal(ctx context.Context, at time.Time) (bool, error) {
	var terminals []terminal
	for _, pattern := range []string{"/dev/pts/[0-9]*", "/dev/tty[0-9]*", "/dev/ttys*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return false, err
		}
		for _, path := range paths {
			var st unix.Stat_t
			if err := unix.Stat(path, &st); err != nil || int(st.Uid) != os.Getuid() {
				continue // closed since, or another's
			}
			terminals = append(terminals, terminal{uint64(st.Rdev), time.Unix(0, st.Atim.Nano())})
		}
	}
	if !typed(terminals, nil, at) {
		return false, nil
	}
	programs, err := proc.Terminals()
	if err != nil {
		return false, err
	}
	// What reaches a pane was typed at the terminal of a client, or sent.
	panes, err := r.screen.Terminals(ctx)
	if err != nil {
		return false, err
	}
	for _, path := range panes {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil {
			programs[uint64(st.Rdev)] = true
		}
	}
	return typed(terminals, programs, at), nil
}
