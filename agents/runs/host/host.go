// Package host starts attempts: in the runner's own process, in a process of their own, or
// in a pane of tmux. The owner of a run asks a Host to start an attempt, sends it messages
// over a Link, and learns from the Link when the attempt is gone. All Hosts look the same
// to the owner.
//
// The input is a run.Spec and the run's environment. The output are records, and one end
// for each attempt: a Host in this process passes it to Config.Ended; a separate process
// records it itself. A Host keeps nothing that its successor would need: Reach and Probe
// find the live attempts again.
package host

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/dag"
	"cmux/worktree"
)

// Ref identifies one attempt of a node.
type Ref struct {
	Node string
	N    int
}

// Link is the connection to one attempt.
type Link interface {
	// Say sends a message to the attempt and waits for the reply. A refusal is an error;
	// ErrGone means that the attempt ended before it replied. It is safe for concurrent
	// use.
	Say(ctx context.Context, m attempt.Message) (attempt.Reply, error)
	// Gone is closed when the attempt can no longer be reached, for any reason, or after
	// Close.
	Gone() <-chan struct{}
	Close()
}

// ErrGone means that an attempt does not answer, or ended before it did.
var ErrGone = wrapper.ErrGone

// Pulse is the result of Probe.
type Pulse uint8

const (
	Unknown Pulse = iota // it may be starting, or cannot be checked now
	Lives
	Gone // no process runs it
)

// Host starts attempts and finds them again. Reach may be called by several goroutines;
// everything else is for one.
type Host interface {
	// Bound reports whether attempts of n end with this process. Then only this process can
	// reach them, and the owner must wait for them.
	Bound(n *dag.Node) bool
	// Lends reports whether attempts of n work in worktrees of the run's own repository.
	Lends(n *dag.Node) bool
	// Start starts an attempt whose start is recorded. The Link is nil if the attempt can
	// be reached only after it has begun.
	Start(ctx context.Context, s *run.Spec) (Link, error)
	// Reach makes a Link to an attempt that has begun, whoever started it.
	Reach(ctx context.Context, ref Ref) (Link, error)
	// Probe checks whether an attempt without a Link lives. If it is Gone, release is not
	// nil, and no process can begin the attempt until release is called. fresh is when an
	// attempt was started that has not begun: it is Unknown for a while. Zero: do not wait.
	Probe(ref Ref, fresh time.Time) (p Pulse, release func() error, err error)
	// Withdraw makes sure that nobody takes up an attempt that Probe found Gone, even
	// after its release.
	Withdraw(ref Ref) error
	// End ends what the attempts of a node up to ref.N left running, with the process that
	// runs ref.N if by, as its record names it, is alive. Each has patience to end by itself
	// when it is asked to. End returns what it ended, and may be called by any goroutine.
	End(ctx context.Context, ref Ref, by proc.Identity, patience time.Duration) ([]proc.Process, error)
	// Close ends leftover processes of attempts and releases all resources. Attempts that
	// are not bound continue.
	Close() error
}

// Distant is a Host that carries out some nodes on other machines.
type Distant interface {
	Host
	// Far returns what carries n out, as in run.Place.Far; empty: n runs at home.
	Far(n *dag.Node) string
	// Collected is told that the end of an attempt is recorded. It does not wait.
	Collected(ref Ref)
}

// Screen shows attempts to people. Nothing is decided by it.
type Screen interface {
	// Shows reports whether anything is shown at all.
	Shows() bool
	// Show shows a node's status. live: an attempt of it has a process; otherwise its pane
	// can make room for others.
	Show(node string, l dag.Label, live bool)
	// Headline shows the run's status.
	Headline(s Summary)
	// Refresh restores the layout after a person's changes.
	Refresh()
	// Broken is closed when nothing can be shown any more; Err then returns why.
	Broken() <-chan struct{}
	Err() error
	// Terminals returns the paths of its terminals.
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

// Config is the configuration of a Host.
type Config struct {
	Run   *run.Run
	Env   []string // the frozen environment
	Kinds agent.Kinds
	Repo  *worktree.Repo
	Book  *run.Book // nil: nothing waits until a full disk has space
	Log   *log.Logger
	// Told ends when this process is told to end.
	Told context.Context
	// Go runs a function; the owner waits for it before it calls Close.
	Go func(func())
	// Ended gets the result of attempt.Run for an attempt whose end the owner must record.
	// It is called once for each.
	Ended func(Ref, run.End, error)
	// Left is called when the process of an attempt has ended. Its end is in the records,
	// or it has none.
	Left func(Ref)
	// Live is where the output of a node is shown while it works; nil: nowhere.
	Live func(node string) io.Writer
}

// Headless runs attempts without tmux: commands in this process, all others in separate
// processes that outlive it.
type Headless struct {
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

// Bound reports that commands run in this process.
func (h *Headless) Bound(n *dag.Node) bool { return !h.c.Kinds[n.Agent].Judge }

func (h *Headless) Start(ctx context.Context, s *run.Spec) (Link, error) {
	if h.Bound(s.Def) {
		return h.process.start(ctx, s)
	}
	return nil, h.detached.start(ctx, s)
}

// Close ends processes that nodes left without a mark; no node runs any more.
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
