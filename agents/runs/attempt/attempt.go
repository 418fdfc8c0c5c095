package attempt

import (
	"errors"
	"io"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/run"
	"cmux/worktree"
)

// Job is one attempt to carry out. It contains everything the attempt needs: the attempt
// reads no record, graph or lock of the run, so it can run on another machine.
type Job struct {
	Spec    *run.Spec // fixed input: the node and its run
	Paths   run.Paths // where it writes
	Home    Home      // questions about the run while it works
	Env     []string  // the frozen environment
	Kinds   agent.Kinds
	Spawner *proc.Spawner
	Repo    *worktree.Repo         // nil: opened when the node has a worktree
	Record  func(run.Record) error // appends a record; Node, Attempt and At are filled in
	Inbox   <-chan Message         // served until Run returns; may be nil

	Live     io.Writer       // where output is shown in addition to the log; nil: nowhere
	Terminal *agent.Terminal // the pane; nil: headless
	Socket   string          // socket of the node's wrapper; empty: none
	Pane     string          // id of the pane; empty: headless

	Limits Limits
}

// Limits bounds an attempt; a zero field takes its default.
type Limits struct {
	LogHead int64         // bytes kept of the beginning of the output, 1 MB
	LogTail int64         // bytes kept of its end, 63 MB
	Grace   time.Duration // between TERM and KILL, 5 s
	Step    time.Duration // limit of one on_complete step, 10 min
	Drain   time.Duration // wait for output that an unproven process holds open, 2 s
	Retry   time.Duration // interval of checks for a runner that may grant a slot, 2 s
	Settle  time.Duration // wait for background work after a turn, 10 min
	Note    time.Duration // interval of records of token usage, 5 s
	Pause   time.Duration // first wait at a limit without a known end, 30 s; doubles
	Space   time.Duration // interval of checks for space on a full disk, 1 s
	Doubt   Doubt
	Parting time.Duration // wait until an agent has read that its report is accepted, 10 s
	Compact time.Duration // wait until its program confirms a compaction, 10 min
}

const maxPause = 15 * time.Minute

func (l Limits) withDefaults() Limits {
	if l.LogHead == 0 {
		l.LogHead = 1 << 20
	}
	if l.LogTail == 0 {
		l.LogTail = 63 << 20
	}
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&l.Grace, 5*time.Second)
	set(&l.Step, 10*time.Minute)
	set(&l.Drain, 2*time.Second)
	set(&l.Retry, 2*time.Second)
	set(&l.Settle, 10*time.Minute)
	set(&l.Note, 5*time.Second)
	set(&l.Pause, 30*time.Second)
	set(&l.Space, time.Second)
	l.Doubt = l.Doubt.withDefaults()
	set(&l.Parting, 10*time.Second)
	set(&l.Compact, 10*time.Minute)
	return l
}

// Patience returns the grace period between TERM and KILL.
func (l Limits) Patience() time.Duration { return l.withDefaults().Grace }

// ErrInterrupted means that the attempt was interrupted and has no end: it must run again.
var ErrInterrupted = errors.New("the attempt was interrupted")

// ErrStopped is the ErrInterrupted of `stop` without a node's name.
var ErrStopped = &stoppedError{}

type stoppedError struct{}

func (*stoppedError) Error() string   { return "the attempt was stopped" }
func (*stoppedError) Is(e error) bool { return e == ErrInterrupted }

// LostError is the ErrInterrupted of an agent whose program was killed or crashed: its
// conversation continues in another attempt.
type LostError struct{ Exit proc.Exit }

func (e *LostError) Error() string { return "the agent's program died: " + e.Exit.String() }

func (*LostError) Is(err error) bool { return err == ErrInterrupted }
