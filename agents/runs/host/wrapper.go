package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/dag"
	"cmux/signals"
)

// launchGrace is how long a started process may take to get its lock.
const launchGrace = 10 * time.Second

// wrappers is shared by the Hosts whose attempts run in separate wrapper processes. A
// wrapper lives if it holds its lock.
type wrappers struct{ c *Config }

// Bound reports false: a process of its own does not need this one.
func (w *wrappers) Bound(*dag.Node) bool { return false }

// Lends reports that every node works in a worktree of the repository.
func (w *wrappers) Lends(*dag.Node) bool { return true }

// specify writes the spec where the wrapper reads it, and returns the command line of the
// wrapper.
func (w *wrappers) specify(ctx context.Context, s *run.Spec) (argv []string, err error) {
	if err := w.c.Book.Patiently(ctx, func() error { return w.c.Run.WriteSpec(s) }); err != nil {
		return nil, err
	}
	return []string{w.c.Run.Binary(), "agents", "exec", "--run", w.c.Run.Dir, "--attempt", fmt.Sprint(s.Attempt), "--", s.Node}, nil
}

// Dial connects to an attempt of r in a separate process on this machine, for callers
// without a Host.
func Dial(ctx context.Context, r *run.Run, ref Ref) (Link, error) {
	c, err := wrapper.Dial(ctx, r, ref.Node, ref.N)
	if err != nil {
		return nil, err
	}
	return connection{c}, nil
}

// Find checks by the lock whether an attempt of r has a process. If Find gets the lock, no
// process can begin the attempt until release is called; the caller must remove its spec to
// prevent that afterwards.
func Find(r *run.Run, ref Ref) (p Pulse, release func() error, err error) {
	if err := signals.MkdirAll(r.NodeDir(ref.Node), 0o700); err != nil {
		return Unknown, nil, err
	}
	lock, err := signals.TryLock(r.NodeLock(ref.Node))
	var held *signals.HeldError
	switch {
	case errors.As(err, &held):
		return Lives, nil, nil
	case err != nil:
		return Unknown, nil, err
	}
	return Gone, lock.Unlock, nil
}

// Reach connects to the wrapper of an attempt.
func (w *wrappers) Reach(ctx context.Context, ref Ref) (Link, error) { return Dial(ctx, w.c.Run, ref) }

// Probe gives a started process time to get its lock.
func (w *wrappers) Probe(ref Ref, fresh time.Time) (Pulse, func() error, error) {
	if time.Since(fresh).Abs() < launchGrace { // else the clock was put back
		return Unknown, nil, nil
	}
	p, release, err := Find(w.c.Run, ref)
	if errors.Is(err, signals.ErrDiskFull) {
		return Unknown, nil, nil // the next look may find space to name the holder
	}
	return p, release, err
}

// Withdraw removes the spec, without which no wrapper takes up the attempt.
func (w *wrappers) Withdraw(ref Ref) error { return w.c.Run.DropSpec(ref.Node, ref.N) }

// End finds the processes by their marks.
func (w *wrappers) End(ctx context.Context, ref Ref, by proc.Identity, patience time.Duration) ([]proc.Process, error) {
	if by.PID > 0 && by.Alive() {
		proc.Kill(ctx, []proc.Process{{Identity: by, Command: ref.Node}})
	}
	return proc.End(ctx, patience, marks(w.c.Run, ref)...)
}

// EndLeft is Host.End for callers without a Host, about attempts that are over.
func EndLeft(ctx context.Context, r *run.Run, refs []Ref, patience time.Duration) ([]proc.Process, error) {
	var all []proc.Mark
	for _, ref := range refs {
		all = append(all, marks(r, ref)...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return proc.End(ctx, patience, all...)
}

// marks are those of a node's attempts up to ref.N.
func marks(r *run.Run, ref Ref) []proc.Mark {
	all := make([]proc.Mark, ref.N)
	for k := range all {
		all[k] = proc.Attempt(r.Mark(), ref.Node, k+1)
	}
	return all
}

// connection is the Link to a wrapper.
type connection struct{ c *wrapper.Client }

func (l connection) Gone() <-chan struct{} { return l.c.Gone() }
func (l connection) Close()                { l.c.Close() }

func (l connection) Say(ctx context.Context, m attempt.Message) (attempt.Reply, error) {
	return l.c.Send(ctx, m)
}

// detached runs each attempt without a pane in a separate process that outlives this one.
type detached struct {
	wrappers
	spawner *proc.Spawner
}

func (d *detached) start(ctx context.Context, s *run.Spec) error {
	argv, err := d.specify(ctx, s)
	if err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = s.Place.Dir
	cmd.Env = d.c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := d.spawner.StartDetached(cmd); err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		cmd.Wait() // the result is in the records, not in its exit code
	}()
	d.c.Go(func() {
		select {
		case <-gone:
			d.c.Left(Ref{s.Node, s.Attempt})
		case <-ctx.Done():
		}
	})
	return nil
}

// live returns where the output of a node is shown; nil: nowhere.
func (c *Config) live(node string) io.Writer {
	if c.Live == nil {
		return nil
	}
	return c.Live(node)
}

// Standing asks a life how it stands, and waits for half a second at most.
func Standing(ctx context.Context, r *run.Run, ref Ref) (*attempt.Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	l, err := Dial(ctx, r, ref)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	reply, err := l.Say(ctx, attempt.Message{Op: attempt.OpStand})
	return reply.Standing, err
}
