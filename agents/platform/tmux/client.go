package tmux

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/platform/tmux/proxy"
)

// Event is a notification of the server: the name without its percent sign ("window-close",
// "client-session-changed", ...) and its arguments.
type Event struct {
	Name, Args string
}

// Client is a control-mode connection. It is safe for concurrent use.
type Client struct {
	server  Server
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  bytes.Buffer // read after cmd.Wait
	session SessionID

	requests chan *request
	closing  chan struct{} // closed by Close
	done     chan struct{} // closed by the reader, after err is set
	err      error
	closed   sync.Once
	tasks    sync.WaitGroup

	mu      sync.Mutex
	pending []*request // written, not yet answered; in order
}

// request is one or more lines written at once.
type request struct {
	text    string
	lines   []int // number of commands per line, including those that a condition may run
	names   []string
	results []result // one per line
	blocks  int      // answered commands of the current line
	out     []string // their output
	reply   chan []result
}

// result is the outcome of one line.
type result struct {
	out []string // output of each command that ran
	err error    // of the first command that failed
}

// Connect starts the server if necessary and attaches a control client to a hidden session,
// which ends with the client. ctx bounds connecting; the connection lasts until Close or
// the server's end. onEvent, if not nil, is called with every notification, in order, on a
// separate goroutine; it may call anything but Close.
func (s Server) Connect(ctx context.Context, onEvent func(Event)) (*Client, error) {
	if err := Check(ctx); err != nil {
		return nil, err
	}
	if err := s.writeConfig(); err != nil {
		return nil, err
	}
	if err := s.endOrphans(ctx); err != nil {
		return nil, err
	}
	// The socket of a server that was just killed still accepts connections for a moment.
	const tries = 20
	for i := 1; ; i++ {
		c, err := s.connect(ctx, onEvent)
		if i == tries || !errors.Is(err, errServerDied) {
			return c, err
		}
	}
}

var errServerDied = fmt.Errorf("%w: server exited unexpectedly", ErrGone)

// control is a control client in a hidden session of its own, with one dead pane and no
// process. The configuration ends the session when its client has gone, for any reason.
// destroy-unattached is not used: it removes the session from a client that is exiting and
// still has output to read. That crashes tmux 3.3a, with everything that runs in it.
//
// It connects through a proxy unless that is nil.
func (s Server) control(ctx context.Context, through *proxy.Proxy) (*exec.Cmd, error) {
	name, err := hiddenName()
	if err != nil {
		return nil, err
	}
	var args []string
	if through != nil {
		args = []string{"-N", "-S", through.Socket} // overrides the flags before it
	}
	args = append(append(args, "-f", s.Config, "-C", "new-session", "-s", name, "-n", "control"), s.personFlags()...)
	return s.command(ctx, append(args,
		"-f", "no-output,ignore-size", "-x", "80", "-y", "24", "--", "/bin/sh", "-c", ":",
		";", "set-option", "-w", "remain-on-exit", "on")...) // also on a server that a person started
}

func (s Server) connect(ctx context.Context, onEvent func(Event)) (*Client, error) {
	c := &Client{
		server: s, requests: make(chan *request), closing: make(chan struct{}), done: make(chan struct{}),
	}
	if err := c.start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	attached := make(chan SessionID, 1)
	events := newQueue[Event]()
	c.tasks.Go(func() { c.write() })
	c.tasks.Go(func() { defer events.close(); c.read(attached, events.put) })
	c.tasks.Go(func() {
		for e := range events.all {
			if onEvent != nil {
				onEvent(e)
			}
		}
	})
	select {
	case c.session = <-attached:
	case <-c.done:
		c.Close()
		return nil, fmt.Errorf("start tmux: %w", c.err)
	case <-ctx.Done():
		c.Close()
		return nil, ctx.Err()
	}
	// A server of a person or of another version has other settings.
	mark, err := c.Run(ctx, "show-options", "-sqv", "@cmux_config")
	if conf := Config(); err == nil && !strings.HasSuffix(conf, " "+mark+"\n") {
		_, err = s.Exec(ctx, "source-file", s.Config)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// start starts the control client with pipes to and from it.
func (c *Client) start(ctx context.Context) error {
	through, started := proxy.Open(c.server.path(), c.server.sockets()...), false
	defer func() {
		if through != nil && !started {
			through.Close()
		}
	}()
	cmd, err := c.server.control(ctx, through)
	if err != nil {
		return err
	}
	// A terminal's Ctrl-C is for its foreground program, not for this child process.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer inR.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, inW.Close())
	}
	defer outW.Close()
	// The client keeps our read end open too. If this process is killed, the client
	// detaches at the end of its input, but tmux first writes the client's remaining
	// output. If nobody could read that, tmux would keep the client forever, and the server
	// would neither work nor end.
	held, err := dup(outR)
	if err == nil {
		defer held.Close()
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = inR, outW, &c.stderr, []*os.File{held}
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start tmux: %w", err), inW.Close(), outR.Close())
	}
	c.cmd, c.stdin, c.stdout, started = cmd, inW, outR, true
	if through != nil {
		c.tasks.Go(func() { through.Relay(c.done) })
	}
	return nil
}

// dup duplicates the descriptor of a pipe. Unlike f.Fd, it leaves f non-blocking, so that
// deadlines work.
func dup(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var derr error
	if err := conn.Control(func(of uintptr) {
		fd, derr = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil || derr != nil {
		return nil, errors.Join(err, derr)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended; nil before.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Close ends the connection and waits for the child process and every goroutine. All
// sessions but the client's hidden one stay.
func (c *Client) Close() error {
	c.closed.Do(func() {
		close(c.closing)
		c.stdin.Close() // at the end of its input the client detaches
	})
	// A server that does not answer keeps its copy of our pipe open.
	force := time.AfterFunc(5*time.Second, func() {
		c.cmd.Process.Kill()
		c.stdout.SetReadDeadline(time.Now())
	})
	defer force.Stop()
	c.tasks.Wait()
	return nil
}

// Run sends one command and returns its output without the last newline. The arguments
// arrive byte for byte. A refusal is a *CommandError; the end of the connection is ErrGone.
// If ctx ends first, tmux may still run the command.
//
// tmux answers a command that waits (wait-for, run-shell) before it has ended. Commands
// that run others (source-file, if-shell, run-shell -C) get an answer for each of them,
// which this protocol cannot tell apart: use [Server.Exec].
func (c *Client) Run(ctx context.Context, args ...string) (string, error) {
	out, err := c.sequence(ctx, args)
	if err != nil {
		return "", err
	}
	return out[0], nil
}

// RunAll sends several commands at once and waits for all. Each runs whether or not earlier
// ones fail; out[i] is the output of the i-th, and the error joins all refusals.
func (c *Client) RunAll(ctx context.Context, commands ...[]string) (out []string, err error) {
	lines := make([][][]string, len(commands))
	for i, args := range commands {
		lines[i] = [][]string{args}
	}
	results, err := c.send(ctx, lines)
	if err != nil {
		return nil, err
	}
	out = make([]string, len(results))
	var errs []error
	for i, r := range results {
		if r.err != nil {
			errs = append(errs, r.err)
		} else {
			out[i] = r.out[0]
		}
	}
	return out, errors.Join(errs...)
}

// sequence sends commands that the server runs one after the other without interruption, up
// to the first failure; out holds the output of those before it. A command without a target
// uses what the one before it made current.
func (c *Client) sequence(ctx context.Context, commands ...[]string) (out []string, err error) {
	results, err := c.send(ctx, [][][]string{commands})
	if err != nil {
		return nil, err
	}
	return results[0].out, results[0].err
}

// conditionArgs is the number of arguments that condition makes.
const conditionArgs = 7

// condition returns a command that runs another one if format, of a pane, is true. It is
// the only if-shell that a Client sends, on a line of its own: exactly one command runs in
// either case, so the number of answers is known also after a failure.
func condition(p PaneID, format string, then []string) ([]string, error) {
	run, err := commandText(then)
	if err != nil {
		return nil, err
	}
	return []string{"if-shell", "-F", "-t", string(p), format, run, "show-options -gqv @cmux_nothing"}, nil
}

func (c *Client) send(ctx context.Context, lines [][][]string) ([]result, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	r := &request{reply: make(chan []result, 1)}
	var text strings.Builder
	for _, commands := range lines {
		line, err := commandText(commands...)
		if err != nil {
			return nil, fmt.Errorf("tmux %s: %w", commands[0][0], err)
		}
		text.WriteString(line)
		text.WriteByte('\n')
		before := len(r.names)
		for _, args := range commands {
			r.names = append(r.names, args[0])
			if args[0] != "if-shell" {
				continue
			}
			// The server also answers for the command that if-shell runs; without this
			// check, that answer would be taken for the next command's.
			if len(args) != conditionArgs || len(commands) > 1 {
				return nil, fmt.Errorf("tmux if-shell: got %d arguments in a line of %d commands, want %d arguments and a line of its own", len(args), len(commands), conditionArgs)
			}
			r.names = append(r.names, "if-shell")
		}
		r.lines = append(r.lines, len(r.names)-before)
	}
	r.text = text.String()
	select {
	case c.requests <- r:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.done:
		return nil, c.err
	}
	select {
	case results := <-r.reply:
		return results, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.done:
	}
	select {
	case results := <-r.reply: // answered just before the end
		return results, nil
	default:
		return nil, c.err
	}
}

func (c *Client) write() {
	for {
		select {
		case r := <-c.requests:
			c.mu.Lock()
			c.pending = append(c.pending, r)
			c.mu.Unlock()
			if _, err := io.WriteString(c.stdin, r.text); err != nil {
				// The connection is ending: the reader notices that and sets the error.
				<-c.done
				return
			}
		case <-c.done:
			return
		}
	}
}

// read parses the server's side of the protocol until it ends.
func (c *Client) read(attached chan<- SessionID, event func(Event)) {
	var block *block
	var reason string // of %exit, or the complaint of the start-up commands
	in := bufio.NewReaderSize(c.stdout, 64<<10)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		line = line[:len(line)-1]
		switch {
		case block != nil:
			failed, ended := block.ends(line)
			if !ended {
				block.lines = append(block.lines, line)
				continue
			}
			text := strings.Join(block.lines, "\n")
			if block.ours {
				c.answer(text, failed)
			} else if failed {
				reason = text
			}
			block = nil
		case strings.HasPrefix(line, "%begin "):
			block = newBlock(line)
		case strings.HasPrefix(line, "%"):
			name, args, _ := strings.Cut(line[1:], " ")
			switch name {
			case "exit":
				reason = args
			case "session-changed":
				id, _, _ := strings.Cut(args, " ")
				select {
				case attached <- SessionID(id):
				default:
				}
			}
			event(Event{name, args})
		}
	}
	c.stdin.Close()
	c.stdout.Close()
	werr := c.cmd.Wait()
	select {
	case <-c.closing:
		c.err = fmt.Errorf("%w: closed", ErrGone)
	default:
		if msg := strings.TrimSpace(c.stderr.String()); msg != "" {
			reason = msg
		}
		if reason == "" && werr != nil {
			reason = werr.Error()
		}
		if reason == "" {
			reason = "the server closed it"
		}
		c.err = fmt.Errorf("%w: %s", ErrGone, reason)
		if reason == "server exited unexpectedly" || strings.HasPrefix(reason, "lost server") {
			c.err = errServerDied
		}
	}
	close(c.done)
}

// answer assigns a block to its command.
func (c *Client) answer(text string, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return
	}
	r := c.pending[0]
	name := r.names[r.blocks]
	line := len(r.results)
	r.blocks++
	res := result{}
	if failed {
		res.err = &CommandError{Command: name, Message: text}
	} else {
		r.out = append(r.out, text)
		if r.blocks < r.lines[line] {
			return
		}
	}
	res.out = r.out
	r.results = append(r.results, res)
	r.names = r.names[r.lines[line]:]
	r.blocks, r.out = 0, nil
	if len(r.results) == len(r.lines) {
		c.pending[0] = nil
		c.pending = c.pending[1:]
		r.reply <- r.results
	}
}

// block is the output of one command: between "%begin TIME NUMBER FLAGS" and "%end" or
// "%error" with the same three. Only these end it: a pane's content may contain similar
// lines.
type block struct {
	tail  string // " TIME NUMBER FLAGS"
	ours  bool   // the answer to one of our lines: flag 1; hooks have 0
	lines []string
}

func newBlock(line string) *block {
	tail := strings.TrimPrefix(line, "%begin")
	return &block{tail: tail, ours: strings.HasSuffix(tail, " 1")}
}

func (b *block) ends(line string) (failed, ended bool) {
	if t, ok := strings.CutPrefix(line, "%end"); ok && t == b.tail {
		return false, true
	}
	if t, ok := strings.CutPrefix(line, "%error"); ok && t == b.tail {
		return true, true
	}
	return false, false
}

// queue passes values on without blocking the sender: the reader must continue to read
// while a handler waits for an answer.
type queue[T any] struct {
	mu     sync.Mutex
	cond   sync.Cond
	items  []T
	closed bool
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.cond.L = &q.mu
	return q
}

func (q *queue[T]) put(v T) {
	q.mu.Lock()
	q.items = append(q.items, v)
	q.mu.Unlock()
	q.cond.Signal()
}

func (q *queue[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cond.Signal()
}

// all yields values until the queue is closed and empty.
func (q *queue[T]) all(yield func(T) bool) {
	for {
		q.mu.Lock()
		for len(q.items) == 0 && !q.closed {
			q.cond.Wait()
		}
		items := q.items
		q.items = nil
		q.mu.Unlock()
		if len(items) == 0 {
			return
		}
		for _, v := range items {
			if !yield(v) {
				return
			}
		}
	}
}
