package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"cmux/agents/event"
	"cmux/agents/proc"
	"cmux/agents/run"
	"cmux/dag"
	"cmux/worktree"
)

// Agent is one running agent.
type Agent interface {
	// Start launches the agent's program.
	Start(ctx context.Context) error
	// Deliver hands a message to the agent: a hand-back, a person's answer.
	Deliver(ctx context.Context, text string) error
	// Interrupt ends the program and all that came of it, TERM before KILL
	// after the grace, and returns what it ended beside the program. It may be
	// called again, and after the program has ended.
	Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error)
	// Ended is closed when the program has ended.
	Ended() <-chan struct{}
	// Exit is how the program ended, once Ended is closed.
	Exit() proc.Exit
}

// Kind is a kind of agent.
type Kind struct {
	Name string
	New  func(*Stage) (Agent, error)
	// Judge says that the exit code proves nothing and that the agent reports.
	Judge bool
	// Home is the configuration folder of the program in an environment, which
	// holds its account; nil: it has none.
	Home func(getenv func(string) string) string
	// Tool is what the agent calls the tool "done" by which it reports; empty:
	// it has the commands alone.
	Tool string
}

// Account names what a limit of the node's program pauses: the kind with the
// name that the configuration gives, else with the configuration folder, which
// is left out where it is the one of env's HOME.
func (k Kind) Account(n *dag.Node, env []string) string {
	if n.Account != "" && n.Account != n.Agent {
		return n.Agent + " " + n.Account
	}
	if k.Home == nil {
		return n.Agent
	}
	frozen := func(name string) string { return proc.Getenv(env, name) }
	usual := k.Home(func(name string) string {
		if name == "HOME" {
			return frozen(name)
		}
		return ""
	})
	is := k.Home(func(name string) string {
		if v, ok := n.Env[name]; ok {
			return v
		}
		return frozen(name)
	})
	if is == usual {
		return n.Agent
	}
	return n.Agent + " " + is
}

// HomeIn is a Kind.Home: the folder that a variable names, else one in HOME.
func HomeIn(variable, folder string) func(func(string) string) string {
	return func(getenv func(string) string) string {
		if dir := getenv(variable); dir != "" {
			return filepath.Clean(dir)
		}
		return filepath.Join(getenv("HOME"), folder)
	}
}

// Hooked is an Agent whose program has hooks of its own. What `cmux hook`
// says about any other is read by ParseEvent. It is called while Deliver may
// be at work, never twice at once.
type Hooked interface {
	// Hook says what a hook of the program means, and what to answer it.
	Hook(event string, payload json.RawMessage) ([]Event, Reply, error)
}

// Listener is a Hooked whose hooks end its turns.
type Listener interface {
	Hooked
	// Asks reports whether hooks of that name put a question to a person. Where
	// several are open at once they are heard one after the other, so that an
	// answer is one to what was shown.
	Asks(event string) bool
	// HandBack is the answer to a hook that was held (Event.Hold) which sends
	// the agent on with text.
	HandBack(text string) Reply
	// Busy reports whether a turn is under way, whose end will be held.
	Busy() bool
}

// Kinds are the known kinds by name.
type Kinds map[string]Kind

// NewKinds makes a set of the given kinds.
func NewKinds(kinds ...Kind) Kinds {
	ks := make(Kinds, len(kinds))
	for _, k := range kinds {
		ks[k.Name] = k
	}
	return ks
}

// Meter is an Agent that knows what it has used. It is asked once its program
// has ended: what came in last may not have been told.
type Meter interface {
	Used() dag.Usage
}

// Job is one attempt to carry out.
type Job struct {
	Run     *run.Run
	Node    *dag.Node
	Spec    *run.Spec
	Env     []string // the frozen environment
	Kinds   Kinds
	Spawner *proc.Spawner
	Repo    *worktree.Repo         // nil: opened when the node has a worktree
	Record  func(run.Record) error // appends; Node, Attempt and At are filled in
	Inbox   <-chan Message         // served until Run returns; may be nil

	Live     io.Writer // where output is shown beside the log; nil: nowhere
	Terminal *Terminal // the pane; nil: headless
	Socket   string    // where the node's wrapper listens; empty: nowhere
	Pane     string    // id of the pane; empty: headless

	Limits Limits
}

// Limits bounds an attempt; a zero field takes its default.
type Limits struct {
	LogHead int64         // kept of the beginning of the output, 1 MB
	LogTail int64         // kept of its end, 63 MB
	Grace   time.Duration // between TERM and KILL, 5 s
	Step    time.Duration // bound of one on_complete step, 10 min
	Drain   time.Duration // wait for output held open by an unproven process, 2 s
	Retry   time.Duration // between looks for a runner that may grant a slot, 2 s
	Settle  time.Duration // wait for background work after a turn, 10 min
	Note    time.Duration // between records of what was used, 5 s
	Pause   time.Duration // first wait at a limit without a stated end, 30 s; doubles
	Space   time.Duration // between looks for space on a full disk, 1 s
	Doubt   Doubt
	Parting time.Duration // wait for an agent to take in that its report is accepted, 10 s
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

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
	return l
}

// Patience is the grace between TERM and KILL.
func (l Limits) Patience() time.Duration { return l.withDefaults().Grace }

// ErrInterrupted says that the attempt was broken off and has no end: it is to
// be done again.
var ErrInterrupted = errors.New("the attempt was interrupted")

// ErrStopped is the ErrInterrupted of `stop` without a name.
var ErrStopped = &stoppedError{}

type stoppedError struct{}

func (*stoppedError) Error() string   { return "the attempt was stopped" }
func (*stoppedError) Is(e error) bool { return e == ErrInterrupted }

// LostError is the ErrInterrupted of an agent whose program was killed or
// crashed: its conversation goes on in another attempt.
type LostError struct{ Exit proc.Exit }

func (e *LostError) Error() string { return "the agent's program died: " + e.Exit.String() }

func (*LostError) Is(err error) bool { return err == ErrInterrupted }

// Stage is what an Agent is given: where to run, with what, and where its
// output goes.
type Stage struct {
	Run      *run.Run
	Node     *dag.Node
	Spec     *run.Spec
	Dir      string
	Env      []string // of the program, complete
	Out      io.Writer
	Terminal *Terminal // nil: headless

	// Tell lets the attempt know what the agent learnt other than by a hook. It
	// returns when the attempt has taken it in, or with ctx. It may be called
	// from any goroutine but that of Hook.
	Tell func(ctx context.Context, events ...Event) error

	readable []string  // by the agent, beside its directory
	again    *reopened // it goes on after an end without a report; nil: not so
	tool     string    // Kind.Tool
	events   *event.Log
	lines    *event.Printer
	spawner  *proc.Spawner
	mark     proc.Mark
	drain    time.Duration
}

// Program is a started program.
type Program struct {
	*proc.Program
	output  *os.File // our end of the pipe or the pty; nil: it has the terminal itself
	drained chan struct{}
	patient time.Duration
	unrelay func()
}

// Piped starts cmd in a session of its own with its output in out, and its
// errors too unless cmd says where. The directory and environment are the
// stage's when cmd has none.
func (s *Stage) Piped(cmd *exec.Cmd, out io.Writer) (*Program, error) {
	s.complete(cmd)
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	if cmd.Stderr == nil {
		cmd.Stderr = w
	}
	cmd.SysProcAttr = session()
	p, err := s.start(cmd, r, out)
	return p, errors.Join(err, w.Close())
}

func (s *Stage) complete(cmd *exec.Cmd) {
	if cmd.Dir == "" {
		cmd.Dir = s.Dir
	}
	if cmd.Env == nil {
		cmd.Env = s.Env
	}
}

func (s *Stage) start(cmd *exec.Cmd, from *os.File, out io.Writer) (*Program, error) {
	started, err := s.spawner.Start(cmd, s.mark)
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	p := &Program{Program: started, output: from, drained: make(chan struct{}), patient: s.drain}
	go func() {
		defer close(p.drained)
		// A pty ends in EIO, a pipe cut short in a deadline: the end either way.
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		io.CopyBuffer(writerOnly{out}, readerOnly{from}, *buf)
	}()
	return p, nil
}

// buffers spares the runner of a large graph most of its garbage.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// Finish ends what is left of the program and returns when its output is
// complete. It returns what it ended beside the program itself.
func (p *Program) Finish(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	ended, err := p.End(ctx, grace)
	<-p.Exited()
	if p.output == nil {
		if p.unrelay != nil {
			p.unrelay()
			p.unrelay = nil
		}
		return ended, err
	}
	// All proven holders of the other end are gone; an unproven one must not
	// hang the attempt.
	timer := time.NewTimer(p.patient)
	defer timer.Stop()
	select {
	case <-p.drained:
	case <-timer.C:
		p.output.SetReadDeadline(past)
		<-p.drained
	}
	if p.unrelay != nil {
		p.unrelay()
		p.unrelay = nil
	}
	p.output.Close()
	return ended, err
}

// writerOnly and readerOnly keep io.Copy from handing a pty to splice or to a
// writer's own ReadFrom, which would bypass the log's bounds.
type writerOnly struct{ io.Writer }
type readerOnly struct{ io.Reader }
