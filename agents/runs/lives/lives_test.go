package lives

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
)

// stage is a host whose attempts are what the test says that they are, and the
// records of whoever owns them.
type stage struct {
	host.Host
	t         *testing.T
	table     *Table
	links     map[host.Ref]*link
	pulse     host.Pulse
	fresh     time.Time // as Probe was asked last
	held      bool      // by Probe
	withdrawn bool
	reached   []host.Ref
	open      bool
	began     bool
	lost      []string
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, links: make(map[host.Ref]*link)}
	s.table = New(s, log.New(io.Discard), Policy{
		Reached: func(_ context.Context, ref host.Ref) { s.reached = append(s.reached, ref) },
		Again:   func(context.Context, host.Ref) (bool, bool, error) { return s.open, s.began, nil },
		Lost: func(_ context.Context, ref host.Ref, why string) error {
			if !s.held || !s.withdrawn {
				t.Errorf("recorded as lost, held %v and withdrawn %v", s.held, s.withdrawn)
			}
			s.lost = append(s.lost, why)
			return nil
		},
	})
	return s
}

func (s *stage) Reach(_ context.Context, ref host.Ref) (host.Link, error) {
	if l := s.links[ref]; l != nil {
		return l, nil
	}
	return nil, host.ErrGone
}

func (s *stage) Probe(_ host.Ref, fresh time.Time) (host.Pulse, func() error, error) {
	s.fresh = fresh
	if s.pulse != host.Gone {
		return s.pulse, nil, nil
	}
	s.held = true
	return host.Gone, func() error { s.held = false; return nil }, nil
}

func (s *stage) Withdraw(host.Ref) error {
	s.withdrawn = true
	return nil
}

func (s *stage) begin(ref host.Ref) *link {
	l := &link{gone: make(chan struct{})}
	s.links[ref] = l
	return l
}

type link struct {
	gone   chan struct{}
	closed bool
	said   []attempt.Op
	deaf   bool
}

func (l *link) Gone() <-chan struct{} { return l.gone }

func (l *link) Close() {
	if !l.closed {
		l.closed = true
		close(l.gone)
	}
}

func (l *link) Say(ctx context.Context, m attempt.Message) (attempt.Reply, error) {
	if l.deaf {
		<-ctx.Done()
		return attempt.Reply{}, ctx.Err()
	}
	l.said = append(l.said, m.Op)
	return attempt.Reply{Yes: true}, nil
}

func TestReach(t *testing.T) {
	s := newStage(t)
	ctx := t.Context()
	ref := host.Ref{Node: "api", N: 1}
	s.table.Reach(ctx, ref)
	if s.table.Of("api") != nil || s.table.Of("api").Stands() || len(s.reached) > 0 {
		t.Error("reached before it listened")
	}
	first := s.begin(ref)
	s.table.Reach(ctx, ref)
	s.table.Reach(ctx, ref)
	if l := s.table.Of("api"); !l.Stands() || l.N != 1 || l.Bound || len(s.reached) != 1 {
		t.Errorf("reached %v", s.reached)
	}
	first.Close() // the connection alone ends
	if got := <-s.table.Gone(); got != ref || s.table.Of("api").Stands() {
		t.Errorf("%v has gone", got)
	}
	second := s.begin(ref)
	s.table.Reach(ctx, ref)
	if !s.table.Of("api").Stands() || len(s.reached) != 2 {
		t.Error("not reached again")
	}
	next := host.Ref{Node: "api", N: 2}
	s.begin(next)
	s.table.Reach(ctx, next)
	if got := <-s.table.Gone(); got != ref || !second.closed || s.table.Of("api").N != 2 {
		t.Errorf("the link to an earlier attempt is closed %v, and %v has gone", second.closed, got)
	}
	s.table.Drop("api", 1)
	if s.table.Of("api") == nil {
		t.Error("the end of an earlier attempt lets go of this one")
	}
	s.table.Drop("api", 2)
	if s.table.Of("api") != nil {
		t.Error("still there")
	}
	s.table.Close()
}

func TestLook(t *testing.T) {
	ref := host.Ref{Node: "api", N: 1}
	for name, c := range map[string]struct {
		pulse       host.Pulse
		open, began bool
		lost        []string
		reached     bool
	}{
		"on its way":       {pulse: host.Unknown},
		"lives":            {pulse: host.Lives, open: true, began: true, reached: true},
		"killed":           {pulse: host.Gone, open: true, began: true, lost: []string{"its wrapper was killed"}},
		"never came":       {pulse: host.Gone, open: true, lost: []string{"its wrapper never came"}},
		"recorded its end": {pulse: host.Gone, began: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			defer s.table.Close()
			s.begin(ref)
			s.pulse, s.open, s.began = c.pulse, c.open, c.began
			fresh := time.Now()
			pulse, err := s.table.Look(t.Context(), ref, fresh)
			if err != nil || pulse != c.pulse || !s.fresh.Equal(fresh) || s.held {
				t.Errorf("found %v, %v", pulse, err)
			}
			if !slices.Equal(s.lost, c.lost) || s.table.Of("api").Stands() != c.reached {
				t.Errorf("lost %q, reached %v", s.lost, s.reached)
			}
		})
	}
}

// Whoever is deaf is waited for a moment by Tell, and until the end by Say.
func TestSay(t *testing.T) {
	s := newStage(t)
	synctest.Test(t, func(t *testing.T) {
		s.table.Say(t.Context(), "api", attempt.Message{Op: attempt.OpStop}) // nobody
		l := &link{gone: make(chan struct{})}
		s.table.Hold(host.Ref{Node: "api", N: 1}, l, true)
		if !s.table.Bound() {
			t.Error("nothing ends with this process")
		}
		s.table.Say(t.Context(), "api", attempt.Message{Op: attempt.OpStop})
		synctest.Wait()
		if r, err := s.table.Of("api").Tell(t.Context(), attempt.Message{Op: attempt.OpStand}); err != nil || !r.Yes {
			t.Errorf("answered %+v, %v", r, err)
		}
		if !slices.Equal(l.said, []attempt.Op{attempt.OpStop, attempt.OpStand}) {
			t.Errorf("said %v", l.said)
		}
		l.deaf = true
		began := time.Now()
		if _, err := s.table.Of("api").Tell(t.Context(), attempt.Message{Op: attempt.OpStand}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != patience {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.table.Say(ctx, "api", attempt.Message{Op: attempt.OpStop})
		cancel()
		s.table.Close()
	})
}

// A Table that is closed keeps nobody who still has something to tell it.
func TestClose(t *testing.T) {
	s := newStage(t)
	synctest.Test(t, func(t *testing.T) {
		s.table.gone, s.table.over = make(chan host.Ref), make(chan struct{})
		ref := host.Ref{Node: "api", N: 1}
		l := &link{gone: make(chan struct{})}
		s.links[ref] = l
		s.table.Reach(t.Context(), ref)
		told := make(chan struct{})
		go func() { s.table.Left(host.Ref{Node: "web", N: 1}); close(told) }()
		synctest.Wait()
		s.table.Close()
		<-told
		if !l.closed {
			t.Error("its link stands")
		}
	})
}
