// Package host says where attempts live: in the runner's own process, in a
// process of their own, or in one in a pane of tmux. Whoever owns a run asks a
// Host to start an attempt, speaks to it over a Link, and learns by it that the
// attempt is gone; which of the ways it is makes no difference above.
//
// What goes in is a run.Spec and the run's environment. What comes out are
// records, and one end for each attempt: from a Host in this process through
// Config.Ended, from a process of its own as a record that it makes durable
// itself. A Host keeps nothing that its successor would need: what lives is
// found again by Reach and Probe.
package host

import (
	"context"
	"errors"
	"io"

	"github.com/charmbracelet/log"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/dag"
	"cmux/worktree"
)

// Ref names one attempt of a node.
type Ref struct {
	Node string
	N    int
}

// Link is how one attempt is spoken to.
type Link interface {
	// Say says something to the attempt and waits for its answer. What it refuses
	// is an error; ErrGone says that it ended before it answered. It may be called
	// by several goroutines.
	Say(ctx context.Context, m attempt.Message) (attempt.Reply, error)
	// Gone is closed once the attempt can be spoken to no longer, however it came
	// to that, or after Close.
	Gone() <-chan struct{}
	Close()
}

// ErrGone says that an attempt does not answer, or ended before it did.
var ErrGone = wrapper.ErrGone

// Stands reports whether there is a link and its attempt has not gone.
func Stands(l Link) bool {
	if l == nil {
		return false
	}
	select {
	case <-l.Gone():
		return false
	default:
		return true
	}
}

// Pulse is what Probe found of an attempt.
type Pulse uint8

const (
	Unknown Pulse = iota // it may be on its way, or cannot be looked for now
	Lives
	Gone // nobody carries it
)

// Host is a place where attempts live. Start, Reach and Probe are for one
// goroutine.
type Host interface {
	// Bound reports whether attempts of n end with this process. Nobody else can
	// reach them, so they are to be waited for.
	Bound(n *dag.Node) bool
	// Lends reports whether attempts of n work in worktrees of the run's own
	// repository.
	Lends(n *dag.Node) bool
	// Start starts an attempt that is on record as started. The Link is nil for
	// one that is to be reached once it has begun.
	Start(ctx context.Context, s *run.Spec) (Link, error)
	// Reach makes a Link to an attempt that has begun, whoever started it.
	Reach(ctx context.Context, ref Ref) (Link, error)
	// Probe looks whether an attempt lives of which no Link stands. One that is
	// Gone stays so until release is called, which is then not nil: nobody can
	// take it up meanwhile. An attempt that was only just started and has not
	// begun is Unknown, unless sure says not to wait for it.
	Probe(ref Ref, begun, sure bool) (p Pulse, release func() error, err error)
	// Close ends what attempts left behind, and lets go of everything else.
	// Attempts that are not bound go on.
	Close() error

	Screen
}

// Screen is what a Host shows people of its attempts. Nothing is decided by it,
// and a Host that shows nothing answers that there is nothing.
type Screen interface {
	// Shows reports whether anything is shown at all.
	Shows() bool
	// Show shows how a node stands. live says that an attempt of it has a process;
	// one that has none any more need not be in the way of others.
	Show(node string, l dag.Label, live bool)
	// Headline shows how the run stands.
	Headline(s Summary)
	// Refresh arranges what a person changed.
	Refresh()
	// Broken is closed when nothing can be shown any more; Err is then why.
	Broken() <-chan struct{}
	Err() error
	// Terminals are the paths of the terminals that belong to it.
	Terminals(ctx context.Context) ([]string, error)
}

// Blank is a Screen that shows nothing.
type Blank struct{}

func (Blank) Shows() bool                                 { return false }
func (Blank) Show(string, dag.Label, bool)                {}
func (Blank) Headline(Summary)                            {}
func (Blank) Refresh()                                    {}
func (Blank) Broken() <-chan struct{}                     { return nil }
func (Blank) Err() error                                  { return nil }
func (Blank) Terminals(context.Context) ([]string, error) { return nil, nil }

// Config is what a Host is made of.
type Config struct {
	Run   *run.Run
	Env   []string // the frozen environment
	Kinds agent.Kinds
	Repo  *worktree.Repo
	Book  *run.Book
	Log   *log.Logger
	// Told is over when this process is told to end.
	Told context.Context
	// Go runs a function that the owner waits for before it calls Close.
	Go func(func())
	// Ended takes the end of an attempt that leaves it to the owner to record it:
	// as attempt.Run returned it. It is called once for each.
	Ended func(Ref, run.End, error)
	// Left is told that the process of an attempt has ended. Its end is in the
	// records, or it has none.
	Left func(Ref)
	// Live is where the output of a node is shown while it works; nil: nowhere.
	Live func(node string) io.Writer
}

// Headless is where attempts live without tmux: those of commands in this
// process, all others in one of their own, which outlives this.
type Headless struct {
	Blank
	process
	detached
	c       *Config
	spawner *proc.Spawner
}

// NewHeadless returns a Headless.
func NewHeadless(c Config) (*Headless, error) {
	spawner, err := proc.NewSpawner()
	if err != nil {
		return nil, err
	}
	return &Headless{
		c: &c, spawner: spawner,
		process:  process{&c, spawner},
		detached: detached{wrappers: wrappers{c: &c}, spawner: spawner},
	}, nil
}

// Bound says that commands are carried by this process.
func (h *Headless) Bound(n *dag.Node) bool { return !h.c.Kinds[n.Agent].Judge }

// Lends says that every node works in a worktree of the repository.
func (h *Headless) Lends(*dag.Node) bool { return true }

func (h *Headless) Start(ctx context.Context, s *run.Spec) (Link, error) {
	if h.Bound(s.Def) {
		return h.process.start(ctx, s)
	}
	return nil, h.detached.start(ctx, s)
}

// Close ends what nodes left running without any mark; none of them is at work
// any more.
func (h *Headless) Close() error {
	left, err := h.spawner.EndOrphans(context.Background(), attempt.Limits{}.Patience())
	if len(left) > 0 {
		h.c.Log.Warn("ended what nodes left running in the background", "processes", proc.Names(left))
	}
	if err != nil {
		err = errors.Join(errors.New("processes that nodes left running could not be ended"), err)
	}
	h.spawner.Close()
	return err
}
