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
	"cmux/signals"
)

// launchGrace is how long a process that was started may take to hold its lock.
const launchGrace = 10 * time.Second

// wrappers is what the hosts share whose attempts have a wrapper each: a
// process of its own, which is proven to live by the lock that it holds.
type wrappers struct {
	c        *Config
	launched map[string]launched // by node: what was started here and may not have come up
}

// launched is when an attempt's process was started.
type launched struct {
	attempt int
	at      time.Time
}

// specify leaves what the attempt is to do where its wrapper looks for it, and
// returns the command line of the wrapper.
func (w *wrappers) specify(ctx context.Context, s *run.Spec) (argv []string, err error) {
	if err := w.c.Book.Patiently(ctx, func() error { return w.c.Run.WriteSpec(s) }); err != nil {
		return nil, err
	}
	w.expect(s.Node, s.Attempt)
	return []string{w.c.Run.Binary(), "agents", "exec", "--run", w.c.Run.Dir, "--attempt", fmt.Sprint(s.Attempt), "--", s.Node}, nil
}

// expect gives an attempt its time to come up, from now on.
func (w *wrappers) expect(node string, n int) {
	if w.launched == nil {
		w.launched = make(map[string]launched)
	}
	w.launched[node] = launched{n, time.Now()}
}

// Dial connects to an attempt of r that has a process of its own on this
// machine, for those who have no Host and for a question of its own.
func Dial(ctx context.Context, r *run.Run, ref Ref) (Link, error) {
	c, err := wrapper.Dial(ctx, r, ref.Node, ref.N)
	if err != nil {
		return nil, err
	}
	return connection{c}, nil
}

// Find looks whether an attempt of r has its process, by its lock. The lock
// taken, nobody carries the attempt until release is called, and without its
// spec nobody will: dropping that is the caller's.
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

// Probe gives what was started here the time to come up.
func (w *wrappers) Probe(ref Ref, begun, sure bool) (Pulse, func() error, error) {
	if l := w.launched[ref.Node]; !begun && !sure && l.attempt == ref.N && time.Since(l.at) < launchGrace {
		return Unknown, nil, nil
	}
	p, release, err := Find(w.c.Run, ref)
	if errors.Is(err, signals.ErrDiskFull) {
		return Unknown, nil, nil // the next look may find space to name the holder
	}
	return p, release, err
}

// connection is the Link to a wrapper.
type connection struct{ c *wrapper.Client }

func (l connection) Gone() <-chan struct{} { return l.c.Gone() }
func (l connection) Close()                { l.c.Close() }

func (l connection) Say(ctx context.Context, m attempt.Message) (attempt.Reply, error) {
	return l.c.Send(ctx, m)
}

// detached is where attempts live without a pane, in a process each that
// outlives this one.
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
		cmd.Wait() // what it left is in the records, not in its exit code
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

// live is where the output of a node is shown; nil: nowhere.
func (c *Config) live(node string) io.Writer {
	if c.Live == nil {
		return nil
	}
	return c.Live(node)
}
