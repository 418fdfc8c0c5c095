package terminals

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cmux/agents/control/commands"
	"cmux/agents/control/logs"
	"cmux/agents/control/records"
	"cmux/agents/control/runview"
	"cmux/agents/org/standing"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/worktree/hint"
)

// Seat is where a person sees a program at work, and can type to it: a pane of
// tmux, or, where there is none, its log.
type Seat struct {
	Name string
	Run  string // id of the run that the node is of; empty: it is a standing agent

	Server *tmux.Server // nil: it has no pane
	Pane   tmux.PaneID  // as its records have it; empty: they do not yet
	Owner  string       // by which the pane is marked, with the name
	Live   bool         // the program runs, or is about to: its pane may come a moment later
}

// AgentSeat is the seat of a standing agent.
func (t *Terminals) AgentSeat(_ context.Context, name string) (*Seat, error) {
	org, a, err := t.StandingAgent(name)
	if err != nil {
		return nil, err
	}
	s := seat(org.Run, a.Name, "", a.Life.Pane, run.OrganizationID)
	s.Live = a.Life.On()
	return s, nil
}

// NodeSeat is the seat of a node's newest attempt.
func (t *Terminals) NodeSeat(ctx context.Context, id, node string) (*Seat, error) {
	r, err := t.Runs.Named(ctx, id)
	if err != nil {
		return nil, err
	}
	v, i, err := t.Runs.NodeOf(ctx, r, node)
	if err != nil {
		return nil, err
	}
	pane, away := "", false
	if a := v.Nodes[i].Attempt(); a != nil {
		pane, away = a.Pane, a.Place.Away()
	}
	s := seat(r, node, r.Plan.ID, pane, r.Plan.ID)
	if away {
		s.Server, s.Pane = nil, ""
	}
	s.Live = v.Nodes[i].Fact.Live()
	return s, nil
}

func seat(r *run.Run, name, id, pane, owner string) *Seat {
	s := &Seat{Name: name, Run: id, Owner: owner, Server: runner.Server(r)}
	if s.Server != nil {
		s.Pane = tmux.PaneID(pane)
	}
	return s
}

// TakeSeat has a person type to the program of a seat. A standing agent is taken
// over, as by workers take; a node is, as in its pane, by the first prompt that the
// person sends. release ends that, where it began with this call: that of a node is
// left to it unless typed says that this person typed, and nobody else since. By says
// how the person came.
func (t *Terminals) TakeSeat(ctx context.Context, s *Seat, by string) (release func(ctx context.Context, typed bool) error, err error) {
	defer func() {
		o := records.Ordered{Order: "terminal take", About: s.Name, By: "user", How: by}
		if err != nil {
			o.Refused, _ = hint.Explain(err)
		}
		err = errors.Join(err, t.Records.Audit(ctx, o))
	}()
	taken, live, err := t.seated(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case !live:
		return nil, fmt.Errorf("%s does not run", s.Name)
	case taken: // by the person before: it stays so
		return func(context.Context, bool) error { return nil }, nil
	case s.Run == "":
		if err := t.Crew.Take(ctx, s.Name); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, typed bool) error {
		if s.Run == "" {
			// Its records say so a moment later than it does: they are asked behind it.
			err := t.Crew.Release(ctx, s.Name)
			if taken, live, serr := t.seated(ctx, s); serr == nil && (!taken || !live) {
				return nil // by somebody else before
			}
			return err
		}
		if !typed { // who has it taken over is somebody else
			return nil
		}
		taken, live, err := t.seated(ctx, s)
		if err != nil || !taken || !live {
			return err
		}
		of, err := t.OfRun(ctx, s.Run)
		if err != nil {
			return err
		}
		_, err = of.Release(ctx, commands.Decision{Node: s.Name})
		return err
	}, nil
}

// seated says whether a person has taken the program of a seat over, and whether
// it runs.
func (t *Terminals) seated(ctx context.Context, s *Seat) (taken, live bool, err error) {
	if s.Run == "" {
		org, a, err := t.StandingAgent(s.Name)
		if err != nil {
			return false, false, err
		}
		word, _ := a.Stands(t.Now(), org.Stopped)
		return word == standing.TakenOver, a.Life.On(), nil
	}
	r, err := t.Runs.Named(ctx, s.Run)
	if err != nil {
		return false, false, err
	}
	v, i, err := t.Runs.NodeOf(ctx, r, s.Name)
	if err != nil {
		return false, false, err
	}
	n := &v.Nodes[i]
	return runview.TakenOver(n), n.Fact.Live() && n.Left == nil, nil
}

// SeatLog writes the log of a seat's program, its last lines first, and goes on
// with what is added.
func (t *Terminals) SeatLog(ctx context.Context, s *Seat, w io.Writer) error {
	o := logs.Log{Run: s.Run, Node: s.Name, Follow: true, Tail: seatLines}
	to := func(bool) io.Writer { return w }
	if s.Run == "" {
		return t.Logs.Agent(ctx, o, to)
	}
	return t.Logs.Node(ctx, o, to)
}

// seatLines is how many lines of a log are shown that were written before.
const seatLines = 2000
