package machine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"cmux/agents/platform/proc"
	"cmux/signals"
)

// Op is a request of this machine's person to the worker.
type Op string

const (
	OpStatus Op = "status"
	OpDrain  Op = "drain"  // take no new attempts
	OpAccept Op = "accept" // take new attempts again
	OpStop   Op = "stop"   // leave; attempts work on
)

// answer is the result of a request.
type answer struct {
	Status *Status `json:"status,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// ErrNone means that no worker runs on this machine.
var ErrNone = errors.New("no worker runs on this machine")

// Socket returns the path of the socket at which carriers reach the worker in dir.
func Socket(dir string) string { return filepath.Join(dir, "sock") }

func controlSocket(dir string) string { return filepath.Join(dir, "control") }

// Listen serves the worker's sockets until ctx ends or somebody stops the worker. carry
// serves one connection of a carrier.
func (w *Worker) Listen(ctx context.Context, carry func(context.Context, net.Conn) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	carriers, err := listen(Socket(w.o.Dir))
	if err != nil {
		return err
	}
	control, err := listen(controlSocket(w.o.Dir))
	if err != nil {
		return errors.Join(err, carriers.Close())
	}
	unlisten := context.AfterFunc(ctx, func() { carriers.Close(); control.Close() })
	defer unlisten()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		w.accept(ctx, control, func(ctx context.Context, c net.Conn) error { return w.answer(ctx, c, stop) })
	})
	w.accept(ctx, carriers, carry)
	return nil
}

// listen takes a socket. The caller has the worker's lock, so a socket that is there is of
// a worker that has died.
func listen(path string) (*net.UnixListener, error) {
	if err := signals.RemoveFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("the worker's socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// accept serves connections until the listener is closed, and returns when all have ended.
func (w *Worker) accept(ctx context.Context, l *net.UnixListener, serve func(context.Context, net.Conn) error) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			w.o.Log.Error("a connection cannot be accepted", "err", err)
			if !pause(ctx, again) {
				return
			}
			continue
		}
		all.Go(func() {
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			err := admit(c)
			if err == nil {
				err = serve(ctx, c)
			}
			if err != nil && ctx.Err() == nil {
				w.o.Log.Warn("a connection has ended", "err", err)
			}
		})
	}
}

// admit refuses the programs of agents: a worker runs what it is told, outside of their
// fence.
func admit(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	pid, failed := 0, error(nil)
	if err := raw.Control(func(fd uintptr) { pid, failed = peerPID(int(fd)) }); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if pid <= 0 {
		return errors.New("a program of another process namespace was refused")
	}
	callers, err := proc.AncestryOf(pid)
	if err != nil {
		return fmt.Errorf("process %d was refused, whose callers are not known: %w", pid, err)
	}
	for _, a := range callers {
		if a.Attempt != "" {
			return fmt.Errorf("process %d was refused: it is a program of the attempt %s", pid, a.Attempt)
		}
	}
	return nil
}

// askWait bounds a request at the control socket: what is ready may have to be found out.
const askWait = 2 * time.Minute

func (w *Worker) answer(ctx context.Context, c net.Conn, stop func()) error {
	if err := c.SetDeadline(time.Now().Add(askWait)); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadBytes('\n')
	if err != nil {
		return err
	}
	var op Op
	if err := json.Unmarshal(line, &op); err != nil {
		return err
	}
	var a answer
	switch op {
	case OpStatus:
	case OpDrain, OpAccept:
		w.Drain(op == OpDrain)
	case OpStop:
		defer stop()
	default:
		a.Error = fmt.Sprintf("the worker is of cmux %s and knows no %q", w.o.Machine.Cmux, op)
	}
	if a.Error == "" {
		if a.Status, err = w.Status(ctx); err != nil {
			a.Error = err.Error()
		}
	}
	return json.NewEncoder(c).Encode(a)
}

// Dial connects to the socket of the worker in dir as a carrier.
func Dial(ctx context.Context, dir string) (*net.UnixConn, error) { return dial(ctx, Socket(dir)) }

func dial(ctx context.Context, path string) (*net.UnixConn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// Ask makes a request to the worker in dir, and returns its status afterwards.
func Ask(ctx context.Context, dir string, op Op) (*Status, error) {
	c, err := dial(ctx, controlSocket(dir))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	b, err := json.Marshal(op)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(append(b, '\n')); err != nil {
		return nil, err
	}
	var a answer
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return nil, fmt.Errorf("the worker did not answer: %w", err)
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return a.Status, nil
}

// Holder returns the process id of the worker in dir; 0: none runs.
func Holder(dir string) int {
	if h, held, err := signals.ReadHolder(filepath.Join(dir, lockFile)); err == nil && held {
		return h.PID
	}
	return 0
}
