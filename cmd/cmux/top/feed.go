package top

import (
	"context"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"time"

	"cmux/agents/control/logs"
	"cmux/agents/control/runs"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree/hint"
)

// follow tells the program of each change of the run; unless the monitor stays,
// of the session's newest run.
func (p *program) follow(ctx context.Context) error {
	seed, last := maphash.MakeSeed(), uint64(0)
	for r := p.Run; ; {
		var newer *run.Run
		err := runs.Follow(ctx, r, p.Project.Now, func(v *run.View) bool {
			if !p.Stays {
				if newer = p.newer(ctx, r); newer != nil {
					return false
				}
			}
			if sum := fingerprint(seed, v); sum != last {
				last = sum
				p.tea.Send(seen{v})
			}
			return true
		})
		if err != nil || newer == nil {
			return err
		}
		r = newer
	}
}

// newer is the newest run of r's session, where that is not r.
func (p *program) newer(ctx context.Context, r *run.Run) *run.Run {
	if newest, err := p.Project.Runs().IsNewest(r); err != nil || newest {
		return nil
	}
	newer, err := p.Project.Runs().Latest(ctx)
	if err != nil {
		return nil // it is being made
	}
	return newer
}

// fingerprint is of all that the program shows of a view: a look that finds
// nothing new draws nothing.
func fingerprint(seed maphash.Seed, v *run.View) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	fmt.Fprintln(&h, v.RunState, v.Holder != nil, v.ConfigChanged, v.Full, len(v.Incidents), v.Strays, v.Used, v.EndedAt, len(v.Pending))
	for i := range v.Nodes {
		n := &v.Nodes[i]
		fmt.Fprintln(&h, n.Status.Label, n.Status.Reason, n.Last.UnixNano(), len(n.Attempts), n.Used, n.Fact.At.UnixNano())
	}
	return h.Sum64()
}

const (
	// calm is the shortest time between two looks at what a node does: an agent
	// that writes all the time is read, not chased.
	calm = 250 * time.Millisecond
	// tail is how much of a log is shown beside the details.
	tail = 64 << 10
)

// sight is what is known of the node that is looked at closely.
type sight struct {
	focus
	i       int
	attempt int       // that dirs belong to
	last    time.Time // when the records told of it last
	logDir  string
	watch   *signals.Watcher
	log     bool // read the node's log
	work    bool // read the node's work
}

// look follows the log and the work of the node that is selected.
func (p *program) look(ctx context.Context) {
	var s sight
	defer func() { s.close() }()
	var read time.Time
	var tick <-chan time.Time
	for {
		var changed <-chan signals.Notice
		if s.watch != nil {
			changed = s.watch.C
		}
		select {
		case <-ctx.Done():
			return
		case f := <-p.focus:
			p.turn(ctx, &s, f)
		case n, open := <-changed:
			if !open {
				return
			}
			s.hear(n)
		case <-tick:
			tick = nil
		}
		if s.node == "" || !s.log && !s.work || tick != nil {
			continue
		}
		if since := time.Since(read); since < calm {
			tick = time.After(calm - since)
			continue
		}
		p.tell(ctx, &s)
		read = time.Now()
	}
}

func (s *sight) close() {
	if s.watch != nil {
		s.watch.Close()
		s.watch = nil
	}
}

// turn looks at another node, or at the same one in a newer view.
func (p *program) turn(ctx context.Context, s *sight, f focus) {
	other := f.node != s.node
	s.focus, s.i = f, -1
	if f.node != "" {
		s.i = f.view.Run.Plan.Graph.Index(f.node)
	}
	if s.i < 0 {
		s.close()
		s.node, s.log, s.work = "", false, false
		return
	}
	n := &f.view.Nodes[s.i]
	if other || n.Fact.Attempts != s.attempt || s.watch == nil {
		s.close()
		if dirs := p.Project.Runs().Sights(ctx, f.view, s.i); len(dirs) > 0 {
			s.watch = signals.Watch(ctx, dirs...)
		}
		s.attempt, s.logDir = n.Fact.Attempts, f.view.Run.NodeDir(f.node)
	}
	if other || !n.Last.Equal(s.last) {
		s.log, s.work, s.last = true, true, n.Last
	}
}

// hear takes in what has changed. Where it is not known what, everything has.
func (s *sight) hear(n signals.Notice) {
	if n.Rescan || len(n.Dirs) > 0 {
		s.log, s.work = true, true
	}
	for _, f := range n.Files {
		switch {
		case filepath.Dir(f) != s.logDir:
			s.work = true
		case filepath.Base(f) == filepath.Base(s.view.Run.Log(s.node)):
			s.log = true
		}
	}
}

// tell reads what a node wrote and made, and shows it.
func (p *program) tell(ctx context.Context, s *sight) {
	if s.log {
		if text, err := logs.End(s.view.Run, s.node, tail); err == nil {
			p.tea.Send(wrote{content{s.node, plain(text)}})
		}
	}
	if s.work {
		work, err := p.Project.Runs().Work(ctx, s.view, s.i)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			text, _ := hint.Explain(err)
			p.tea.Send(told{text, true})
		default:
			p.tea.Send(made{s.node, work})
		}
	}
	s.log, s.work = false, false
}
